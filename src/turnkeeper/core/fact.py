"""What all events have in common: a time, and a payload of ordinary JSON."""

from __future__ import annotations

from dataclasses import dataclass, fields
from decimal import Decimal
from typing import Any, ClassVar

from turnkeeper.wire.json import encode

__all__ = ("CallRequest", "Event")


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One fact; `at` is seconds since 1970 by the driver's clock."""

    type: ClassVar[str]
    raw: ClassVar[frozenset[str]] = frozenset()
    raw_lists: ClassVar[frozenset[str]] = frozenset()

    at: float = 0.0

    def to_payload(self) -> str:
        """The event's fields as one JSON object, without its type and what was not given."""
        parts: list[str] = []
        for one in fields(self):
            value = getattr(self, one.name)
            if one.name == "at" or (value is None and one.default is None):
                continue
            if one.name in self.raw:
                text = "null" if value is None else value
            elif one.name in self.raw_lists:
                text = "[" + ",".join(value) + "]"
            else:
                text = encode(_plain(value))
            parts.append(f'"{one.name}":{text}')
        return "{" + ",".join(parts) + "}"


def _plain(value: Any) -> Any:
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    if isinstance(value, CallRequest):
        return {one.name: getattr(value, one.name) for one in fields(value)}
    return value


@dataclass(frozen=True, slots=True, kw_only=True)
class CallRequest:
    """One call that a reply asks for. `index` is its block's place in the reply; `id` is unique in the conversation.

    `given_id` is the id as the endpoint gave it, where it had to be replaced: an empty one, or one used before.
    """

    id: str
    name: str
    index: int
    given_id: str | None = None
