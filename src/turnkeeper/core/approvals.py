"""Approvals as facts: what a decision is bound to, and the texts that the model reads of it."""

from __future__ import annotations

import hashlib
from typing import Any

from turnkeeper.types import Principal
from turnkeeper.wire.json import decode, encode

__all__ = ("approval_id", "conversation_of", "denied_text", "digest_of", "edited_note", "expired_text", "with_note")


def digest_of(conversation_id: str, call_id: str, tool: str, given: str, requester: Principal | None) -> str:
    """What a decision holds for: this call, of this tool, with exactly these arguments (JSON text, in any spelling),
    for this person, at whatever level; None where nobody was named.
    """
    who = None if requester is None else [requester.kind, requester.id]
    bound = [conversation_id, call_id, tool, _ordered(decode(given)), who]
    return hashlib.sha256(encode(bound).encode()).hexdigest()


def _ordered(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _ordered(value[key]) for key in sorted(value)}
    if isinstance(value, list):
        return [_ordered(item) for item in value]
    return value


def approval_id(conversation_id: str, call_id: str) -> str:
    """The id of the approval of a call; a call has one at most, and the id says where to look for it."""
    return f"{call_id.replace('%', '%25').replace('@', '%40')}@{conversation_id}"


def conversation_of(approval: str) -> str:
    """The conversation that an approval's id names; empty for a text that is no such id."""
    return approval.partition("@")[2]


def denied_text(reason: str) -> str:
    """What the model reads of a call that a person refused."""
    return "Not run: a person refused this call." + (f" Reason: {reason}" if reason.strip() else "")


def expired_text() -> str:
    """What the model reads of a call that nobody decided on in time."""
    return "Not run: this call needed a person's approval and got none in time."


def edited_note(given: str) -> str:
    """What stands before the result of a call that a person changed."""
    return f"A person changed the arguments of this call before it ran. It ran with: {given}"


def with_note(given: str, content: Any) -> Any:
    """A result (text or content blocks) with the note before it."""
    note = edited_note(given)
    return f"{note}\n{content}" if isinstance(content, str) else [{"type": "text", "text": note}, *content]
