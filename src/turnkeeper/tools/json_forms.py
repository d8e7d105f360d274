"""Python values as JSON values, each type in one documented form.

| Python | JSON |
|---|---|
| datetime, date, time | ISO 8601 string, `2026-01-02T03:04:05+00:00` |
| timedelta | ISO 8601 duration in days, hours, minutes and seconds, `PT1M30S`, `-P1DT2H` |
| Decimal | string, every digit kept, `"12.30"` |
| NaN, Infinity, -Infinity (JSON has no number for them) | string of that name |
| Enum | its value |
| UUID, Path, Fraction, complex, IP addresses, other types with a `__str__` of their own | string |
| bytes | data URL, `data:image/png;base64,…`; the type by the first bytes, else `application/octet-stream` |
| tuple, frozenset, set, deque, range, dict views | array; sets in the order of their items' JSON |
| named tuple, dataclass, attrs class, pydantic model, database row | object |
| dict with other keys than strings | object with the keys as strings; an array of pairs if two keys become the same |
| numpy scalars and arrays, pandas series | number, string or (nested) array, through `tolist()` |
| generators, iterators, other iterables | array of at most 10,000 items; a mark at its end says that there were more |

Anything else, and a value that contains itself, is an `UnrenderableError`.
"""

from __future__ import annotations

import base64
import datetime
import decimal
import enum
import itertools
import json
import math
import pathlib
from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import fields, is_dataclass
from functools import singledispatch
from typing import Any

from pydantic import BaseModel
from pydantic_core import PydanticSerializationError

from turnkeeper.tools.wording import clean

__all__ = ("ITEM_LIMIT", "Collecting", "UnrenderableError", "collected", "data_url", "json_text", "media_type", "plain")

ITEM_LIMIT = 10_000
"""Items that are taken from a generator or iterator; whatever follows is never read."""
SIZE_LIMIT = 10_000_000
"""Characters and bytes of such items after which no more are taken."""
_ALL_ITEMS = 100_000
"""Items that are taken from all the iterators in one result."""

_MAGIC: tuple[tuple[bytes, int, str], ...] = (
    (b"\x89PNG\r\n\x1a\n", 0, "image/png"),
    (b"\xff\xd8\xff", 0, "image/jpeg"),
    (b"GIF87a", 0, "image/gif"),
    (b"GIF89a", 0, "image/gif"),
    (b"WEBP", 8, "image/webp"),
    (b"%PDF-", 0, "application/pdf"),
    (b"PK\x03\x04", 0, "application/zip"),
    (b"\x1f\x8b", 0, "application/gzip"),
)


class UnrenderableError(ValueError):
    """A value that has no JSON form: turn it into strings, numbers, lists and dicts before returning it."""


