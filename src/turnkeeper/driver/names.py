"""Which ids a conversation may have."""

from __future__ import annotations

from turnkeeper.errors import InputError

__all__ = ("LONGEST_ID", "checked_name")

LONGEST_ID = 200
"""Characters."""


def checked_name(conversation_id: str) -> str:
    """The id, if a conversation may have it. InputError."""
    if not conversation_id.strip() or len(conversation_id) > LONGEST_ID or not conversation_id.isprintable():
        raise InputError(f"a conversation id is 1 to {LONGEST_ID} printable characters, not {conversation_id[:40]!r}")
    return conversation_id
