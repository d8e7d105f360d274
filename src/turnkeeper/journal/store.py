"""What a journal does to the tables, inside a transaction that the caller opened and commits.

`again` says that the work runs a second time because the connection broke: then the first run may have been committed,
and the work first looks whether it was.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from turnkeeper.core.events import Event
from turnkeeper.errors import ConversationBusyError, UnknownConversationError
from turnkeeper.journal import budgets, inbox
from turnkeeper.journal import statements as sql
from turnkeeper.journal.accounts import settled_cost
from turnkeeper.journal.carrying import Carried
from turnkeeper.journal.chain import Row, rows_of
from turnkeeper.journal.errors import ConversationExistsError, JournalDamagedError
from turnkeeper.journal.ids import storable
from turnkeeper.journal.port import Erasure, Lease, Summary
from turnkeeper.journal.schema import conversations, events
from turnkeeper.journal.schema import inbox as messages
from turnkeeper.journal.steps import change_values, event_values
from turnkeeper.journal.summaries import change_of
from turnkeeper.journal.taken import driven
from turnkeeper.types import Principal

__all__ = (
    "Stored",
    "acquire",
    "append",
    "erase",
    "first",
    "list_conversations",
    "list_erasures",
    "list_unfinished",
    "list_waiting",
    "listed",
    "release",
    "renew",
    "stored",
    "take_in",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """Rows of a conversation as they are: those behind `after`, the hash before them, the number they should end at."""

    rows: list[Row]
    previous: str
    last: int


def append(
    connection: sa.Connection,
    again: bool,
    conversation_id: str,
    new: Sequence[Event],
    *,
    after: int,
    token: int | None,
) -> int:
    """Move the conversation on from `after` and add the events; the new last number. ConversationBusyError."""
    if not new:
        current = connection.execute(sql.CURRENT, {"id_": conversation_id}).one_or_none()
        last, lease_token = (current.last_seq, current.lease_token) if current else (0, 0)
        if last != after or token not in (None, lease_token):
            raise _busy(connection, conversation_id, after, token)
        return after
    previous = _move(connection, conversation_id, new, after=after, token=token)
    if previous is None:
        if again and _is_there(connection, conversation_id, new, after, token):
            return after + len(new)
        raise _busy(connection, conversation_id, after, token)
    _insert(connection, conversation_id, rows_of(conversation_id, new, after=after, previous=previous, token=token))
    inbox.take(connection, conversation_id, new)
    is_settled, cost = settled_cost(new)
    if is_settled:
        budgets.settle(connection, conversation_id, cost)
    return after + len(new)


def _move(
    connection: sa.Connection, conversation_id: str, new: Sequence[Event], *, after: int, token: int | None
) -> str | None:
    """Change the conversation's row; the hash of its last event, None where the row is not as expected."""
    values = change_values(conversation_id, new, after=after, token=token)
    if after == 0:
        if token is None:
            connection.execute(sql.ENSURE[connection.dialect.name], {"id_": conversation_id})
        change = change_of(new)
        who = change.principal
        first = {
            "first_at": change.first_at,
            "kind": who and who.kind,
            "name": who and who.id,
            "level": who and who.level,
        }
        moved = connection.execute(sql.FIRST, values | first).one_or_none()
    else:
        moved = sql.direct(connection, sql.NEXT, [values]).one_or_none()
    if moved is not None and moved.previous is None:
        raise JournalDamagedError(
            f"event {after} of conversation {conversation_id!r} is missing: it was removed outside of Turnkeeper. "
            "Restore the journal from a backup; nothing was appended"
        )
    return None if moved is None else str(moved.previous)


def _insert(connection: sa.Connection, conversation_id: str, rows: Sequence[Row]) -> None:
    sql.direct(connection, sql.INSERT_EVENTS, event_values(conversation_id, rows))


def _is_there(
    connection: sa.Connection, conversation_id: str, new: Sequence[Event], after: int, token: int | None
) -> bool:
    found = connection.execute(sql.EVENTS, {"id_": conversation_id, "after": after}).fetchmany(len(new))
    wanted = rows_of(conversation_id, new, after=after, previous="", token=token)
    return [tuple(row[:6]) for row in found] == [(w.seq, w.type, w.payload, w.at, w.token, w.format) for w in wanted]


