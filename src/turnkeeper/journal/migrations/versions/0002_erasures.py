"""Erasures."""

import sqlalchemy as sa
from alembic import op

__all__ = ("down_revision", "revision", "upgrade")

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Create the table of receipts."""
    op.create_table(
        "turnkeeper_erasures",
        sa.Column(
            "number", sa.BigInteger().with_variant(sa.Integer, "sqlite"), sa.Identity(always=True), nullable=False
        ),
        sa.Column("conversation_id", sa.Text().with_variant(sa.Text(collation="C"), "postgresql"), nullable=False),
        sa.Column("at", sa.Double, nullable=False),
        sa.Column("events", sa.BigInteger, nullable=False),
        sa.Column("by_kind", sa.Text, nullable=False),
        sa.Column("by_id", sa.Text, nullable=False),
        sa.Column("by_level", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("number", name=op.f("turnkeeper_erasures_pk")),
        sqlite_autoincrement=True,
    )
