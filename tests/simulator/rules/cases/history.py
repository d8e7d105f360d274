"""Cases of the message list as a whole."""

from __future__ import annotations

from tests.simulator.rules.asked import (
    OLD,
    Case,
    ask,
    assistant,
    call,
    image,
    refused,
    result,
    taken,
    thinking,
    tool,
    user,
)

__all__ = ("CASES",)

_EMPTY = "all messages must have non-empty content except for the optional final assistant message"
_CITED = [{"type": "page_location", "cited_text": "да", "document_index": 0, "document_title": "д"}]
_DOCUMENT = {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "да"}}


def text(value: str, **members: object) -> dict[str, object]:
    return {"type": "text", "text": value, **members}


def found(**members: object) -> dict[str, object]:
    return {"type": "search_result", "source": "s", "title": "т", "content": [text("а", **members)]}


CASES: tuple[Case, ...] = (
    taken("messages.not-empty", "one", ask()),
    refused("messages.not-empty", "none", ask(messages=[]), "messages", "messages: at least one message is required"),
    taken("messages.count", "a thousand", ask(*[user("да")] * 1_000)),
    refused(
        "messages.count",
        "one too many",
        ask(*[user("да")] * 100_001),
        "messages.100000",
        "messages: at most 100000 messages are allowed, but 100001 were provided",
    ),
    taken("messages.first-user", "two users in a row", ask(user("раз"), user("два"), assistant("три"), user())),
    refused(
        "messages.first-user",
        "the assistant",
        ask(assistant("Здравствуйте!"), user()),
        "messages.0",
        'messages: first message must use the "user" role',
    ),
    taken("messages.non-empty-content", "an empty last assistant message", ask(user(), assistant([]))),
    refused(
        "messages.non-empty-content",
        "an empty list from the user",
        ask(user(), assistant("да"), user([])),
        "messages.2",
        f"messages.2: {_EMPTY}",
    ),
    refused(
        "messages.non-empty-content",
        "an empty text from the user",
        ask(user("")),
        "messages.0",
        f"messages.0: {_EMPTY}",
    ),
    refused(
        "messages.non-empty-content",
        "an empty reply in the middle",
        ask(user(), assistant([]), user()),
        "messages.1",
        f"messages.1: {_EMPTY}",
    ),
    taken(
        "messages.text-not-empty",
        "a result with an empty text for content",
        ask(user(), assistant([call()]), user([result(content="")]), tools=[tool()]),
    ),
    refused(
        "messages.text-not-empty",
        "beside a call",
        ask(user(), assistant([text(""), call()]), user([result()]), tools=[tool()]),
        "messages.1.content.0",
        "messages: text content blocks must be non-empty",
    ),
    refused(
        "messages.text-not-empty",
        "inside a result",
        ask(user(), assistant([call()]), user([result(content=[text("да"), text("")])]), tools=[tool()]),
        "messages.2.content.0.content.1",
        "messages: text content blocks must be non-empty",
    ),
    refused(
        "messages.text-not-empty",
        "the whole system prompt",
        ask(system=""),
        "system",
        "system: text content blocks must be non-empty",
    ),
    taken("messages.text-not-blank", "a dot", ask(user(" . "), system=[text(".")])),
    refused(
        "messages.text-not-blank",
        "a part of the system prompt",
        ask(system=[text("Ты помощник."), text(" \n")]),
        "system.1",
        "system: text content blocks must contain non-whitespace text",
    ),
    refused(
        "messages.text-not-blank",
        "line feeds from the model",
        ask(user(), assistant([text("\n\n"), call()]), user([result()]), tools=[tool()]),
        "messages.1.content.0",
        "messages: text content blocks must contain non-whitespace text",
    ),
    refused(
        "messages.text-not-blank",
        "an ideographic space",
        ask(user("\u3000")),
        "messages.0.content",
        "messages: text content blocks must contain non-whitespace text",
    ),
    taken(
        "messages.block-roles",
        "each in its own",
        ask(user(), assistant([thinking(), call()]), user([result(content=[image()])]), tools=[tool()]),
    ),
    refused(
        "messages.block-roles",
        "a result from the assistant",
        ask(user(), assistant([text("да"), result()]), user(), tools=[tool()]),
        "messages.1.content.1",
        "messages.1: `tool_result` blocks can only be in `user` messages",
    ),
    refused(
        "messages.block-roles",
        "a call from the user",
        ask(user([call()]), user(), tools=[tool()]),
        "messages.0.content.0",
        "messages.0: `tool_use` blocks can only be in `assistant` messages",
    ),
    refused(
        "messages.block-roles",
        "thinking from the user",
        ask(user([thinking()])),
        "messages.0.content.0",
        "messages.0: `thinking` blocks can only be in `assistant` messages",
    ),
    taken(
        "messages.assistant-documents",
        "under the older version",
        ask(user(), assistant([_DOCUMENT]), user()),
        headers=OLD,
    ),
    taken("messages.assistant-documents", "from the user", ask(user([_DOCUMENT]))),
    refused(
        "messages.assistant-documents",
        "from the assistant",
        ask(user(), assistant([_DOCUMENT]), user()),
        "messages.1.content.0",
        "messages.1.content.0: `document` blocks are not allowed in `assistant` messages",
    ),
    taken(
        "messages.user-citations",
        "the assistant's own",
        ask(user(), assistant([text("да", citations=_CITED)]), user([text("что?", citations=[])])),
    ),
    taken("messages.user-citations", "under the older version", ask(user([text("а", citations=_CITED)])), headers=OLD),
    refused(
        "messages.user-citations",
        "in a text",
        ask(user([text("а", citations=_CITED)])),
        "messages.0.content.0",
        "messages.0.content.0: `citations` are not allowed on `text` blocks in `user` messages",
    ),
    refused(
        "messages.user-citations",
        "in a search result",
        ask(user([found(citations=_CITED)])),
        "messages.0.content.0.content.0",
        "messages.0.content.0.content.0: `citations` are not allowed on `text` blocks in `user` messages",
    ),
)
