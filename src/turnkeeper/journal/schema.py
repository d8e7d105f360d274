"""The journal's tables, for SQLite and PostgreSQL alike. `migrations/` builds the same; a test compares the two.

All names start with `turnkeeper_`, so that the tables can live in an application's own database. Payloads are text and
stay text: JSONB would put keys in another order and refuse NUL. docs/journal.md describes every column.
"""

from __future__ import annotations

import sqlalchemy as sa

__all__ = (
    "VERSIONS",
    "VERSION_TABLE",
    "accounts",
    "conversations",
    "erasures",
    "events",
    "holds",
    "inbox",
    "metadata",
)

VERSION_TABLE = "turnkeeper_version"
"""Where Alembic keeps the schema's version; not its default name, which the application may use."""

VERSIONS = {
    "0001": "conversations, events",
    "0002": "erasures",
    "0003": "an index of the turns that wait for a person",
    "0004": "the inbox: messages that wait for their turn, and the keys of those that had it",
    "0005": "accounts: what requests have cost, and what is held for those under way",
}
"""Every schema version there ever was, oldest first, with what it brought."""

# ids are compared by code point everywhere, whatever language the PostgreSQL database sorts by
_Id = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")

metadata = sa.MetaData(
    naming_convention={
        "pk": "%(table_name)s_pk",
        "fk": "%(table_name)s_%(column_0_name)s_fk",
        "ck": "%(table_name)s_%(constraint_name)s",
    }
)

conversations = sa.Table(
    "turnkeeper_conversations",
    metadata,
    sa.Column("id", _Id, primary_key=True),
    sa.Column("principal_kind", sa.Text),
    sa.Column("principal_id", sa.Text),
    sa.Column("principal_level", sa.Text),
    sa.Column("created_at", sa.Double),
    sa.Column("updated_at", sa.Double),
    sa.Column("last_seq", sa.BigInteger, nullable=False),
    sa.Column("turns", sa.BigInteger, nullable=False),
    sa.Column("status", sa.Text),
    sa.Column("title", sa.Text, nullable=False),
    sa.Column("lease_token", sa.BigInteger, nullable=False),
    sa.Column("lease_holder", sa.Text),
    sa.Column("lease_since", sa.Double),
    sa.Column("lease_expires_at", sa.Double),
    sa.CheckConstraint("last_seq >= 0", name="last_seq_counts"),
)

# A row without events is a lease on a conversation that has not begun, or what an erased one left behind.
_listed = conversations.c.last_seq > sa.literal_column("0")
sa.Index(
    "turnkeeper_conversations_updated",
    conversations.c.updated_at,
    conversations.c.id,
    sqlite_where=_listed,
    postgresql_where=_listed,
)
sa.Index("turnkeeper_conversations_principal", conversations.c.principal_kind, conversations.c.principal_id)
# Small at all times: only conversations in the middle of a turn are in it. Its column is what recovery looks for, so
# that no planner takes another index for as good.
_open = sa.and_(conversations.c.status.is_(None), conversations.c.turns > sa.literal_column("0"))
sa.Index("turnkeeper_conversations_open", conversations.c.status, sqlite_where=_open, postgresql_where=_open)
_waiting = sa.text("status IN ('awaiting_approval', 'awaiting_resolution')")
sa.Index(
    "turnkeeper_conversations_waiting",
    conversations.c.updated_at,
    conversations.c.id,
    sqlite_where=_waiting,
    postgresql_where=_waiting,
)

events = sa.Table(
    "turnkeeper_events",
    metadata,
    sa.Column("conversation_id", _Id, sa.ForeignKey(conversations.c.id), primary_key=True),
    sa.Column("seq", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("type", sa.Text, nullable=False),
    sa.Column("payload", sa.Text, nullable=False),
    sa.Column("at", sa.Double, nullable=False),
    sa.Column("token", sa.BigInteger),
    sa.Column("format", sa.Integer, nullable=False),
    sa.Column("hash", sa.Text, nullable=False),
    sa.CheckConstraint("seq >= 1", name="seq_counts"),
)

erasures = sa.Table(
    "turnkeeper_erasures",
    metadata,
    sa.Column("number", sa.BigInteger().with_variant(sa.Integer, "sqlite"), sa.Identity(always=True), primary_key=True),
    sa.Column("conversation_id", _Id, nullable=False),
    sa.Column("at", sa.Double, nullable=False),
    sa.Column("events", sa.BigInteger, nullable=False),
    sa.Column("by_kind", sa.Text, nullable=False),
    sa.Column("by_id", sa.Text, nullable=False),
    sa.Column("by_level", sa.Text, nullable=False),
    sqlite_autoincrement=True,
)

# A row stays for its key when the message is gone, so that the same message sent again is known. Numbers grow in the
# order in which messages of a conversation came, because the row of the conversation is locked meanwhile.
inbox = sa.Table(
    "turnkeeper_inbox",
    metadata,
    sa.Column("number", sa.BigInteger().with_variant(sa.Integer, "sqlite"), sa.Identity(always=True), primary_key=True),
    sa.Column("conversation_id", _Id, sa.ForeignKey(conversations.c.id), nullable=False),
    sa.Column("key", _Id, nullable=False),
    sa.Column("content", sa.Text),
    sa.Column("at", sa.Double, nullable=False),
    sa.Column("sent", sa.Boolean, nullable=False),
    sa.Column("principal_kind", sa.Text),
    sa.Column("principal_id", sa.Text),
    sa.Column("principal_level", sa.Text),
    sqlite_autoincrement=True,
)
sa.Index("turnkeeper_inbox_key", inbox.c.conversation_id, inbox.c.key, unique=True)
# Small at all times, as above.
_queued = inbox.c.content.is_not(None)
sa.Index(
    "turnkeeper_inbox_queued",
    inbox.c.conversation_id,
    inbox.c.number,
    sqlite_where=_queued,
    postgresql_where=_queued,
)

# Amounts are whole billionths of a USD. What is held on an account is the sum of its holds: kept beside it, so that
# one statement can ask whether there is room.
accounts = sa.Table(
    "turnkeeper_accounts",
    metadata,
    sa.Column("account", _Id, primary_key=True),
    sa.Column("spent", sa.BigInteger, nullable=False),
    sa.Column("held", sa.BigInteger, nullable=False),
)
holds = sa.Table(
    "turnkeeper_holds",
    metadata,
    sa.Column("conversation_id", _Id, primary_key=True),
    sa.Column("account", _Id, primary_key=True),
    sa.Column("amount", sa.BigInteger, nullable=False),
    sa.Column("request", sa.Text, nullable=False),
)
