"""Conversations, events."""

import sqlalchemy as sa
from alembic import op

__all__ = ("down_revision", "revision", "upgrade")

revision = "0001"
down_revision = None

_id = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    """Create the first two tables."""
    op.create_table(
        "turnkeeper_conversations",
        sa.Column("id", _id, nullable=False),
        sa.Column("principal_kind", sa.Text, nullable=True),
        sa.Column("principal_id", sa.Text, nullable=True),
        sa.Column("principal_level", sa.Text, nullable=True),
        sa.Column("created_at", sa.Double, nullable=True),
        sa.Column("updated_at", sa.Double, nullable=True),
        sa.Column("last_seq", sa.BigInteger, nullable=False),
        sa.Column("turns", sa.BigInteger, nullable=False),
        sa.Column("status", sa.Text, nullable=True),
        sa.Column("title", sa.Text, nullable=False),
        sa.Column("lease_token", sa.BigInteger, nullable=False),
        sa.Column("lease_holder", sa.Text, nullable=True),
        sa.Column("lease_since", sa.Double, nullable=True),
        sa.Column("lease_expires_at", sa.Double, nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("turnkeeper_conversations_pk")),
        sa.CheckConstraint("last_seq >= 0", name=op.f("turnkeeper_conversations_last_seq_counts")),
    )
    op.create_index(
        "turnkeeper_conversations_updated",
        "turnkeeper_conversations",
        ["updated_at", "id"],
        sqlite_where=sa.text("last_seq > 0"),
        postgresql_where=sa.text("last_seq > 0"),
    )
    op.create_index(
        "turnkeeper_conversations_principal", "turnkeeper_conversations", ["principal_kind", "principal_id"]
    )
    op.create_index(
        "turnkeeper_conversations_open",
        "turnkeeper_conversations",
        ["status"],
        sqlite_where=sa.text("status IS NULL AND turns > 0"),
        postgresql_where=sa.text("status IS NULL AND turns > 0"),
    )
    op.create_table(
        "turnkeeper_events",
        sa.Column("conversation_id", _id, nullable=False),
        sa.Column("seq", sa.BigInteger, nullable=False, autoincrement=False),
        sa.Column("type", sa.Text, nullable=False),
        sa.Column("payload", sa.Text, nullable=False),
        sa.Column("at", sa.Double, nullable=False),
        sa.Column("token", sa.BigInteger, nullable=True),
        sa.Column("format", sa.Integer, nullable=False),
        sa.Column("hash", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("conversation_id", "seq", name=op.f("turnkeeper_events_pk")),
        sa.CheckConstraint("seq >= 1", name=op.f("turnkeeper_events_seq_counts")),
        sa.ForeignKeyConstraint(
            ["conversation_id"], ["turnkeeper_conversations.id"], name=op.f("turnkeeper_events_conversation_id_fk")
        ),
    )
