"""What the second comer is told of a lease that another holds, in the same words by every journal."""

from __future__ import annotations

from datetime import UTC, datetime

from turnkeeper.errors import ConversationBusyError

__all__ = ("driven",)


def driven(conversation_id: str, *, holder: str, since: float, until: float | None) -> ConversationBusyError:
    """The error: who drives the conversation, and since when (seconds since 1970)."""
    moment = datetime.fromtimestamp(since, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    text = f"conversation {conversation_id!r} is driven by {holder} since {moment}"
    return ConversationBusyError(text, holder=holder, since=since, until=until)
