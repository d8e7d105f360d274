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
        members = decode(payload)
        if not isinstance(members, dict):
            raise ValueError("it is no object")
        raw = found.raw | found.raw_lists
        texts = raw_members(payload) if raw and not raw.isdisjoint(members) else {}
        values: dict[str, Any] = {"at": at}
        for name in _NAMES[found]:
            if name not in members:
                continue
            if name in found.raw:
                values[name] = None if members[name] is None else texts[name]
            elif name in found.raw_lists:
                values[name] = tuple(raw_elements(texts[name]))
            else:
                values[name] = _revived(name, members[name])
        return found(**values)
    except (ValueError, TypeError, ArithmeticError) as error:
        raise JournalError(
            f"an event of type {kind!r} can't be read ({error}); the journal was changed by hand?"
        ) from error


_NAMES: dict[type[Event], tuple[str, ...]] = {
    kind: tuple(one.name for one in fields(kind) if one.name != "at") for kind in EVENT_TYPES.values()
}


def _revived(name: str, value: Any) -> Any:
    if name in ("cost", "reserved") and value is not None:
        return Decimal(value)
    if name == "calls":
        return tuple(CallRequest(**item) for item in value)
    if name == "injected" and value is not None:
        return tuple(str(one) for one in value)
    return value
