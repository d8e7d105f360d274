"""The inbox."""

import sqlalchemy as sa
from alembic import op

__all__ = ("down_revision", "revision", "upgrade")

revision = "0004"
down_revision = "0003"

_id = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    """Create the table of messages that wait for their turn."""
    op.create_table(
        "turnkeeper_inbox",
        sa.Column(
            "number", sa.BigInteger().with_variant(sa.Integer, "sqlite"), sa.Identity(always=True), nullable=False
        ),
        sa.Column("conversation_id", _id, nullable=False),
        sa.Column("key", _id, nullable=False),
        sa.Column("content", sa.Text, nullable=True),
        sa.Column("at", sa.Double, nullable=False),
        sa.Column("sent", sa.Boolean, nullable=False),
        sa.Column("principal_kind", sa.Text, nullable=True),
        sa.Column("principal_id", sa.Text, nullable=True),
        sa.Column("principal_level", sa.Text, nullable=True),
        sa.PrimaryKeyConstraint("number", name=op.f("turnkeeper_inbox_pk")),
        sa.ForeignKeyConstraint(
            ["conversation_id"], ["turnkeeper_conversations.id"], name=op.f("turnkeeper_inbox_conversation_id_fk")
        ),
        sqlite_autoincrement=True,
    )
    op.create_index("turnkeeper_inbox_key", "turnkeeper_inbox", ["conversation_id", "key"], unique=True)
    where = sa.text("content IS NOT NULL")
    op.create_index(
        "turnkeeper_inbox_queued",
        "turnkeeper_inbox",
        ["conversation_id", "number"],
        sqlite_where=where,
        postgresql_where=where,
    )
