"""Cases of system messages in the middle of a conversation."""

from __future__ import annotations

from typing import Any

from tests.simulator.rules.asked import (
    Case,
    ask,
    assistant,
    call,
    image,
    refused,
    result,
    system,
    taken,
    tool,
    user,
    web_search,
)

__all__ = ("CASES",)

_TAIL = "; the directive-only form (content: [] with output_config) is accepted at any position"
_SEARCHED = [
    {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "погода"}},
    {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []},
]


def told(*messages: Any, model: str = "claude-opus-5", **members: Any) -> dict[str, Any]:
    return ask(*messages, model=model, **members)


CASES: tuple[Case, ...] = (
    taken("system-role.supported", "Opus 5", told(user(), system("Отвечай по-русски."))),
    taken("system-role.supported", "where no page settles it", told(user(), system("x"), model="claude-sonnet-5-5")),
    *(
        refused(
            "system-role.supported",
            model,
            told(user(), system("x"), model=model),
            "messages.1",
            "role 'system' is not supported on this model",
        )
        for model in ("claude-sonnet-5", "claude-opus-4-7", "claude-haiku-4-5")
    ),
    taken(
        "system-role.content",
        "two texts",
        told(user(), system([{"type": "text", "text": "раз"}, {"type": "text", "text": "二"}])),
    ),
    refused(
        "system-role.content",
        "none",
        told(user(), system([])),
        "messages.1",
        "messages.1: system content must contain at least one block",
    ),
    refused(
        "system-role.content",
        "an image",
        told(user(), system([image()])),
        "messages.1.content.0",
        "messages.1: role 'system' supports text, tool_addition, and tool_removal blocks only",
    ),
    refused(
        "system-role.content",
        "blank",
        told(user(), system("  ")),
        "messages.1.content",
        "messages.1: system text blocks must contain non-whitespace text",
    ),
    taken("system-role.not-first", "the top-level member", told(user(), system=[{"type": "text", "text": "x"}])),
    refused(
        "system-role.not-first",
        "at the head, as in other dialects",
        told(system("Ты помощник."), user()),
        "messages.0",
        f"messages.0: use the top-level 'system' parameter for the initial system prompt{_TAIL}",
    ),
    taken(
        "system-role.follows",
        "tool results",
        told(user(), assistant([call()]), user([result()]), system("Осталось 3 вызова."), tools=[tool()]),
    ),
    taken(
        "system-role.follows",
        "a server tool's result",
        told(user(), assistant(_SEARCHED), system("x"), tools=[web_search()]),
    ),
    refused(
        "system-role.follows",
        "a plain reply",
        told(user(), assistant("да"), system("x"), assistant("да"), user()),
        "messages.2",
        "messages.2: role 'system' must follow a 'user' message or an 'assistant' message ending in a server tool "
        f"result{_TAIL}",
    ),
    taken("system-role.precedes", "a run at the end", told(user(), system("раз"), system("два"))),
    taken("system-role.precedes", "an assistant message", told(user(), system("x"), assistant("да"), user())),
    refused(
        "system-role.precedes",
        "a user message, told of the run's last",
        told(user(), system("раз"), system("два"), user()),
        "messages.2",
        f"messages.2: role 'system' must precede an 'assistant' message or end the array{_TAIL}",
    ),
)
