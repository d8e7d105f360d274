"""Which texts may be a conversation's id, and how other short texts are made fit for a column."""

from __future__ import annotations

from turnkeeper.errors import InputError
from turnkeeper.wire.json import fold_surrogates

__all__ = ("ID_LENGTH", "checked_id", "checked_key", "is_key", "storable")

ID_LENGTH = 255
"""Characters of the longest id: PostgreSQL can index four bytes of each, with room for the rest of the key."""


def checked_id(conversation_id: str) -> str:
    """The id, if it can be kept everywhere. InputError for an empty or overlong one, for control characters in it."""
    if problem := _problem(conversation_id):
        raise InputError(f"a conversation's id {problem}: {conversation_id[:40]!a}")
    return conversation_id


def checked_key(key: str) -> str:
    """The sender's key of a message, if it can be kept everywhere; the rules are those of ids. InputError."""
    if problem := _problem(key):
        raise InputError(f"a message's key {problem}: {key[:40]!a}")
    return key


def is_key(key: str | None) -> bool:
    """Whether `checked_key` would let it pass."""
    return key is not None and not _problem(key)


def _problem(text: str) -> str:
    if not 0 < len(text) <= ID_LENGTH:
        return f"has 1 to {ID_LENGTH} characters, not {len(text)}"
    if text.isprintable():
        return ""
    bad = next((c for c in text if c < " " or "\x7f" <= c < "\xa0" or "\ud800" <= c < "\ue000"), None)
    return "" if bad is None else f"can't hold the character U+{ord(bad):04X}"


def storable(text: str) -> str:
    """The text with what a text column refuses (lone surrogates, NUL) shown as U+FFFD."""
    return fold_surrogates(text).replace("\x00", "\ufffd")
