"""The desk's tables, for SQLite and PostgreSQL alike. `migrations/` builds the same; a test compares the two.

All names start with `desk_`, so that the tables can live in one database with others. Amounts are whole cents, because
SQLite has no exact decimals. The `*_key` columns hold what `contact.contact_key` makes of the spelling beside them.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa

from turnkeeper.desk.domain import OrderStatus

__all__ = (
    "VERSIONS",
    "VERSION_TABLE",
    "Instant",
    "audit",
    "changes",
    "codes",
    "customers",
    "metadata",
    "orders",
    "sends",
    "sessions",
)

VERSION_TABLE = "desk_version"
"""Where Alembic keeps the schema's version; not its default name, which others in the same database may use."""

VERSIONS = {
    "0001": "customers, orders, audit",
    "0002": "sessions of customers, one-time codes, changes of contacts, notes on orders, addresses",
}
"""Every schema version there ever was, oldest first, with what it brought."""


class Instant(sa.TypeDecorator[datetime]):
    """A point in time: aware in Python, always UTC in the database (SQLite drops the zone)."""

    impl = sa.DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: sa.Dialect) -> Any:  # noqa: ARG002 - SQLAlchemy's hook
        """Refuse a time without zone; hand the rest over as UTC."""
        if value is not None and value.tzinfo is None:
            raise ValueError("a point in time needs a time zone")
        return None if value is None else value.astimezone(UTC)

    def process_result_value(self, value: Any, dialect: sa.Dialect) -> datetime | None:  # noqa: ARG002
        """Give SQLite's zoneless value its zone back."""
        if value is None:
            return None
        instant: datetime = value
        return instant.replace(tzinfo=UTC) if instant.tzinfo is None else instant.astimezone(UTC)


metadata = sa.MetaData(
    naming_convention={
        "pk": "%(table_name)s_pk",
        "uq": "%(table_name)s_%(column_0_name)s_unique",
        "fk": "%(table_name)s_%(column_0_name)s_fk",
        "ck": "%(table_name)s_%(constraint_name)s",
        "ix": "%(table_name)s_%(column_0_name)s",
    }
)

customers = sa.Table(
    "desk_customers",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("email", sa.Text, nullable=False),
    sa.Column("email_key", sa.Text, nullable=False, unique=True),
    sa.Column("phone", sa.Text, nullable=False),
    sa.Column("phone_key", sa.Text, nullable=False, unique=True),
    sa.Column("username", sa.Text, nullable=False),
    sa.Column("username_key", sa.Text, nullable=False, unique=True),
    sa.Column("address", sa.Text, nullable=False, server_default=""),
)

_STATUSES = ", ".join(f"'{status}'" for status in OrderStatus)

orders = sa.Table(
    "desk_orders",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("customer_id", sa.Text, sa.ForeignKey("desk_customers.id"), nullable=False, index=True),
    sa.Column("product", sa.Text, nullable=False),
    sa.Column("quantity", sa.Integer, nullable=False),
    sa.Column("price_cents", sa.BigInteger, nullable=False),
    sa.Column("status", sa.Text, nullable=False),
    sa.Column("note", sa.Text, nullable=False, server_default=""),
    sa.CheckConstraint("quantity > 0", name="quantity_positive"),
    sa.CheckConstraint("price_cents >= 0", name="price_not_negative"),
    sa.CheckConstraint(f"status IN ({_STATUSES})", name="status_known"),
)

audit = sa.Table(
    "desk_audit",
    metadata,
    sa.Column("seq", sa.BigInteger().with_variant(sa.Integer, "sqlite"), sa.Identity(always=True), primary_key=True),
    sa.Column("at", Instant, nullable=False),
    sa.Column("principal_kind", sa.Text, nullable=False),
    sa.Column("principal_id", sa.Text, nullable=False),
    sa.Column("action", sa.Text, nullable=False),
    sa.Column("subject", sa.Text, nullable=False, index=True),
    sa.Column("outcome", sa.Text, nullable=False),
    sa.Column("detail", sa.Text, nullable=False),
    sa.Column("conversation_id", sa.Text, nullable=True),
    sa.Column("call_id", sa.Text, nullable=True),
    sqlite_autoincrement=True,  # a number is never given twice
)

sessions = sa.Table(
    "desk_sessions",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("customer_id", sa.Text, sa.ForeignKey("desk_customers.id"), nullable=True),
    sa.Column("level", sa.Text, nullable=False),
    sa.Column("begun_at", Instant, nullable=False),
    sa.Column("seen_at", Instant, nullable=False),
    sa.Column("ended_at", Instant, nullable=True),
    sa.Column("ended_by", sa.Text, nullable=True),
)
"""Who sits at the customers' door. `id` is that of the principal, no browser's secret."""

codes = sa.Table(
    "desk_codes",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("session_id", sa.Text, sa.ForeignKey("desk_sessions.id"), nullable=False, index=True),
    sa.Column("conversation_id", sa.Text, nullable=False),
    sa.Column("purpose", sa.Text, nullable=False),
    sa.Column("subject", sa.Text, nullable=False),
    sa.Column("customer_id", sa.Text, nullable=True, index=True),
    sa.Column("code_hash", sa.Text, nullable=False),
    sa.Column("made_at", Instant, nullable=False),
    sa.Column("expires_at", Instant, nullable=False),
    sa.Column("tries", sa.Integer, nullable=False),
    sa.Column("closed_at", Instant, nullable=True),
    sa.Column("outcome", sa.Text, nullable=True),
)
"""One-time codes, hashed with a key that is not in the database. `subject` is what a code is for: an action's digest or
a change's id. A code for an account that isn't there has no `customer_id`, and is like the others in all else."""

sends = sa.Table(
    "desk_sends",
    metadata,
    sa.Column("seq", sa.BigInteger().with_variant(sa.Integer, "sqlite"), sa.Identity(always=True), primary_key=True),
    sa.Column("counted", sa.Text, nullable=False),
    sa.Column("at", Instant, nullable=False),
    sa.Index("desk_sends_counted_at", "counted", "at"),
    sqlite_autoincrement=True,
)
"""What was sent or asked to be sent, for the caps; `counted` is a keyed hash of what is counted."""

changes = sa.Table(
    "desk_contact_changes",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("customer_id", sa.Text, sa.ForeignKey("desk_customers.id"), nullable=False, index=True),
    sa.Column("conversation_id", sa.Text, nullable=False),
    sa.Column("field", sa.Text, nullable=False),
    sa.Column("new_value", sa.Text, nullable=False),
    sa.Column("state", sa.Text, nullable=False),
    sa.Column("proven_by", sa.Text, nullable=False),
    sa.Column("asked_at", Instant, nullable=False),
    sa.Column("applied_at", Instant, nullable=True),
    sa.CheckConstraint("field IN ('email', 'phone')", name="field_known"),
)
"""Changes of contacts that were asked for: `waiting` until the new one is verified, `applied`, or `dropped`."""
