"""Conversations that wait for a person."""

import sqlalchemy as sa
from alembic import op

__all__ = ("down_revision", "revision", "upgrade")

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Index the turns that wait."""
    where = sa.text("status IN ('awaiting_approval', 'awaiting_resolution')")
    op.create_index(
        "turnkeeper_conversations_waiting",
        "turnkeeper_conversations",
        ["updated_at", "id"],
        sqlite_where=where,
        postgresql_where=where,
    )
