"""The journal's statements, built once. Every condition that keeps a conversation whole stands in the SQL itself."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.sql.compiler import SQLCompiler

from turnkeeper.journal.schema import conversations, erasures, events

__all__ = (
    "ACQUIRE",
    "CURRENT",
    "EMPTY",
    "ENSURE",
    "ERASURES",
    "EVENTS",
    "FIRST",
    "FORGET",
    "HASH",
    "INSERT_ERASURES",
    "INSERT_EVENTS",
    "LISTING",
    "NEXT",
    "ONE_MORE",
    "REFUSE_OLDER",
    "RELEASE",
    "RENEW",
    "UNFINISHED",
    "UPSERTS",
    "by_cursor",
    "direct",
)

_c, _e = conversations.c, events.c
_zero: sa.ColumnClause[int] = sa.literal_column("0")  # a literal lets the planners see that a partial index fits
_id = sa.bindparam("id_", type_=sa.Text)
_after = sa.bindparam("after", type_=sa.BigInteger)
_token = sa.bindparam("token_", type_=sa.BigInteger)
_holder = sa.bindparam("holder_", type_=sa.Text)
_instead_of = sa.bindparam("instead_of", type_=sa.Text)
_now = sa.bindparam("now", type_=sa.Double)
_until = sa.bindparam("until", type_=sa.Double)
_limit = sa.bindparam("limit_", type_=sa.BigInteger)
_offset = sa.bindparam("offset_", type_=sa.BigInteger)

# --- events

HASH = sa.select(_e.hash).where(_e.conversation_id == _id, _e.seq == _after)
"""The hash of event `after`."""

EVENTS = (
    sa.select(_e.seq, _e.type, _e.payload, _e.at, _e.token, _e.format, _e.hash)
    .where(_e.conversation_id == _id, _e.seq > _after)
    .order_by(_e.seq)
)
"""The events behind number `after`, in the order of the fields of `Row`."""

INSERT_EVENTS = sa.insert(events)

# --- conversations

_moved = (
    sa.update(conversations)
    .where(_c.id == _id, _c.last_seq == _after, sa.or_(_token.is_(None), _c.lease_token == _token))
    .values(
        last_seq=sa.bindparam("last", type_=sa.BigInteger),
        updated_at=sa.bindparam("last_at", type_=sa.Double),
        turns=_c.turns + sa.bindparam("turns_", type_=sa.BigInteger),
        status=sa.case(
            (sa.bindparam("moved", type_=sa.Boolean), sa.bindparam("status_", type_=sa.Text)), else_=_c.status
        ),
        title=sa.case((_c.title == sa.literal_column("''"), sa.bindparam("title_", type_=sa.Text)), else_=_c.title),
    )
)
NEXT = _moved.returning(HASH.scalar_subquery().label("previous"))
"""Move a conversation on that ends at event `after`, under the current lease if one is given; the hash before."""

FIRST = _moved.values(
    created_at=sa.bindparam("first_at", type_=sa.Double),
    principal_kind=sa.bindparam("kind", type_=sa.Text),
    principal_id=sa.bindparam("name", type_=sa.Text),
    principal_level=sa.bindparam("level", type_=sa.Text),
).returning(sa.literal("").label("previous"))
"""The same for the first events; `after` is 0."""

_on = _moved.where(HASH.scalar_subquery() == sa.bindparam("previous", type_=sa.Text)).returning(_c.id).cte("moved_on")
ONE_MORE = (
    sa.insert(events)
    .from_select(
        [column.name for column in _e],
        sa.select(*(sa.bindparam(f"new_{column.name}", type_=column.type) for column in _e)).select_from(_on),
    )
    .returning(_e.seq)
)
"""`NEXT` and one event in a single statement, where the hash before is known; no row where it is another by now.

For PostgreSQL alone: SQLite has no UPDATE inside of a statement."""

CURRENT = sa.select(_c.last_seq, _c.lease_token, _c.lease_holder, _c.lease_since, _c.lease_expires_at).where(
    _c.id == _id
)

LISTING = sa.select(
    _c.id,
    _c.principal_kind,
    _c.principal_id,
    _c.principal_level,
    _c.created_at,
    _c.updated_at,
    _c.last_seq,
    _c.turns,
    _c.status,
    _c.title,
).where(_c.last_seq > _zero)

UNFINISHED = (
    LISTING.where(_c.status.is_(None), _c.turns > _zero, sa.or_(_c.lease_holder.is_(None), _c.lease_expires_at <= _now))
    # not the bare column: its index would look useful for the order, and lead through every conversation there is
    .order_by(_c.updated_at + _zero, _c.id)
    .limit(_limit)
)

WAITING = (
    LISTING.where(sa.text("status IN ('awaiting_approval', 'awaiting_resolution')"))
    .order_by(_c.updated_at, _c.id)
    .limit(_limit)
    .offset(_offset)
)

EMPTY = {"last_seq": 0, "turns": 0, "title": "", "lease_token": 0}
"""A conversation that has not begun."""

UPSERTS: dict[str, Callable[[sa.Table], sqlite.Insert | postgresql.Insert]] = {
    "sqlite": sqlite.insert,
    "postgresql": postgresql.insert,
}
"""Inserts that may meet a row that is there, by dialect: alike, but each dialect keeps its own."""
ENSURE = {
    kind: insert(conversations).values(id=_id, **EMPTY).on_conflict_do_nothing() for kind, insert in UPSERTS.items()
}
"""Make the row of a conversation if it isn't there, by dialect."""