def json_text(value: Any) -> str:
    """Compact JSON with real characters; only control characters are escaped, as JSON requires."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def media_type(data: bytes) -> str:
    """The type of some bytes by how they begin."""
    for magic, offset, name in _MAGIC:
        if data.startswith(magic, offset) and (name != "image/webp" or data.startswith(b"RIFF")):
            return name
    return "application/octet-stream"


def data_url(data: bytes) -> str:
    """Bytes as a `data:` URL."""
    return f"data:{media_type(data)};base64,{base64.b64encode(data).decode('ascii')}"


class Collecting:
    """Items of an iterator as they come, until there are enough."""

    def __init__(self, limit: int = ITEM_LIMIT) -> None:
        self.items: list[Any] = []
        self._limit = limit
        self._size = 0

    def take(self, item: Any) -> bool:
        """Keep the item; False, with a visible mark in its place, once there are too many or they are too large."""
        if len(self.items) == self._limit:
            self.items.append(f"[truncated: more than {self._limit} items, the rest was not read]")
            return False
        if self._size > SIZE_LIMIT:
            self.items.append(f"[truncated: more than {SIZE_LIMIT} characters, the rest was not read]")
            return False
        self.items.append(item)
        self._size += _size(item)
        return True


def _size(item: Any) -> int:
    """About how much an item holds: its own text, and that one level below."""
    if isinstance(item, str | bytes | bytearray):
        return len(item)
    parts = item.values() if isinstance(item, dict) else item if isinstance(item, list | tuple) else ()
    return sum(len(part) for part in itertools.islice(parts, 100) if isinstance(part, str | bytes | bytearray))


def collected(items: Iterable[Any], *, limit: int = ITEM_LIMIT) -> list[Any]:
    """The items of an iterable, at most `limit`, and a visible mark if there were more."""
    taking = Collecting(limit)
    for item in items:
        if not taking.take(item):
            break
    return taking.items


class _Walk(set[int]):
    """The ids of what is being walked through, and how many items iterators may still give."""

    left = _ALL_ITEMS

    def collected(self, items: Iterable[Any]) -> list[Any]:
        found = collected(items, limit=min(ITEM_LIMIT, self.left))
        self.left = max(self.left - len(found), 0)
        return found


def plain(value: Any) -> Any:
    """`value` as None, bool, int, float, str, list and dict; UnrenderableError if it has no such form."""
    try:
        return _plain(value, _Walk())
    except RecursionError:
        raise UnrenderableError("the value is nested too deeply") from None


def _plain(value: Any, open_ids: _Walk) -> Any:
    kind = type(value)
    if kind is str or kind is bool or value is None:
        return value
    if kind is int:
        return _integer(value)
    if kind is float:
        return _number(value)
    # Only what is being walked right now: the same object twice side by side is no cycle.
    identity = id(value)
    if identity in open_ids:
        raise UnrenderableError("the value contains itself")
    open_ids.add(identity)
    try:
        if kind is list:
            return [_plain(item, open_ids) for item in value]
        return _form(value, open_ids)
    finally:
        open_ids.discard(identity)


def _integer(value: int) -> Any:
    # Python refuses to write an int of more than 4,300 digits in decimal.
    return value if value.bit_length() < 14_000 else hex(value)


def _number(value: float) -> Any:
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


@singledispatch
def _form(value: Any, open_ids: _Walk) -> Any:
    members = _members(value)
    if members is not None:
        return _object(members, open_ids)
    if hasattr(value, "dtype") and callable(getattr(value, "tolist", None)):
        return _plain(value.tolist(), open_ids)
    if isinstance(value, Iterable) and not isinstance(value, type):
        return [_plain(item, open_ids) for item in open_ids.collected(value)]
    writes_itself: object = type(value).__str__
    if writes_itself is not object.__str__ and not isinstance(value, BaseException):
        return clean(str(value))
    raise UnrenderableError(f"a {type(value).__name__} has no JSON form")


def _members(value: Any) -> Mapping[Any, Any] | None:
    """The named parts of a record-like object, by what it offers; None if it is no record."""
    if isinstance(value, type):
        return None
    if is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in fields(value)}
    if hasattr(type(value), "__attrs_attrs__"):
        return {attribute.name: getattr(value, attribute.name) for attribute in value.__attrs_attrs__}
    if callable(as_dict := getattr(value, "_asdict", None)):
        named = as_dict()
        return named if isinstance(named, Mapping) else None
    if callable(keys := getattr(value, "keys", None)) and hasattr(type(value), "__getitem__"):
        return {key: value[key] for key in keys()}
    return None


@_form.register(str)
def _string(value: str, _: _Walk) -> Any:
    return str.__str__(value)


@_form.register(int)
def _int_subclass(value: int, _: _Walk) -> Any:
    return _integer(int(value))


@_form.register(float)
def _float_subclass(value: float, _: _Walk) -> Any:
    return _number(float(value))


@_form.register(enum.Enum)
def _enum(value: enum.Enum, open_ids: _Walk) -> Any:
    return _plain(value.value, open_ids)


@_form.register(datetime.date)
@_form.register(datetime.time)
def _moment(value: datetime.date | datetime.time, _: _Walk) -> Any:
    return value.isoformat()


@_form.register(datetime.timedelta)
def _duration(value: datetime.timedelta, _: _Walk) -> Any:
    sign, span = ("-", -value) if value < datetime.timedelta(0) else ("", value)
    hours, rest = divmod(span.seconds, 3600)
    minutes, seconds = divmod(rest, 60)
    days = f"{span.days}D" if span.days else ""
    fraction = f".{span.microseconds:06d}".rstrip("0") if span.microseconds else ""
    clock = (f"{hours}H" if hours else "") + (f"{minutes}M" if minutes else "")
    if seconds or fraction or not (days or clock):
        clock += f"{seconds}{fraction}S"
    return f"{sign}P{days}" + (f"T{clock}" if clock else "")


@_form.register(decimal.Decimal)
def _decimal(value: decimal.Decimal, _: _Walk) -> Any:
    if value.is_finite():
        return str(value)
    return _number(float(value)) if value.is_infinite() else "NaN"


@_form.register(pathlib.PurePath)
def _path(value: pathlib.PurePath, _: _Walk) -> Any:
    return clean(str(value))


@_form.register(bytes)
@_form.register(bytearray)
@_form.register(memoryview)
def _bytes(value: bytes | bytearray | memoryview, _: _Walk) -> Any:
    return data_url(bytes(value))


@_form.register(AbstractSet)
def _set(value: AbstractSet[Any], open_ids: _Walk) -> Any:
    items = [_plain(item, open_ids) for item in value]
    return sorted(items, key=json_text)


@_form.register(tuple)
def _tuple(value: tuple[Any, ...], open_ids: _Walk) -> Any:
    members = _members(value)
    return [_plain(item, open_ids) for item in value] if members is None else _object(members, open_ids)


@_form.register(BaseModel)
def _model(value: BaseModel, open_ids: _Walk) -> Any:
    try:
        # The model's own serializers speak first; what they leave is brought into our forms.
        dumped = value.model_dump(mode="json")
    except (PydanticSerializationError, UnicodeDecodeError):
        dumped = value.model_dump()
    except ValueError as error:
        raise UnrenderableError("the value contains itself") from error
    return _plain(dumped, open_ids)


@_form.register(Mapping)
def _object(value: Mapping[Any, Any], open_ids: _Walk) -> Any:
    pairs = [(_key(key, open_ids), _plain(item, open_ids)) for key, item in value.items()]
    named = dict(pairs)
    if len(named) == len(pairs):
        return named
    return [[_plain(key, open_ids), _plain(item, open_ids)] for key, item in value.items()]


def _key(key: Any, open_ids: _Walk) -> str:
    if type(key) is str:
        return clean(key)
    form = _plain(key, open_ids)
    return clean(form) if isinstance(form, str) else json_text(form)


@_form.register(Iterator)
def _iterator(value: Iterator[Any], open_ids: _Walk) -> Any:
    return [_plain(item, open_ids) for item in open_ids.collected(value)]
