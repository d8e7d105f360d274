"""What a journal does to the table of messages, inside a transaction that the caller opened and commits.

`again` means the same as in `store`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

from turnkeeper.core.events import Event
from turnkeeper.errors import UnknownConversationError
from turnkeeper.journal import statements as sql
from turnkeeper.journal.ids import storable
from turnkeeper.journal.messages import keys_of
from turnkeeper.journal.port import Queued
from turnkeeper.journal.schema import conversations, inbox
from turnkeeper.types import Principal
from turnkeeper.wire.json import fold_surrogates

__all__ = ("dequeue", "enqueue", "find", "list_backlog", "list_queued", "owned_by", "take")

_c, _i = conversations.c, inbox.c
_id = sa.bindparam("id_", type_=sa.Text)
_key = sa.bindparam("key_", type_=sa.Text)
_now = sa.bindparam("now", type_=sa.Double)
_limit = sa.bindparam("limit_", type_=sa.BigInteger)
_one = sa.and_(_i.conversation_id == _id, _i.key == _key)
_waits = _i.content.is_not(None)

_OWNER = sa.select(_c.last_seq, _c.principal_kind, _c.principal_id).where(_c.id == _id).with_for_update(key_share=True)
_FIRST_SENDER = (
    sa.select(_i.principal_kind, _i.principal_id)
    .where(_i.conversation_id == _id, _waits, _i.principal_kind.is_not(None))
    .order_by(_i.number)
    .limit(1)
)
_columns = (_i.key, _i.content, _i.principal_kind, _i.principal_id, _i.principal_level, _i.at, _i.sent)
_FIND = sa.select(*_columns).where(_one)
_ADD = sa.insert(inbox)
_QUEUED = sa.select(*_columns).where(_i.conversation_id == _id, _waits).order_by(_i.number).limit(_limit)
_DEQUEUE = sa.update(inbox).where(_one, _waits).values(content=None)
_TAKE = {
    kind: insert(inbox)
    .values(conversation_id=_id, key=_key, at=_now, sent=False)
    .on_conflict_do_update(index_elements=[_i.conversation_id, _i.key], set_={"content": None})
    for kind, insert in sql.UPSERTS.items()
}
_BACKLOG = (
    sa.select(_i.conversation_id)
    .join(conversations, _c.id == _i.conversation_id)
    .where(
        _waits,
        sa.or_(_c.lease_holder.is_(None), _c.lease_expires_at <= _now),
        sa.or_(_c.status.is_(None), sa.text("status NOT IN ('awaiting_approval', 'awaiting_resolution')")),
    )
    .group_by(_i.conversation_id)
    .order_by(sa.func.min(_i.at), _i.conversation_id)
    .limit(_limit)
)


def enqueue(connection: sa.Connection, again: bool, message: Queued) -> bool:
    """Add the message behind the others. UnknownConversationError if the conversation is another principal's."""
    name, who = message.conversation_id, message.principal
    connection.execute(sql.ENSURE[connection.dialect.name], {"id_": name})
    owner = connection.execute(_OWNER, {"id_": name}).one()
    found = connection.execute(_FIND, {"id_": name, "key_": message.key}).one_or_none()
    if found is not None:
        return again and (found.content, found.at) == (fold_surrogates(message.content), message.at)
    kind, owner_id = owner.principal_kind, owner.principal_id
    if not owner.last_seq:
        kind, owner_id = connection.execute(_FIRST_SENDER, {"id_": name}).one_or_none() or (None, None)
    if kind is not None and who is not None and (kind, owner_id) != (storable(who.kind), storable(who.id)):
        raise UnknownConversationError(f"no conversation {name!r} in this journal")
    connection.execute(
        _ADD,
        {
            "conversation_id": name,
            "key": message.key,
            "content": fold_surrogates(message.content),
            "at": message.at,
            "sent": True,
            "principal_kind": who and storable(who.kind),
            "principal_id": who and storable(who.id),
            "principal_level": who and storable(who.level),
        },
    )
    return True


def list_queued(connection: sa.Connection, conversation_id: str, limit: int) -> list[Queued]:
    """Those that wait, the oldest first."""
    found = connection.execute(_QUEUED, {"id_": conversation_id, "limit_": max(limit, 0)})
    return [_message(conversation_id, row) for row in found]


def dequeue(connection: sa.Connection, again: bool, conversation_id: str, key: str) -> bool:
    """Empty the row and leave it; whether there was anything in it."""
    values = {"id_": conversation_id, "key_": key}
    if connection.execute(_DEQUEUE, values).rowcount:
        return True
    return again and connection.execute(_FIND, values).one_or_none() is not None


def find(connection: sa.Connection, conversation_id: str, key: str) -> Queued | None:
    """The message of that key, if one was sent."""
    found = connection.execute(_FIND, {"id_": conversation_id, "key_": key}).one_or_none()
    return _message(conversation_id, found) if found is not None and found.sent else None


def list_backlog(connection: sa.Connection, now: float, limit: int) -> list[str]:
    """Conversations that could go on with a message."""
    return list(connection.execute(_BACKLOG, {"now": now, "limit_": max(limit, 0)}).scalars())


def take(connection: sa.Connection, conversation_id: str, events: Sequence[Event]) -> None:
    """Take the messages whose turns begin with these events out of the queue, and keep their keys."""
    for key, at in keys_of(events):
        connection.execute(_TAKE[connection.dialect.name], {"id_": conversation_id, "key_": key, "now": at})


def owned_by(principal: Principal) -> sa.ColumnElement[bool]:
    """Whether a conversation has not begun, and that principal has sent messages to it."""
    mine = sa.select(_i.conversation_id).where(
        _i.principal_kind == storable(principal.kind), _i.principal_id == storable(principal.id)
    )
    return sa.and_(_c.last_seq == sa.literal_column("0"), _c.id.in_(mine))


def _message(conversation_id: str, row: sa.Row[*tuple[Any, ...]]) -> Queued:
    who = None
    if row.principal_kind is not None:
        who = Principal(row.principal_kind, row.principal_id, row.principal_level)
    return Queued(conversation_id=conversation_id, key=row.key, content=row.content or "", principal=who, at=row.at)
