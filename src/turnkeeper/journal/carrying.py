"""Carrying a conversation from one journal to another: JSON lines, one header, one line an event.

A payload stands in its line as a JSON text inside a JSON text, because it is kept to the byte and may hold line breaks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from turnkeeper.core.events import Event
from turnkeeper.errors import InputError, JournalVersionError
from turnkeeper.journal.chain import Row, event_of, problems_of
from turnkeeper.journal.errors import ImportRejectedError, JournalDamagedError
from turnkeeper.journal.ids import checked_id
from turnkeeper.wire.json import decode, encode

__all__ = ("EXPORT_VERSION", "Carried", "to_lines", "whole_export")

EXPORT_VERSION = 1
"""The version of the lines' form; the events in them have format versions of their own."""

_FIELDS = {"seq": int, "type": str, "at": float | int, "token": int | None, "format": int, "hash": str, "payload": str}


@dataclass(frozen=True, slots=True, kw_only=True)
class Carried:
    """A checked export: the rows as they are to be stored, and the events that they hold."""

    conversation_id: str
    rows: tuple[Row, ...]
    events: tuple[Event, ...]


def to_lines(conversation_id: str, rows: Sequence[Row]) -> str:
    """The export of a conversation: every line ends with a line feed."""
    head = {
        "turnkeeper_export": EXPORT_VERSION,
        "conversation": conversation_id,
        "events": len(rows),
        "hash": rows[-1].hash if rows else "",
    }
    lines = [encode(head), *(encode({name: getattr(row, name) for name in _FIELDS}) for row in rows)]
    return "\n".join(lines) + "\n"


def whole_export(text: str) -> Carried:
    """Read and check an export. ImportRejectedError says which line is wrong; JournalVersionError: a newer form."""
    lines = text.removesuffix("\n").split("\n")
    head = _object(lines[0], 1)
    if "turnkeeper_export" not in head:
        raise ImportRejectedError("line 1 is not the head of an export; `export` of a journal writes one")
    if head["turnkeeper_export"] != EXPORT_VERSION:
        raise JournalVersionError(
            f"the export has version {head['turnkeeper_export']!r}; this Turnkeeper reads {EXPORT_VERSION}. "
            "Upgrade Turnkeeper."
        )
    name = head.get("conversation")
    if not isinstance(name, str):
        raise ImportRejectedError("line 1 names no conversation")
    try:
        checked_id(name)
    except InputError as error:
        raise ImportRejectedError(f"line 1: {error}") from error
    rows = tuple(_row(line, number) for number, line in enumerate(lines[1:], 2))
    if not rows or head.get("events") != len(rows):
        raise ImportRejectedError(
            f"the export of {name!r} is not whole: {head.get('events')!r} events are announced, {len(rows)} are there"
        )
    for problem in problems_of(name, rows):
        raise ImportRejectedError(f"the export of {name!r} was changed: {problem.message}")
    if head.get("hash") != rows[-1].hash:
        raise ImportRejectedError(f"the export of {name!r} was changed: its end is not the one in line 1")
    try:
        events = tuple(event_of(name, row) for row in rows)
    except JournalDamagedError as error:
        raise ImportRejectedError(f"the export of {name!r} can't be read: {error}") from error
    return Carried(conversation_id=name, rows=rows, events=events)


def _object(line: str, number: int) -> dict[str, Any]:
    try:
        value = decode(line)
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise ImportRejectedError(f"line {number} is not a JSON object")
    return value


def _row(line: str, number: int) -> Row:
    members = _object(line, number)
    for name, kind in _FIELDS.items():
        if name not in members or not isinstance(members[name], kind) or isinstance(members[name], bool):
            raise ImportRejectedError(f"line {number} has no usable {name!r}")
    return Row(**{name: members[name] for name in _FIELDS} | {"at": float(members["at"])})
