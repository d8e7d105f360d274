"""Rules about the message list as a whole: which messages there may be, and which blocks in whose message."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from turnkeeper.simulator.rules.rule import Finding, Rule, rule
from turnkeeper.simulator.rules.view import BlockView, RequestView

__all__ = ("RULES",)

MAX_MESSAGES = 100_000
"""anthropic/types/message_create_params.py, `messages`."""


@rule(
    "messages.not-empty",
    source="https://github.com/langchain-ai/langchain/issues/31657",
    sentence="There is at least one message.",
    repair="Send at least one user message.",
)
def not_empty(view: RequestView) -> Iterator[Finding]:
    if view.body.get("messages") == []:
        yield Finding("messages", "messages: at least one message is required")


@rule(
    "messages.count",
    source="anthropic/types/message_create_params.py (SDK 2.14.0)",
    sentence="There are at most 100,000 messages.",
    repair="Merge or summarise old messages.",
    text_settled=False,
)
def count(view: RequestView) -> Iterator[Finding]:
    messages = view.body.get("messages")
    if isinstance(messages, list) and len(messages) > MAX_MESSAGES:
        yield Finding(
            f"messages.{MAX_MESSAGES}",
            f"messages: at most {MAX_MESSAGES} messages are allowed, but {len(messages)} were provided",
        )


@rule(
    "messages.first-user",
    source="https://github.com/anthropics/skills/blob/main/skills/claude-api/shared/error-codes.md",
    sentence="The first message is the user's.",
    repair="Begin the list with a user message; when old messages are cut off, cut before a user message.",
    open_question="A probe of 2026-09-10 saw a list that begins with the assistant accepted; the simulator keeps the "
    "documented rule.",
)
def first_user(view: RequestView) -> Iterator[Finding]:
    if view.messages and view.messages[0].index == 0 and view.messages[0].role == "assistant":
        yield Finding("messages.0", 'messages: first message must use the "user" role')


@rule(
    "messages.non-empty-content",
    source="https://github.com/anthropics/claude-code/issues/6774; https://github.com/rescrv/claudius/pull/106",
    sentence="Every message has content, except that a final assistant message may be empty.",
    repair="Leave the empty message out; never answer a reply without content by an empty message.",
    open_question="A comparison of 2026-08-31 saw an empty user message accepted beside another user message that has "
    "content; the simulator refuses it.",
)
def non_empty_content(view: RequestView) -> Iterator[Finding]:
    last = len(view.body["messages"]) - 1 if isinstance(view.body.get("messages"), list) else -1
    for message in view.messages:
        exempt = message.role == "system" or (message.role == "assistant" and message.index == last)
        if message.content in ("", []) and not exempt:
            yield Finding(
                message.path,
                f"{message.path}: all messages must have non-empty content except for the optional final assistant "
                f"message",
            )


def _texts(view: RequestView) -> Iterator[tuple[str, str, str | None]]:
    """Where it is said to be, path and text of every text block in `system`, messages and tool results.

    An empty string as content is an empty message, no block.
    """
    system = view.body.get("system")
    if isinstance(system, str):
        yield "system", "system", system
    for index, item in enumerate(system if isinstance(system, list) else ()):
        text = item.get("text") if isinstance(item, Mapping) else None
        yield "system", f"system.{index}", text if isinstance(text, str) else None
    for message in view.messages:
        if message.role == "system" or message.content == "":
            continue
        for block in message.blocks:
            inner = block.nested() if block.type == "tool_result" else (block,)
            yield from (("messages", found.path, found.text("text")) for found in inner if found.type == "text")


@rule(
    "messages.text-not-empty",
    source="https://github.com/anthropics/claude-code/issues/59812; https://github.com/t8y2/dbx/pull/1298",
    sentence="No text block is empty, nor is `system`.",
    repair="Leave the empty text block out.",
)
def text_not_empty(view: RequestView) -> Iterator[Finding]:
    for where, path, text in _texts(view):
        if text == "":
            yield Finding(path, f"{where}: text content blocks must be non-empty")


@rule(
    "messages.text-not-blank",
    source="https://github.com/anthropics/claude-code/issues/23440; https://github.com/nick1udwig/kibitz/issues/78; "
    "https://github.com/BoltAI/BoltAI/issues/165",
    sentence="No text block, nor `system`, is only whitespace; the model itself can return such a block.",
    repair="Leave the blank text block out, also where the model sent it.",
)
def text_not_blank(view: RequestView) -> Iterator[Finding]:
    for where, path, text in _texts(view):
        if text and not text.strip():
            yield Finding(path, f"{where}: text content blocks must contain non-whitespace text")


@rule(
    "messages.block-roles",
    source="https://platform.claude.com/docs/en/agents-and-tools/tool-use/handle-tool-calls",
    sentence="tool_result blocks stand in user messages; tool_use, thinking and server tool blocks in assistant "
    "messages.",
    repair="Move the block into a message of the role that the text names.",
)
def block_roles(view: RequestView) -> Iterator[Finding]:
    for message in view.messages:
        for block in message.blocks:
            kind = block.type
            if kind == "tool_result" and message.role == "assistant":
                yield Finding(block.path, f"{message.path}: `tool_result` blocks can only be in `user` messages")
            elif message.role == "user" and (kind in _ASSISTANT_ONLY or kind.endswith("_tool_result")):
                yield Finding(block.path, f"{message.path}: `{kind}` blocks can only be in `assistant` messages")


_ASSISTANT_ONLY = frozenset({"tool_use", "server_tool_use", "thinking", "redacted_thinking"})


@rule(
    "messages.assistant-documents",
    source="https://platform.claude.com/docs/en/api/migration-2026-10-21",
    sentence="From API version 2026-10-21 on, no document block stands directly in an assistant message.",
    repair="Move the document into a user message.",
    text_settled=False,
)
def assistant_documents(view: RequestView) -> Iterator[Finding]:
    if view.since("2026-10-21"):
        for block in view.blocks("document", role="assistant"):
            yield Finding(block.path, f"{block.path}: `document` blocks are not allowed in `assistant` messages")


@rule(
    "messages.user-citations",
    source="https://platform.claude.com/docs/en/api/migration-2026-10-21",
    sentence="From API version 2026-10-21 on, text in user messages (also inside search_result blocks) has no "
    "citations.",
    repair="Drop `citations` from the text; the assistant's own text keeps them.",
    text_settled=False,
)
def user_citations(view: RequestView) -> Iterator[Finding]:
    if not view.since("2026-10-21"):
        return
    for message in view.messages:
        if message.role == "user":
            for block in message.blocks:
                for text in _cited(block):
                    yield Finding(
                        text.path, f"{text.path}: `citations` are not allowed on `text` blocks in `user` messages"
                    )


def _cited(block: BlockView) -> Iterator[BlockView]:
    if block.type == "text" and block.data.get("citations"):
        yield block
    elif block.type in {"search_result", "tool_result"}:
        for inner in block.nested():
            if block.type == "search_result" or inner.type == "search_result":
                yield from _cited(inner)


RULES: tuple[Rule, ...] = (
    not_empty,
    count,
    first_user,
    non_empty_content,
    text_not_empty,
    text_not_blank,
    block_roles,
    assistant_documents,
    user_citations,
)