# --- leases

_still = sa.and_(_c.lease_holder == _holder, _c.lease_expires_at > _now)
ACQUIRE = {
    kind: insert(conversations)
    .values(id=_id, **EMPTY | {"lease_token": 1}, lease_holder=_holder, lease_since=_now, lease_expires_at=_until)
    .on_conflict_do_update(
        index_elements=[_c.id],
        set_={
            "lease_token": _c.lease_token + sa.case((_still, 0), else_=1),
            "lease_since": sa.case((_still, _c.lease_since), else_=_now),
            "lease_holder": _holder,
            "lease_expires_at": _until,
        },
        where=sa.or_(
            _c.lease_holder.is_(None),
            _c.lease_holder == _holder,
            _c.lease_holder == _instead_of,
            _c.lease_expires_at <= _now,
        ),
    )
    .returning(_c.lease_token, _c.lease_since)
    for kind, insert in UPSERTS.items()
}
"""Take the lease if it is free, run out, one's own or `instead_of`'s, by dialect; no row if another holds it.

In one statement: whoever dies taking a lease over leaves one that runs out as any other does."""

_mine = sa.and_(_c.id == _id, _c.lease_token == _token, _c.lease_holder.is_not(None))
RENEW = sa.update(conversations).where(_mine).values(lease_expires_at=_until).returning(_c.lease_since)
RELEASE = sa.update(conversations).where(_mine).values(lease_holder=None, lease_since=None, lease_expires_at=None)
REFUSE_OLDER = sa.update(conversations).where(_c.id == _id, _c.lease_token < _token).values(lease_token=_token)
"""Let no lease be given out whose token is `token_` or lower."""

# --- erasing

FORGET = (
    sa.update(conversations)
    .where(_c.id == _id)
    .values(
        {column: None for column in _c if column.nullable}
        | {_c.last_seq: 0, _c.turns: 0, _c.title: "", _c.lease_token: _c.lease_token + 1}
    )
)
"""Empty the row of an erased conversation. It stays for its token: whoever drives the conversation is shut out."""

INSERT_ERASURES = sa.insert(erasures)
ERASURES = (
    sa.select(
        erasures.c.conversation_id,
        erasures.c.at,
        erasures.c.events,
        erasures.c.by_kind,
        erasures.c.by_id,
        erasures.c.by_level,
    )
    .order_by(erasures.c.number.desc())
    .limit(_limit)
    .offset(_offset)
)


# --- the way of the most frequent ones


def direct(
    connection: sa.Connection, statement: sa.Executable, values: Sequence[Mapping[str, Any]]
) -> sa.CursorResult[Any]:
    """Execute a statement whose text was compiled before: an append costs half the processor time that way."""
    return connection.exec_driver_sql(*_texts(connection.dialect, statement, values))


def by_cursor(cursor: Any, dialect: sa.Dialect, statement: sa.Executable, values: Sequence[Mapping[str, Any]]) -> None:
    """The same with a cursor of the driver's own; its errors are the driver's."""
    text, given = _texts(dialect, statement, values)
    if len(values) > 1:
        cursor.executemany(text, given)
    else:
        cursor.execute(text, given)


def _texts(dialect: sa.Dialect, statement: sa.Executable, values: Sequence[Mapping[str, Any]]) -> tuple[str, Any]:
    text, names = _compiled(dialect, statement)
    given: Any = list(values) if names is None else [tuple(one[name] for name in names) for one in values]
    return text, given if len(given) > 1 else given[0]


@functools.lru_cache(maxsize=32)
def _compiled(dialect: sa.Dialect, statement: sa.ClauseElement) -> tuple[str, Sequence[str] | None]:
    compiled = statement.compile(dialect=dialect)
    assert isinstance(compiled, SQLCompiler)
    return str(compiled), compiled.positiontup  # the names' order for a driver that takes values by position
