"""The most frequent write of all, an append to a conversation that has begun, done with a cursor of the driver's own.

SQLAlchemy would double what such a small transaction costs. Whatever is not the plain case is `store.append`'s.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

from turnkeeper.core.events import Event
from turnkeeper.journal import statements as sql
from turnkeeper.journal.accounts import settled_cost
from turnkeeper.journal.chain import Row, rows_of
from turnkeeper.journal.messages import keys_of
from turnkeeper.journal.summaries import change_of

__all__ = ("Heads", "change_values", "event_values", "step")

_KEPT = 1000


class Heads:
    """The hash of the last event of conversations that this process appended to lately; a database checks it."""

    def __init__(self) -> None:
        self._kept: dict[str, tuple[int, str]] = {}

    def get(self, conversation_id: str, seq: int) -> str | None:
        """The hash of event `seq`, if that was the last one."""
        last, value = self._kept.get(conversation_id, (0, ""))
        return value if last == seq else None

    def put(self, conversation_id: str, seq: int, value: str) -> None:
        """Note that event `seq` is the last one now, and its hash."""
        self._kept.pop(conversation_id, None)
        self._kept[conversation_id] = (seq, value)
        if len(self._kept) > _KEPT:
            # another thread may have done it meanwhile
            self._kept.pop(next(iter(self._kept.copy())), None)


def step(
    cursor: Any,
    dialect: sa.Dialect,
    heads: Heads,
    conversation_id: str,
    new: Sequence[Event],
    *,
    after: int,
    token: int | None,
) -> int | None:
    """Add the events behind number `after`; the new last number. None, and nothing done, where it isn't that simple."""
    if not new or after == 0 or keys_of(new) or settled_cost(new)[0]:
        return None
    known = heads.get(conversation_id, after)
    if known is not None and len(new) == 1 and dialect.name == "postgresql":
        rows = _in_one_statement(cursor, dialect, conversation_id, new, after=after, previous=known, token=token)
    else:
        rows = _in_two(cursor, dialect, conversation_id, new, after=after, token=token)
    if rows is None:
        return None
    heads.put(conversation_id, rows[-1].seq, rows[-1].hash)
    return rows[-1].seq


def _in_one_statement(
    cursor: Any,
    dialect: sa.Dialect,
    conversation_id: str,
    new: Sequence[Event],
    *,
    after: int,
    previous: str,
    token: int | None,
) -> list[Row] | None:
    rows = rows_of(conversation_id, new, after=after, previous=previous, token=token)
    (values,) = event_values(conversation_id, rows)
    change = change_values(conversation_id, new, after=after, token=token)
    cursor.connection.autocommit = True  # one statement needs no BEGIN and no COMMIT around it
    added = {f"new_{name}": value for name, value in values.items()}
    sql.by_cursor(cursor, dialect, sql.ONE_MORE, [change | added | {"previous": previous}])
    return rows if cursor.fetchone() is not None else None


def _in_two(
    cursor: Any, dialect: sa.Dialect, conversation_id: str, new: Sequence[Event], *, after: int, token: int | None
) -> list[Row] | None:
    sql.by_cursor(cursor, dialect, sql.NEXT, [change_values(conversation_id, new, after=after, token=token)])
    moved = cursor.fetchone()
    if moved is None or moved[0] is None:
        return None
    rows = rows_of(conversation_id, new, after=after, previous=str(moved[0]), token=token)
    sql.by_cursor(cursor, dialect, sql.INSERT_EVENTS, event_values(conversation_id, rows))
    return rows


def change_values(conversation_id: str, new: Sequence[Event], *, after: int, token: int | None) -> dict[str, Any]:
    """What `NEXT` takes: how the events change the conversation's row."""
    change = change_of(new)
    return {
        "id_": conversation_id,
        "after": after,
        "token_": token,
        "last": after + len(new),
        "last_at": change.last_at,
        "turns_": change.turns,
        "moved": change.moved,
        "status_": change.status,
        "title_": change.title,
    }


def event_values(conversation_id: str, rows: Sequence[Row]) -> list[dict[str, Any]]:
    """What `INSERT_EVENTS` takes."""
    return [
        {
            "conversation_id": conversation_id,
            "seq": row.seq,
            "type": row.type,
            "payload": row.payload,
            "at": row.at,
            "token": row.token,
            "format": row.format,
            "hash": row.hash,
        }
        for row in rows
    ]
