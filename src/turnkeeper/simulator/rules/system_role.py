"""Rules about `system` messages in the middle of a conversation.

Places: platform.claude.com/docs/en/build-with-claude/mid-conversation-system-messages. Texts: reports and public probes
of August and September 2026.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from turnkeeper.simulator.rules.rule import Finding, Rule, rule
from turnkeeper.simulator.rules.view import MessageView, RequestView

__all__ = ("RULES",)

PAGE = "https://platform.claude.com/docs/en/build-with-claude/mid-conversation-system-messages"
_TAIL = "; the directive-only form (content: [] with output_config) is accepted at any position"


def _runs(view: RequestView) -> Iterator[tuple[MessageView | None, list[MessageView], MessageView | None]]:
    """Runs of system messages, with the message before and the message after."""
    groups = [
        list(group) for _, group in itertools.groupby(view.messages, key=lambda message: message.role == "system")
    ]
    for position, group in enumerate(groups):
        if group[0].role == "system":
            before = groups[position - 1][-1] if position else None
            after = groups[position + 1][0] if position + 1 < len(groups) else None
            yield before, group, after


@rule(
    "system-role.supported",
    source="https://github.com/anthropics/skills/blob/main/skills/claude-api/shared/prompt-caching.md",
    sentence="Only some models take system messages inside `messages` (the catalogue says which).",
    repair="Put the instruction into the top-level `system`, or choose a model that takes it.",
)
def supported(view: RequestView) -> Iterator[Finding]:
    if view.model.system_role is False:
        for message in view.messages:
            if message.role == "system":
                yield Finding(message.path, "role 'system' is not supported on this model")


@rule(
    "system-role.content",
    source="anthropic/types/system_message_param.py (SDK 2.14.0); " + PAGE,
    sentence="A system message holds text, at least one block, and no blank text.",
    repair="Send text, or leave the message out.",
)
def content(view: RequestView) -> Iterator[Finding]:
    for message in view.messages:
        if message.role != "system":
            continue
        if message.content in ("", []):
            yield Finding(message.path, f"{message.path}: system content must contain at least one block")
        for block in message.blocks:
            if block.type != "text":
                yield Finding(
                    block.path,
                    f"{message.path}: role 'system' supports text, tool_addition, and tool_removal blocks only",
                )
            elif block.text("text") is not None and message.content != "" and not block.data["text"].strip():
                yield Finding(block.path, f"{message.path}: system text blocks must contain non-whitespace text")


@rule(
    "system-role.not-first",
    source="https://github.com/diegosouzapw/OmniRoute/pull/10457; " + PAGE,
    sentence="A system message is never the first message.",
    repair="Send the first instructions as the top-level `system`.",
)
def not_first(view: RequestView) -> Iterator[Finding]:
    if view.messages and view.messages[0].index == 0 and view.messages[0].role == "system":
        yield Finding(
            "messages.0",
            f"messages.0: use the top-level 'system' parameter for the initial system prompt{_TAIL}",
        )


@rule(
    "system-role.follows",
    source=PAGE,
    sentence="System messages follow a user message or an assistant message that ends in a server tool's result.",
    repair="Put the system message after the user's message, or after all tool results.",
)
def follows(view: RequestView) -> Iterator[Finding]:
    for before, group, _ in _runs(view):
        if before is None or before.role == "user":
            continue
        last = before.blocks[-1].type if before.blocks else ""
        if not (last.endswith("_tool_result") and last != "tool_result"):
            path = group[0].path
            yield Finding(
                path,
                f"{path}: role 'system' must follow a 'user' message or an 'assistant' message ending in a server tool "
                f"result{_TAIL}",
            )


@rule(
    "system-role.precedes",
    source="https://github.com/anthropics/claude-code/issues/73821; " + PAGE,
    sentence="System messages end the list or are followed by an assistant message.",
    repair="Put the system message after the user's message, not before it.",
)
def precedes(view: RequestView) -> Iterator[Finding]:
    for _, group, after in _runs(view):
        if after is not None and after.role == "user":
            path = group[-1].path
            yield Finding(path, f"{path}: role 'system' must precede an 'assistant' message or end the array{_TAIL}")


RULES: tuple[Rule, ...] = (supported, content, not_first, follows, precedes)
