"""Cases of tool_choice."""

from __future__ import annotations

from typing import Any

from tests.simulator.rules.asked import Case, ask, refused, taken, tool, web_search

__all__ = ("CASES",)

_NOT_SUPPORTED = 'tool_choice: type "tool" and "any" are not supported for this model.'
_ENABLED = {"type": "enabled", "budget_tokens": 1024}


def choosing(choice: Any, *, model: str = "claude-opus-5", **members: Any) -> dict[str, Any]:
    return ask(**{"model": model, "tools": [tool()], "tool_choice": choice, "max_tokens": 4_000, **members})


CASES: tuple[Case, ...] = (
    taken("tool-choice.shape", "auto, one call at most", choosing({"type": "auto", "disable_parallel_tool_use": True})),
    taken("tool-choice.shape", "none", choosing({"type": "none"})),
    refused("tool-choice.shape", "a word", choosing("auto"), "tool_choice", "tool_choice: Input should be an object"),
    refused(
        "tool-choice.shape",
        "another dialect's word",
        choosing({"type": "required"}),
        "tool_choice",
        "tool_choice: Input tag 'required' found using 'type' does not match any of the expected tags: 'any', 'auto', "
        "'none', 'tool'",
    ),
    refused(
        "tool-choice.shape",
        "none that forbids parallel calls",
        choosing({"type": "none", "disable_parallel_tool_use": True}),
        "tool_choice.none.disable_parallel_tool_use",
        "tool_choice.none.disable_parallel_tool_use: Extra inputs are not permitted",
    ),
    refused(
        "tool-choice.shape",
        "a tool without a name",
        choosing({"type": "tool"}),
        "tool_choice.tool.name",
        "tool_choice.tool.name: Field required",
    ),
    refused(
        "tool-choice.shape",
        "reported before tools",
        choosing(7, tools="x"),
        "tool_choice",
        "tool_choice: Input should be an object",
    ),
    taken("tool-choice.needs-tools", "none without tools", choosing({"type": "none"}, tools=[])),
    refused(
        "tool-choice.needs-tools",
        "any without tools",
        choosing({"type": "any"}, tools=[]),
        "tool_choice",
        "tool_choice.any may only be specified while providing tools",
    ),
    refused(
        "tool-choice.needs-tools",
        "auto without tools",
        ask(tool_choice={"type": "auto"}),
        "tool_choice",
        "tool_choice.auto may only be specified while providing tools",
    ),
    taken("tool-choice.tool-exists", "a tool of the list", choosing({"type": "tool", "name": "find_order"})),
    taken(
        "tool-choice.tool-exists",
        "a server tool",
        choosing({"type": "tool", "name": "web_search"}, tools=[web_search()]),
    ),
    refused(
        "tool-choice.tool-exists",
        "another name",
        choosing({"type": "tool", "name": "найти"}),
        "tool_choice",
        "Tool 'найти' not found in provided tools",
    ),
    refused(
        "tool-choice.tool-exists",
        "no tools at all",
        choosing({"type": "tool", "name": "x"}, tools=[]),
        "tool_choice",
        "Tool 'x' not found in provided tools",
    ),
    taken(
        "tool-choice.forced-supported",
        "auto on a model that thinks always",
        choosing({"type": "auto"}, model="claude-opus-5-5"),
    ),
    taken("tool-choice.forced-supported", "any on Haiku 5.5", choosing({"type": "any"}, model="claude-haiku-5-5")),
    taken(
        "tool-choice.forced-supported",
        "any where no page settles it",
        choosing({"type": "any"}, model="claude-fable-5-2"),
    ),
    *(
        refused(
            "tool-choice.forced-supported",
            f"any on {model}",
            choosing({"type": "any"}, model=model),
            "tool_choice",
            _NOT_SUPPORTED,
        )
        for model in ("claude-fable-5-1", "claude-mythos-5-1", "claude-opus-5-5", "claude-sonnet-5-5")
    ),
    refused(
        "tool-choice.forced-supported",
        "a named tool, while counting",
        choosing({"type": "tool", "name": "find_order"}, model="claude-opus-5-5", without=["max_tokens"]),
        "tool_choice",
        _NOT_SUPPORTED,
        endpoint="count_tokens",
    ),
    taken(
        "tool-choice.forced-with-thinking",
        "auto beside manual thinking",
        choosing({"type": "auto"}, model="claude-opus-4-6", thinking=_ENABLED),
    ),
    taken(
        "tool-choice.forced-with-thinking",
        "any beside adaptive thinking",
        choosing({"type": "any"}, model="claude-opus-4-6", thinking={"type": "adaptive"}),
    ),
    refused(
        "tool-choice.forced-with-thinking",
        "any beside manual thinking",
        choosing({"type": "any"}, model="claude-haiku-4-5", thinking=_ENABLED),
        "tool_choice",
        "Thinking may not be enabled when tool_choice forces tool use.",
    ),
)
