"""The stored form of an event, and the chain of hashes over it that makes tampering show.

The hash of an event is the SHA-256 of the UTF-8 bytes of a compact JSON array, a line feed, and the payload. The array
holds the hash before (an empty text for the first event), the conversation's id, the event's number, type, time,
lease token and format version. Whoever changes, removes or inserts an event has to write all later hashes anew.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from turnkeeper.core.events import FORMAT_VERSION, Event
from turnkeeper.core.payloads import from_payload
from turnkeeper.errors import JournalError, JournalVersionError
from turnkeeper.journal.errors import JournalDamagedError
from turnkeeper.journal.port import Problem
from turnkeeper.wire.json import encode, fold_surrogates

__all__ = ("Row", "event_of", "link", "problems_of", "rows_of", "sound_events")


@dataclass(frozen=True, slots=True)
class Row:
    """One stored event. `at` is seconds since 1970, `token` the lease's it was appended under, if there was one."""

    seq: int
    type: str
    payload: str
    at: float
    token: int | None
    format: int
    hash: str


def link(previous: str, conversation_id: str, row: Row) -> str:
    """The hash, in hexadecimal, that `row` has behind the hash `previous`; the row's own is not looked at."""
    head = encode([previous, conversation_id, row.seq, row.type, row.at, row.token, row.format])
    sha = hashlib.sha256(f"{head}\n".encode())
    sha.update(row.payload.encode("utf-8", "surrogatepass"))
    return sha.hexdigest()


def rows_of(
    conversation_id: str, events: Iterable[Event], *, after: int, previous: str, token: int | None
) -> list[Row]:
    """The rows that store `events` behind number `after`, whose hash is `previous`."""
    rows: list[Row] = []
    for seq, event in enumerate(events, after + 1):
        payload = fold_surrogates(event.to_payload())
        if "\x00" in payload:
            raise JournalError(f"the event {event.type} holds a NUL outside of a JSON escape; it can't be stored")
        bare = Row(seq, event.type, payload, float(event.at), token, FORMAT_VERSION, "")
        previous = link(previous, conversation_id, bare)
        rows.append(Row(seq, event.type, payload, bare.at, token, FORMAT_VERSION, previous))
    return rows


def event_of(conversation_id: str, row: Row) -> Event:
    """Read the event back. JournalVersionError if a newer Turnkeeper wrote it, JournalDamagedError if it can't be."""
    if row.format > FORMAT_VERSION:
        raise JournalVersionError(
            f"event {row.seq} of conversation {conversation_id!r} has format {row.format}; this Turnkeeper reads "
            f"{FORMAT_VERSION} and older. Upgrade Turnkeeper."
        )
    try:
        return from_payload(row.type, row.payload, row.at)
    except JournalError as error:
        raise JournalDamagedError(f"event {row.seq} of conversation {conversation_id!r}: {error}") from error


def problems_of(
    conversation_id: str, rows: Iterable[Row], *, after: int = 0, previous: str = "", last: int | None = None
) -> Iterator[Problem]:
    """Check numbers and hashes of the rows behind `after`; `last` is the number that the conversation ends with."""
    seq = after
    for row in rows:
        seq += 1
        if row.seq != seq:
            yield Problem(seq=seq, kind="missing", message=f"event {seq} is missing; {row.seq} comes next")
            seq = row.seq
        elif link(previous, conversation_id, row) != row.hash:
            yield Problem(seq=seq, kind="changed", message=f"event {seq} is not what was written: its hash doesn't fit")
        previous = row.hash
    if last is not None and seq != last:
        yield Problem(
            seq=None, kind="count", message=f"{last} events were appended, but the last one that is stored is {seq}"
        )


def sound_events(
    conversation_id: str, rows: Sequence[Row], *, after: int = 0, previous: str = "", last: int | None = None
) -> list[Event]:
    """The events of the rows. JournalDamagedError, with the first problem, where they are not what was appended."""
    for problem in problems_of(conversation_id, rows, after=after, previous=previous, last=last):
        raise JournalDamagedError(
            f"conversation {conversation_id!r} was changed outside of Turnkeeper: {problem.message}. "
            "Restore it from a backup; its other events were left as they are."
        )
    return [event_of(conversation_id, row) for row in rows]