def _busy(connection: sa.Connection, conversation_id: str, after: int, token: int | None) -> ConversationBusyError:
    now = connection.execute(sql.CURRENT, {"id_": conversation_id}).one_or_none()
    if now is None:
        reason = "it is not in this journal"
    elif token is not None and token != now.lease_token:
        reason = f"its lease {token} was taken over" + (f" by {now.lease_holder}" if now.lease_holder else "")
    else:
        reason = f"it has {now.last_seq} events, not {after}"
    return ConversationBusyError(f"conversation {conversation_id!r} was moved on by another driver: {reason}")


def stored(connection: sa.Connection, conversation_id: str, after: int = 0) -> Stored | None:
    """The stored rows behind `after`; None for a conversation that isn't there."""
    current = connection.execute(sql.CURRENT, {"id_": conversation_id}).one_or_none()
    if current is None or current.last_seq == 0:
        return None
    if after >= current.last_seq:
        return Stored(rows=[], previous="", last=after)
    where = {"id_": conversation_id, "after": after}
    rows = [Row(*row) for row in connection.execute(sql.EVENTS, where)]
    previous = connection.execute(sql.HASH, where).scalar_one_or_none() if after else ""
    return Stored(rows=rows, previous=previous or "", last=current.last_seq)


def first(connection: sa.Connection, conversation_id: str) -> Row | None:
    """The first event's row, if there is one."""
    found = connection.execute(sql.EVENTS.limit(1), {"id_": conversation_id, "after": 0}).one_or_none()
    return None if found is None else Row(*found)


def list_conversations(
    connection: sa.Connection, principal: Principal | None, limit: int, offset: int
) -> list[Summary]:
    """The newest first."""
    query = sql.LISTING
    if principal is not None:
        query = query.where(*_of(principal))
    query = (
        query.order_by(conversations.c.updated_at.desc(), conversations.c.id.desc())
        .limit(max(limit, 0))
        .offset(max(offset, 0))
    )
    return [_summary(row) for row in connection.execute(query)]


def listed(connection: sa.Connection, conversation_id: str) -> Summary | None:
    """The line of one conversation."""
    row = connection.execute(sql.LISTING.where(conversations.c.id == conversation_id)).one_or_none()
    return None if row is None else _summary(row)


def list_unfinished(connection: sa.Connection, now: float, limit: int) -> list[Summary]:
    """Those in the middle of a turn that nobody drives."""
    return [_summary(row) for row in connection.execute(sql.UNFINISHED, {"now": now, "limit_": max(limit, 0)})]


def list_waiting(connection: sa.Connection, limit: int, offset: int) -> list[Summary]:
    """Those whose turn waits for a person, the longest first."""
    return [
        _summary(row) for row in connection.execute(sql.WAITING, {"limit_": max(limit, 0), "offset_": max(offset, 0)})
    ]


def _of(principal: Principal) -> tuple[sa.ColumnElement[bool], sa.ColumnElement[bool]]:
    return (
        conversations.c.principal_kind == storable(principal.kind),
        conversations.c.principal_id == storable(principal.id),
    )


def _summary(row: sa.Row[*tuple[Any, ...]]) -> Summary:
    return Summary(
        id=row.id,
        principal=None
        if row.principal_kind is None
        else Principal(row.principal_kind, row.principal_id, row.principal_level),
        created_at=row.created_at,
        updated_at=row.updated_at,
        events=row.last_seq,
        turns=row.turns,
        status=row.status,
        title=row.title,
    )


def acquire(
    connection: sa.Connection,
    conversation_id: str,
    holder: str,
    seconds: float,
    now: float,
    instead_of: str | None,
) -> Lease:
    """Take the lease. ConversationBusyError if another holds it, unless it is `instead_of`."""
    from_ = None if instead_of is None else storable(instead_of)
    values = {
        "id_": conversation_id,
        "holder_": storable(holder),
        "now": now,
        "until": now + seconds,
        "instead_of": from_,
    }
    taken = connection.execute(sql.ACQUIRE[connection.dialect.name], values).one_or_none()
    if taken is None:
        held = connection.execute(sql.CURRENT, {"id_": conversation_id}).one()
        since, until = held.lease_since or now, held.lease_expires_at
        raise driven(conversation_id, holder=held.lease_holder, since=since, until=until)
    return Lease(
        conversation_id=conversation_id,
        holder=holder,
        token=taken.lease_token,
        since=taken.lease_since,
        expires_at=now + seconds,
    )


