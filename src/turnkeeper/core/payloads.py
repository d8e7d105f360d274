"""Reading events back from their JSON form."""

from __future__ import annotations

from dataclasses import fields
from decimal import Decimal
from typing import Any

from turnkeeper.core.events import EVENT_TYPES, CallRequest, Event
from turnkeeper.errors import JournalError
from turnkeeper.wire.json import decode, raw_elements, raw_members

__all__ = ("from_payload",)


def from_payload(kind: str, payload: str, at: float) -> Event:
    """Read an event back. Unknown members are passed over; JournalError says what can't be read."""
    found = EVENT_TYPES.get(kind)
    if found is None:
        raise JournalError(f"the journal holds an event of the unknown type {kind!r}; a newer Turnkeeper wrote it")
    try:
        members = raw_members(payload)
        values: dict[str, Any] = {"at": at}
        for one in fields(found):
            text = members.get(one.name)
            if text is None:
                continue
            if one.name in found.raw:
                values[one.name] = None if text == "null" else text
            elif one.name in found.raw_lists:
                values[one.name] = tuple(raw_elements(text))
            else:
                values[one.name] = _revived(one.name, decode(text))
        return found(**values)
    except (ValueError, TypeError, ArithmeticError) as error:
        raise JournalError(
            f"an event of type {kind!r} can't be read ({error}); the journal was changed by hand?"
        ) from error


def _revived(name: str, value: Any) -> Any:
    if name in ("cost", "reserved") and value is not None:
        return Decimal(value)
    if name == "calls":
        return tuple(CallRequest(**item) for item in value)
    if name == "injected" and value is not None:
        return tuple(str(one) for one in value)
    return value
