"""Which texts may be a conversation's id, and how other short texts are made fit for a column."""

from __future__ import annotations

from turnkeeper.errors import InputError
from turnkeeper.wire.json import fold_surrogates

__all__ = ("ID_LENGTH", "checked_id", "storable")

ID_LENGTH = 255
"""Characters of the longest id: PostgreSQL can index four bytes of each, with room for the rest of the key."""


def checked_id(conversation_id: str) -> str:
    """The id, if it can be kept everywhere. InputError for an empty or overlong one, for control characters in it."""
    if 0 < len(conversation_id) <= ID_LENGTH:
        if conversation_id.isprintable():
            return conversation_id
        bad = next((c for c in conversation_id if c < " " or "\x7f" <= c < "\xa0" or "\ud800" <= c < "\ue000"), None)
        if bad is None:
            return conversation_id
        raise InputError(f"a conversation's id can't hold the character U+{ord(bad):04X}: {conversation_id!a}")
    raise InputError(
        f"a conversation's id has 1 to {ID_LENGTH} characters, not {len(conversation_id)}: {conversation_id[:40]!a}"
    )


def storable(text: str) -> str:
    """The text with what a text column refuses (lone surrogates, NUL) shown as U+FFFD."""
    return fold_surrogates(text).replace("\x00", "\ufffd")