def renew(connection: sa.Connection, lease: Lease, seconds: float, now: float) -> Lease:
    """Hold on. ConversationBusyError if another has the lease."""
    values = {"id_": lease.conversation_id, "token_": lease.token, "until": now + seconds}
    held = connection.execute(sql.RENEW, values).one_or_none()
    if held is None:
        raise ConversationBusyError(f"the lease on conversation {lease.conversation_id!r} was taken over")
    return Lease(
        conversation_id=lease.conversation_id,
        holder=lease.holder,
        token=lease.token,
        since=held.lease_since,
        expires_at=now + seconds,
    )


def release(connection: sa.Connection, lease: Lease) -> None:
    """Give the lease back."""
    connection.execute(sql.RELEASE, {"id_": lease.conversation_id, "token_": lease.token})


def erase(connection: sa.Connection, again: bool, what: str | Principal, by: Principal, now: float) -> list[Erasure]:
    """Remove the events, empty the conversation's row, write the receipt."""
    by = Principal(storable(by.kind), storable(by.id), storable(by.level))
    if again and (done := _done(connection, what, by, now)):
        return done
    c = conversations.c
    if isinstance(what, str):
        sent = sa.exists().where(messages.c.conversation_id == c.id)
        which = sa.and_(c.id == what, sa.or_(c.last_seq > 0, sent))
    else:
        which = sa.or_(sa.and_(*_of(what), c.last_seq > 0), inbox.owned_by(what))
    # the row first, as appending does: then nobody appends in between
    found = connection.execute(sa.select(c.id, c.last_seq).where(which).order_by(c.id).with_for_update()).all()
    if not found and isinstance(what, str):
        raise UnknownConversationError(f"no conversation {what!r} is in this journal")
    receipts = []
    for name, _ in found:
        budgets.settle(connection, name, None)
        connection.execute(sa.delete(messages).where(messages.c.conversation_id == name))
        removed = connection.execute(sa.delete(events).where(events.c.conversation_id == name)).rowcount
        connection.execute(sql.FORGET, {"id_": name})
        receipts.append(Erasure(conversation_id=name, at=now, events=removed, by=by))
        connection.execute(
            sql.INSERT_ERASURES,
            {
                "conversation_id": name,
                "at": now,
                "events": removed,
                "by_kind": by.kind,
                "by_id": by.id,
                "by_level": by.level,
            },
        )
    return receipts


def _done(connection: sa.Connection, what: str | Principal, by: Principal, now: float) -> list[Erasure]:
    found = [one for one in list_erasures(connection, 1000, 0) if one.at == now and one.by == by]
    return [one for one in reversed(found) if not isinstance(what, str) or one.conversation_id == what]


def list_erasures(connection: sa.Connection, limit: int, offset: int) -> list[Erasure]:
    """The receipts, newest first."""
    return [
        Erasure(conversation_id=name, at=at, events=count, by=Principal(kind, who, level))
        for name, at, count, kind, who, level in connection.execute(
            sql.ERASURES, {"limit_": max(limit, 0), "offset_": max(offset, 0)}
        )
    ]


def take_in(connection: sa.Connection, again: bool, carried: Carried) -> None:
    """Store an imported conversation. ConversationExistsError if one of that id has events."""
    name = carried.conversation_id
    if _move(connection, name, carried.events, after=0, token=None) is None:
        found = connection.execute(sql.EVENTS, {"id_": name, "after": 0}).all() if again else []
        if [Row(*row) for row in found] == list(carried.rows):
            return
        raise ConversationExistsError(f"conversation {name!r} is in this journal already")
    _insert(connection, name, carried.rows)
    inbox.take(connection, name, carried.events)
    newest = max(row.token or 0 for row in carried.rows)
    connection.execute(sql.REFUSE_OLDER, {"id_": name, "token_": newest})
