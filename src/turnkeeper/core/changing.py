"""A frozen value with some of its fields changed."""

from __future__ import annotations

from typing import Any, TypeVar

__all__ = ("changed",)

_T = TypeVar("_T")


_NAMES: dict[type, tuple[str, ...]] = {}


def changed(value: _T, **changes: Any) -> _T:
    """What `dataclasses.replace` gives, in half the time: for dataclasses that check nothing when they are made.

    The machine makes several values an event, and a conversation that is taken up again has thousands of events.
    """
    kind = type(value)
    made = object.__new__(kind)
    put = object.__setattr__
    names = _NAMES.get(kind)
    if names is None:
        names = _NAMES[kind] = tuple(kind.__dataclass_fields__)  # type: ignore[attr-defined]
    for name in names:
        put(made, name, changes.pop(name) if name in changes else getattr(value, name))
    if changes:
        raise TypeError(f"{kind.__name__} has no field {next(iter(changes))!r}")
    return made
