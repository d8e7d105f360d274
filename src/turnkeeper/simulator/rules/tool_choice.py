"""Rules about `tool_choice`."""

from __future__ import annotations

from collections.abc import Iterator

from turnkeeper.simulator.rules.rule import Finding, Rule, rule
from turnkeeper.simulator.rules.shapes import boolean, record, string, tagged
from turnkeeper.simulator.rules.view import RequestView

__all__ = ("RULES", "SHAPE")

_SERIAL = {"type": string, "disable_parallel_tool_use": boolean}
_CHOICE = tagged(
    {
        "auto": record(_SERIAL),
        "any": record(_SERIAL),
        "tool": record({**_SERIAL, "name": string}, ("name",)),
        "none": record({"type": string}),
    }
)


@rule(
    "tool-choice.shape",
    source="anthropic/types/tool_choice_*_param.py (SDK 2.14.0)",
    sentence="`tool_choice` is auto, any, tool (with a name) or none; disable_parallel_tool_use goes with all but "
    "none.",
    repair='Send {"type": "auto"}, {"type": "any"}, {"type": "tool", "name": …} or {"type": "none"}.',
)
def shape(view: RequestView) -> Iterator[Finding]:
    if "tool_choice" in view.body:
        yield from _CHOICE("tool_choice", view.body["tool_choice"])


def _without_tools(view: RequestView) -> bool:
    return not view.body.get("tools") and not (view.saved and "tools" not in view.body)


@rule(
    "tool-choice.needs-tools",
    source="https://github.com/aakshintala/fiber/issues/132 (live probe of 2026-09-29)",
    sentence="`tool_choice` auto or any goes with tools.",
    repair="Send `tools`, or leave `tool_choice` out.",
    open_question="The probe saw auto without tools accepted, older reports saw it refused; the simulator refuses it.",
)
def needs_tools(view: RequestView) -> Iterator[Finding]:
    kind = view.tool_choice_type
    if kind in {"auto", "any"} and _without_tools(view):
        yield Finding("tool_choice", f"tool_choice.{kind} may only be specified while providing tools")


@rule(
    "tool-choice.tool-exists",
    source="https://github.com/aakshintala/fiber/issues/132 (live probe of 2026-09-29)",
    sentence="The tool that `tool_choice` names is one of `tools`.",
    repair="Name a tool that is in `tools`.",
)
def tool_exists(view: RequestView) -> Iterator[Finding]:
    name = view.member("tool_choice", "name")
    if view.tool_choice_type != "tool" or name is None or (view.saved and "tools" not in view.body):
        return
    if name not in {tool.get("name") for _, tool in view.tools if isinstance(tool.get("name"), str)}:
        yield Finding("tool_choice", f"Tool '{name}' not found in provided tools")


@rule(
    "tool-choice.forced-supported",
    source="https://platform.claude.com/docs/en/models/opus-5-5/migration-guide; "
    "https://platform.claude.com/docs/en/models/fable-5-1/whats-new-fable-5-1; "
    "https://github.com/langchain-ai/langchain-aws/pull/927",
    sentence="Models of the 5.1 and 5.5 generation (Haiku 5.5 apart) take no forced tool use; the catalogue says "
    "which.",
    repair='Send {"type": "auto"}, say in the prompt when to use the tool, and make the tool strict.',
)
def forced_supported(view: RequestView) -> Iterator[Finding]:
    if view.forces_tool_use and view.model.forced_tool_choice == "no":
        yield Finding("tool_choice", 'tool_choice: type "tool" and "any" are not supported for this model.')


@rule(
    "tool-choice.forced-with-thinking",
    source="https://platform.claude.com/docs/en/build-with-claude/extended-thinking; "
    "https://github.com/vercel/ai/issues/11227",
    sentence="Forced tool use does not go with manual thinking (`thinking.type` enabled).",
    repair="Use tool_choice auto while thinking is enabled, or switch thinking off.",
    open_question="Users report the same answer for adaptive thinking on some models; the pages allow it, so the "
    "simulator does.",
)
def forced_with_thinking(view: RequestView) -> Iterator[Finding]:
    if view.forces_tool_use and view.thinking_type == "enabled":
        yield Finding("tool_choice", "Thinking may not be enabled when tool_choice forces tool use.")


SHAPE: Rule = shape
RULES: tuple[Rule, ...] = (needs_tools, tool_exists, forced_supported, forced_with_thinking)
