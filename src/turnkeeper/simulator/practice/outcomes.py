"""What a tool's result says: records found, nothing found, done, refused, or only words to pass on.

Results are JSON, a printed Python value, or plain text; how plain text is read stands in the phrasebook.
"""

from __future__ import annotations

import ast
import enum
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from turnkeeper.simulator.practice.phrasebook import Phrasebook
from turnkeeper.simulator.practice.transcript import Result
from turnkeeper.simulator.practice.words import folded, normal

__all__ = ("Kind", "Outcome", "Record", "read_change", "read_lookup", "seems_temporary")

Record = Mapping[str, str]
"""One customer or order: the phrasebook's field names, values as text."""

LONGEST = 200_000
"""Characters of a result that are parsed; a longer one is passed on as text."""

ESCAPES = re.compile(r"\\(?![\\'\"abfnrtvxuUN0-7])")


class Kind(enum.Enum):
    """How a result turned out; `SAID` means that only its own words can tell."""

    FOUND = enum.auto()
    ABSENT = enum.auto()
    DONE = enum.auto()
    FAILED = enum.auto()
    SAID = enum.auto()


@dataclass(frozen=True, slots=True)
class Outcome:
    """A result, read. `text` is the reason of a failure, else the result's own words."""

    kind: Kind
    text: str = ""
    records: tuple[Record, ...] = ()


def read_lookup(book: Phrasebook, result: Result) -> Outcome:
    """The outcome of a tool that finds something."""
    data = _data(result.text)
    said = _said(book, data) or result.text
    if result.is_error or _failed(data):
        return Outcome(Kind.ABSENT if _matches(book, "absent", said) else Kind.FAILED, said)
    records = tuple(filter(None, (_record(book, one) for one in _found(book, data))))
    if records:
        return Outcome(Kind.FOUND, result.text, records)
    if _empty(data, result.text) or _matches(book, "absent", said):
        return Outcome(Kind.ABSENT, said)
    return Outcome(Kind.FAILED if _matches(book, "refused", said) else Kind.SAID, said)


def read_change(book: Phrasebook, result: Result, expected: Mapping[str, str]) -> Outcome:
    """The outcome of a tool that changes something; `expected` holds fields that show that it did."""
    data = _data(result.text)
    said = _said(book, data) or result.text
    if result.is_error or data is False or _failed(data):
        return Outcome(Kind.FAILED, said)
    if data is True or _succeeded(data):
        return Outcome(Kind.DONE, said)
    for record in filter(None, (_record(book, one) for one in _found(book, data))):
        if expected and all(_same(record.get(name), value) for name, value in expected.items()):
            return Outcome(Kind.DONE, said, (record,))
    for outcome, kind in (
        ("waiting", Kind.SAID),
        ("refused", Kind.FAILED),
        ("absent", Kind.FAILED),
        ("done", Kind.DONE),
    ):
        if _matches(book, outcome, said):
            return Outcome(kind, said)
    return Outcome(Kind.SAID, said)


def seems_temporary(book: Phrasebook, result: Result) -> bool:
    """Whether the same call may succeed a moment later."""
    return result.is_error and _matches(book, "temporary", result.text)


def _matches(book: Phrasebook, outcome: str, text: str) -> bool:
    pattern = book.outcomes.get(outcome)
    return pattern is not None and pattern.search(folded(normal(text))) is not None


def _data(text: str) -> Any:
    """The value that a result's text writes, or None."""
    text = text.strip()
    if not text or len(text) > LONGEST:
        return None
    try:
        return json.loads(text, parse_int=str, parse_float=str)
    except (ValueError, RecursionError):
        pass
    if text[0] not in "[{" or ESCAPES.search(text):
        return None
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError, Warning):
        return None


def _found(book: Phrasebook, data: Any, depth: int = 0) -> list[Mapping[str, Any]]:
    """The objects that are records, from a list, an object, or one level of wrapping around either."""
    if isinstance(data, list):
        return [one for one in data if isinstance(one, dict)]
    if not isinstance(data, dict):
        return []
    if any(key in data for name in ("id", "product", "status", "email", "username") for key in book.fields[name]):
        return [data]
    return [one for value in data.values() for one in _found(book, value, depth + 1)] if depth < 1 else []


def _record(book: Phrasebook, found: Mapping[str, Any]) -> Record:
    record = {}
    for name, keys in book.fields.items():
        value = next((found[key] for key in keys if _plain(found.get(key))), None)
        if value is not None:
            record[name] = " ".join(str(value).split())
    return record


def _plain(value: object) -> bool:
    return isinstance(value, (str, int, float)) and not isinstance(value, bool) and bool(str(value).strip())


def _said(book: Phrasebook, data: Any) -> str:
    """The words meant for a reader inside a structured result."""
    if isinstance(data, str):
        return data
    if not isinstance(data, dict):
        return ""
    values = [data.get(key) for key in book.fields["reason"]]
    nested = [_said(book, value) for value in values if isinstance(value, dict)]
    return next((value for value in (*values, *nested) if isinstance(value, str) and value.strip()), "")


SUCCESS = ("ok", "success", "succeeded", "cancelled", "canceled", "updated", "changed")


def _failed(data: Any) -> bool:
    return isinstance(data, dict) and (bool(data.get("error")) or any(data.get(key) is False for key in SUCCESS))


def _succeeded(data: Any) -> bool:
    """A flag that is set, or an object that tells what was changed."""
    values = [data.get(key) for key in SUCCESS] if isinstance(data, dict) else []
    return any(value is True or (isinstance(value, dict) and bool(value)) for value in values)


def _empty(data: Any, text: str) -> bool:
    """Nothing, an empty list, or an object of nothing but these."""
    if data is None:
        return text.strip() in ("", "null", "None")
    if isinstance(data, dict):
        return all(value in (None, "", [], {}) for value in data.values())
    return data in ([], "")


def _same(one: str | None, other: str) -> bool:
    return one is not None and folded(normal(one)) == folded(normal(other))
