"""The desk's tables, for SQLite and PostgreSQL alike. `migrations/` builds the same; a test compares the two.

All names start with `desk_`, so that the tables can live in one database with others. Amounts are whole cents, because
SQLite has no exact decimals. The `*_key` columns hold what `contact.contact_key` makes of the spelling beside them.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa

from turnkeeper.desk.domain import OrderStatus

__all__ = ("VERSIONS", "VERSION_TABLE", "Instant", "audit", "customers", "metadata", "orders")

VERSION_TABLE = "desk_version"
"""Where Alembic keeps the schema's version; not its default name, which others in the same database may use."""

VERSIONS = {
    "0001": "customers, orders, audit",
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
