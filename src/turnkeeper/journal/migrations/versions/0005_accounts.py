"""Money: what is held for requests under way, and what was spent, by account."""

import sqlalchemy as sa
from alembic import op

__all__ = ("down_revision", "revision", "upgrade")

revision = "0005"
down_revision = "0004"

_id = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    """Create the tables of accounts and holds."""
    op.create_table(
        "turnkeeper_accounts",
        sa.Column("account", _id, nullable=False),
        sa.Column("spent", sa.BigInteger, nullable=False),
        sa.Column("held", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("account", name=op.f("turnkeeper_accounts_pk")),
    )
    op.create_table(
        "turnkeeper_holds",
        sa.Column("conversation_id", _id, nullable=False),
        sa.Column("account", _id, nullable=False),
        sa.Column("amount", sa.BigInteger, nullable=False),
        sa.Column("request", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("conversation_id", "account", name=op.f("turnkeeper_holds_pk")),
    )
