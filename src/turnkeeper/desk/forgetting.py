"""What the door forgets, so that its tables don't grow for ever."""

from __future__ import annotations

from datetime import timedelta

import sqlalchemy as sa

from turnkeeper.desk import schema
from turnkeeper.desk.repository import Repository

__all__ = ("forget_old",)


def forget_old(repository: Repository) -> None:
    """Forget codes and counts after a week, sessions after a month of silence."""
    codes, sends, sessions = schema.codes, schema.sends, schema.sessions
    week, month = (repository.now - timedelta(days=days) for days in (7, 30))
    for table, old in (
        (codes, codes.c.made_at < week),
        (sends, sends.c.at < week),
        (sessions, (sessions.c.seen_at < month) & ~sa.exists().where(codes.c.session_id == sessions.c.id)),
    ):
        repository.connection.execute(sa.delete(table).where(old))
