"""Rules about a list that ends with an assistant message for the model to continue."""

from __future__ import annotations

from collections.abc import Iterator

from turnkeeper.simulator.rules.rule import Finding, Rule, rule
from turnkeeper.simulator.rules.view import MessageView, RequestView

__all__ = ("RULES",)


def _final(view: RequestView) -> MessageView | None:
    """The assistant message that ends the list as a prefill: not in a saved list, not a paused turn, not open calls."""
    messages = view.body.get("messages")
    if view.bare or not view.messages or not isinstance(messages, list):
        return None
    last = view.messages[-1]
    if last.role != "assistant" or last.index != len(messages) - 1 or last.content in ("", []):
        return None
    ending = last.blocks[-1].type if last.blocks else ""
    paused = ending == "server_tool_use" or (ending.endswith("_tool_result") and ending != "tool_result")
    return None if paused or ending == "tool_use" else last


@rule(
    "prefill.supported",
    source="https://platform.claude.com/docs/en/api/errors#prefill-not-supported",
    sentence="From Claude 4.6 on, the list does not end with an assistant message, except to continue a paused turn.",
    repair="End with a user message; ask for a format with output_config.format or in the system prompt.",
)
def supported(view: RequestView) -> Iterator[Finding]:
    last = _final(view)
    if last is not None and not view.model.prefill:
        yield Finding(
            last.path,
            "This model does not support assistant message prefill. The conversation must end with a user message.",
        )


@rule(
    "prefill.trailing-whitespace",
    source="https://github.com/crewAIInc/crewAI/issues/4413; https://github.com/langchain-ai/langchain/issues/35071",
    sentence="A final assistant message does not end in whitespace.",
    repair="Strip the end of the prefilled text.",
)
def trailing_whitespace(view: RequestView) -> Iterator[Finding]:
    last = _final(view)
    if last is None or not last.blocks:
        return
    text = last.blocks[-1].text("text") if last.blocks[-1].type == "text" else None
    if text and text != text.rstrip():
        yield Finding(last.blocks[-1].path, "messages: final assistant content cannot end with trailing whitespace")


RULES: tuple[Rule, ...] = (supported, trailing_whitespace)
