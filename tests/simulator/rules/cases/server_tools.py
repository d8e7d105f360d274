"""Cases of server tools: calls that the API runs itself, and their results."""

from __future__ import annotations

from typing import Any

from tests.simulator.rules.asked import Case, ask, assistant, call, refused, result, taken, tool, user, web_search

__all__ = ("CASES",)

_SEARCH = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "курс иены"}}
_FOUND = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
_TEXT = {"type": "text", "text": "Вот."}
_OPEN = "`web_search` tool use with id `srvtoolu_1` was found without a corresponding `web_search_tool_result` block"


def told(*messages: Any, **members: Any) -> dict[str, Any]:
    return ask(*messages, **{"tools": [tool(), web_search()], **members})


CASES: tuple[Case, ...] = (
    taken("server-tools.resolved", "in one reply", told(user(), assistant([_SEARCH, _FOUND, _TEXT]), user())),
    taken("server-tools.resolved", "a paused turn, sent back as it is", told(user(), assistant([_TEXT, _SEARCH]))),
    taken(
        "server-tools.resolved",
        "waiting for a call of ours",
        told(user(), assistant([_SEARCH, call("a")]), user([result("a")])),
    ),
    taken(
        "server-tools.resolved",
        "answered at the start of the next reply",
        told(user(), assistant([_SEARCH, call("a")]), user([result("a")]), assistant([_FOUND, _TEXT]), user()),
    ),
    refused(
        "server-tools.resolved",
        "text after the results",
        told(user(), assistant([_SEARCH, call("a")]), user([result("a"), _TEXT])),
        "messages.1.content.0",
        _OPEN,
    ),
    refused(
        "server-tools.resolved",
        "a new question",
        told(user(), assistant([_SEARCH]), user()),
        "messages.1.content.0",
        _OPEN,
    ),
    refused(
        "server-tools.resolved",
        "the tool search's result has another name",
        told(user(), assistant([{**_SEARCH, "name": "tool_search_tool_regex"}]), user()),
        "messages.1.content.0",
        "`tool_search_tool_regex` tool use with id `srvtoolu_1` was found without a corresponding "
        "`tool_search_tool_result` block",
    ),
    taken(
        "server-tools.provided",
        "one code execution tool serves three names",
        told(
            user(),
            assistant([{**_SEARCH, "name": "bash_code_execution"}]),
            tools=[{"type": "code_execution_20250825", "name": "code_execution"}],
        ),
    ),
    refused(
        "server-tools.provided",
        "dropped while it waits",
        told(user(), assistant([_SEARCH, call("a")]), user([result("a")]), tools=[tool()]),
        "messages.1.content.0",
        f"{_OPEN}, but no `web_search` tool was provided",
    ),
    taken("server-tools.result-expected", "after its call", told(user(), assistant([_SEARCH, _FOUND]), user())),
    refused(
        "server-tools.result-expected",
        "without a call",
        told(user(), assistant([_FOUND, _TEXT]), user()),
        "messages.1.content.0",
        "messages.1.content.0: unexpected `tool_use_id` found in `web_search_tool_result` blocks: srvtoolu_1. Each "
        "`web_search_tool_result` block must have a corresponding `server_tool_use` block before it.",
    ),
)
