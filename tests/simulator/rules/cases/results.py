"""Cases of calls and their results."""

from __future__ import annotations

from typing import Any

from tests.simulator.rules.asked import Case, ask, assistant, call, image, refused, result, taken, tool, user

__all__ = ("CASES",)

_TEXT = {"type": "text", "text": "Вот."}
_RULE = "messages.tool-use-answered"


def told(*messages: Any, **members: Any) -> dict[str, Any]:
    return ask(*messages, **{"model": "claude-opus-5", "tools": [tool()], **members})


def unanswered(message: int, *ids: str) -> str:
    return (
        f"messages.{message}: `tool_use` ids were found without `tool_result` blocks immediately after: "
        f"{', '.join(ids)}. "
        "Each `tool_use` block must have a corresponding `tool_result` block in the next message."
    )


def unexpected(path: str, call_id: str) -> str:
    return (
        f"{path}: unexpected `tool_use_id` found in `tool_result` blocks: {call_id}. Each `tool_result` block must "
        f"have a "
        "corresponding `tool_use` block in the previous message."
    )


CASES: tuple[Case, ...] = (
    taken(
        _RULE,
        "results in another order, then text",
        told(user(), assistant([_TEXT, call("a"), call("b")]), user([result("b"), result("a"), _TEXT])),
    ),
    taken(
        _RULE,
        "results in two messages side by side",
        told(user(), assistant([call("a"), call("b")]), user([result("a")]), user([result("b"), _TEXT])),
    ),
    taken(
        _RULE,
        "a reply in two messages side by side",
        told(user(), assistant([call("a")]), assistant([call("b")]), user([result("a"), result("b")])),
    ),
    taken(
        _RULE,
        "a tool that is not defined any more",
        told(user(), assistant([call("a", "gone")]), user([result("a", "Error: no such tool", is_error=True)])),
    ),
    refused(
        _RULE,
        "a new question instead",
        told(user(), assistant([call("a")]), user("забудь")),
        "messages.1",
        unanswered(1, "a"),
    ),
    refused(
        _RULE,
        "two of three",
        told(user(), assistant([call("a"), call("b"), call("c")]), user([result("b")])),
        "messages.1",
        unanswered(1, "a", "c"),
    ),
    refused(
        _RULE,
        "text before the results",
        told(user(), assistant([call("a")]), user([_TEXT, result("a")])),
        "messages.1",
        unanswered(1, "a"),
    ),
    refused(_RULE, "the end of the list", told(user(), assistant([call("a")])), "messages.1", unanswered(1, "a")),
    refused(
        _RULE,
        "a result in a later turn",
        told(user(), assistant([call("a")]), user("ждём"), assistant("да"), user([result("a")])),
        "messages.1",
        unanswered(1, "a"),
    ),
    refused(
        _RULE,
        "counting tokens",
        told(user(), assistant([call("a")]), user(), without=["max_tokens"]),
        "messages.1",
        unanswered(1, "a"),
        endpoint="count_tokens",
    ),
    taken(
        "messages.tool-result-expected",
        "each after its call",
        told(user(), assistant([call("a")]), user([result("a")]), assistant([call("b")]), user([result("b")])),
    ),
    refused(
        "messages.tool-result-expected",
        "the call was cut off",
        told(user([result("toolu_01")]), assistant("да"), user()),
        "messages.0.content.0",
        unexpected("messages.0.content.0", "toolu_01"),
    ),
    refused(
        "messages.tool-result-expected",
        "an id that was never asked",
        told(user(), assistant([call("a")]), user([result("a"), result("b")])),
        "messages.2.content.1",
        unexpected("messages.2.content.1", "b"),
    ),
    taken(
        "messages.tool-use-ids-unique",
        "two",
        told(user(), assistant([call("a"), call("b")]), user([result("a"), result("b")])),
    ),
    refused(
        "messages.tool-use-ids-unique",
        "in one reply",
        told(user(), assistant([call("call_0"), call("call_0")]), user([result("call_0")])),
        "messages.1.content.1",
        "messages.1.content.1: `tool_use` ids must be unique",
    ),
    refused(
        "messages.tool-use-ids-unique",
        "in different replies",
        told(user(), assistant([call("a")]), user([result("a")]), assistant([_TEXT, call("a")]), user([result("a")])),
        "messages.3.content.1",
        "messages.3.content.1: `tool_use` ids must be unique",
    ),
    taken("messages.single-result", "one", told(user(), assistant([call("a")]), user([result("a")]))),
    refused(
        "messages.single-result",
        "two",
        told(user(), assistant([call("a")]), user([result("a"), result("a", "ещё раз")])),
        "messages.2.content.1",
        "messages.2.content.1: each tool_use must have a single result. Found multiple `tool_result` blocks with id: a",
    ),
    taken(
        "messages.error-result-text",
        "text",
        told(user(), assistant([call("a")]), user([result("a", [_TEXT], is_error=True)])),
    ),
    taken(
        "messages.error-result-text",
        "no error, no content",
        told(user(), assistant([call("a")]), user([result("a", [], is_error=False)])),
    ),
    refused(
        "messages.error-result-text",
        "an image",
        told(user(), assistant([call("a")]), user([result("a", [_TEXT, image()], is_error=True)])),
        "messages.2.content.0",
        "messages.2.content.0.tool_result: all content must be type `text` if `is_error` is true",
    ),
    refused(
        "messages.error-result-text",
        "nothing",
        told(user(), assistant([call("a")]), user([result("a", "", is_error=True)])),
        "messages.2.content.0",
        "messages.2.content.0.tool_result: content cannot be empty if `is_error` is true",
    ),
    taken(
        "messages.tools-defined",
        "another tool",
        told(user(), assistant([call("a")]), user([result("a")]), tools=[tool("other")]),
    ),
    refused(
        "messages.tools-defined",
        "none",
        told(user(), assistant([call("a")]), user([result("a")]), without=["tools"]),
        "tools",
        "Requests which include `tool_use` or `tool_result` blocks must define tools.",
    ),
    refused(
        "messages.tools-defined",
        "an empty list",
        told(user(), assistant([call("a")]), user([result("a")]), tools=[]),
        "tools",
        "Requests which include `tool_use` or `tool_result` blocks must define tools.",
    ),
    taken(
        "messages.toolset-name",
        "repeated",
        told(
            user(),
            assistant([call("a", "zoom", toolset_name="computer")]),
            user([result("a", [image()], toolset_name="computer")]),
            tools=[{"type": "computer_toolset_20260801"}],
        ),
    ),
    refused(
        "messages.toolset-name",
        "forgotten",
        told(user(), assistant([call("a", "zoom", toolset_name="computer")]), user([result("a")])),
        "messages.2.content.0",
        "messages.2.content.0: `toolset_name` must be 'computer', as in the `tool_use` block a",
    ),
    refused(
        "messages.toolset-name",
        "a document in the result",
        told(
            user(),
            assistant([call("a", "zoom", toolset_name="computer")]),
            user([result("a", [{"type": "tool_reference", "tool_name": "x"}], toolset_name="computer")]),
        ),
        "messages.2.content.0",
        "messages.2.content.0: the result of a toolset call may only contain text and image blocks",
    ),
)
