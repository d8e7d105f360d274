"""Sessions of customers, one-time codes, changes of contacts, notes on orders, addresses."""

import sqlalchemy as sa
from alembic import op

__all__ = ("down_revision", "revision", "upgrade")

revision = "0002"
down_revision = "0001"

_instant = sa.DateTime(timezone=True)
_counter = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    """Add the columns and tables of the customers' door."""
    op.add_column("desk_customers", sa.Column("address", sa.Text, nullable=False, server_default=""))
    op.add_column("desk_orders", sa.Column("note", sa.Text, nullable=False, server_default=""))
    op.create_table(
        "desk_sessions",
        sa.Column("id", sa.Text, nullable=False),
        sa.Column("customer_id", sa.Text, nullable=True),
        sa.Column("level", sa.Text, nullable=False),
        sa.Column("begun_at", _instant, nullable=False),
        sa.Column("seen_at", _instant, nullable=False),
        sa.Column("ended_at", _instant, nullable=True),
        sa.Column("ended_by", sa.Text, nullable=True),
        sa.PrimaryKeyConstraint("id", name="desk_sessions_pk"),
        sa.ForeignKeyConstraint(["customer_id"], ["desk_customers.id"], name="desk_sessions_customer_id_fk"),
    )
    op.create_table(
        "desk_codes",
        sa.Column("id", sa.Text, nullable=False),
        sa.Column("session_id", sa.Text, nullable=False),
        sa.Column("conversation_id", sa.Text, nullable=False),
        sa.Column("purpose", sa.Text, nullable=False),
        sa.Column("subject", sa.Text, nullable=False),
        sa.Column("customer_id", sa.Text, nullable=True),
        sa.Column("code_hash", sa.Text, nullable=False),
        sa.Column("made_at", _instant, nullable=False),
        sa.Column("expires_at", _instant, nullable=False),
        sa.Column("tries", sa.Integer, nullable=False),
        sa.Column("closed_at", _instant, nullable=True),
        sa.Column("outcome", sa.Text, nullable=True),
        sa.PrimaryKeyConstraint("id", name="desk_codes_pk"),
        sa.ForeignKeyConstraint(["session_id"], ["desk_sessions.id"], name="desk_codes_session_id_fk"),
    )
    op.create_index("desk_codes_session_id", "desk_codes", ["session_id"])
    op.create_index("desk_codes_customer_id", "desk_codes", ["customer_id"])
    op.create_table(
        "desk_sends",
        sa.Column("seq", _counter, sa.Identity(always=True), nullable=False),
        sa.Column("counted", sa.Text, nullable=False),
        sa.Column("at", _instant, nullable=False),
        sa.PrimaryKeyConstraint("seq", name="desk_sends_pk"),
        sqlite_autoincrement=True,
    )
    op.create_index("desk_sends_counted_at", "desk_sends", ["counted", "at"])
    op.create_table(
        "desk_contact_changes",
        sa.Column("id", sa.Text, nullable=False),
        sa.Column("customer_id", sa.Text, nullable=False),
        sa.Column("conversation_id", sa.Text, nullable=False),
        sa.Column("field", sa.Text, nullable=False),
        sa.Column("new_value", sa.Text, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("proven_by", sa.Text, nullable=False),
        sa.Column("asked_at", _instant, nullable=False),
        sa.Column("applied_at", _instant, nullable=True),
        sa.PrimaryKeyConstraint("id", name="desk_contact_changes_pk"),
        sa.ForeignKeyConstraint(["customer_id"], ["desk_customers.id"], name="desk_contact_changes_customer_id_fk"),
        sa.CheckConstraint("field IN ('email', 'phone')", name=op.f("desk_contact_changes_field_known")),
    )
    op.create_index("desk_contact_changes_customer_id", "desk_contact_changes", ["customer_id"])
