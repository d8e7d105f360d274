"""Who sits at the customers' door: sessions in the database, their level, and when it is gone.

A session is named by its principal's id. What it has proven counts for thirty minutes after the customer was last seen,
and until it ends: by leaving, or by being handed over to a member of staff. One that has ended proves nothing again.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal, TypeAlias

import sqlalchemy as sa

import turnkeeper as tk
from turnkeeper.desk import schema

__all__ = ("IDLE", "Ending", "Session", "Sessions")

IDLE = timedelta(minutes=30)

_LAPSED = "lapsed"
"""The level that is kept of a session in which somebody had proven who they are: to everybody it is `claimed`."""

Ending: TypeAlias = Literal["left", "handed_over", "revoked"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """A session as it is kept. `customer_id` is the account whose contact on file was confirmed."""

    id: str
    customer_id: str | None
    level: str
    seen_at: datetime
    ended_at: datetime | None

    @property
    def has_proven(self) -> bool:
        """Whether somebody has ever proven in it who they are."""
        return self.level in ("confirmed", "signed_in", _LAPSED)

    def is_proven(self, at: datetime) -> bool:
        """Whether somebody has proven who they are, and it counts at that moment."""
        return self.ended_at is None and self.customer_id is not None and at - self.seen_at <= IDLE

    def principal(self, at: datetime) -> tk.Principal:
        """Who that is, as tools and the journal know them."""
        if self.is_proven(at):
            assert self.customer_id is not None
            return tk.Principal("customer", self.customer_id, self.level)
        claimed = self.ended_at is None and self.level != "anonymous"
        return tk.Principal("customer", self.id, "claimed" if claimed else "anonymous")


class Sessions:
    """The sessions in the database, inside one transaction of the caller's."""

    def __init__(self, connection: sa.Connection, now: datetime) -> None:
        self._connection = connection
        self._now = now

    def get(self, session_id: str) -> Session | None:
        """The session of that id, None if the door has not heard of it."""
        query = sa.select(schema.sessions).where(schema.sessions.c.id == session_id)
        row = self._connection.execute(query).one_or_none()
        return None if row is None else _session(row)

    def begun(self, session_id: str) -> Session:
        """The session of that id, made if it is new."""
        found = self.get(session_id)
        if found is None:
            values = {"id": session_id, "level": "anonymous", "begun_at": self._now, "seen_at": self._now}
            try:
                with self._connection.begin_nested():
                    self._connection.execute(sa.insert(schema.sessions).values(**values))
            except sa.exc.IntegrityError:
                pass  # another request of the same visitor was faster
            found = self.get(session_id)
            assert found is not None
        return found

    def seen(self, session: Session) -> None:
        """The customer did something: the time to idle begins anew, unless it is over; then the level is gone."""
        if session.customer_id is not None and not session.is_proven(self._now):
            self._change(session.id, level=_LAPSED, customer_id=None, seen_at=self._now)
        else:
            self._change(session.id, seen_at=self._now)

    def claimed(self, session: Session) -> None:
        """Somebody said who they are."""
        level = _LAPSED if session.has_proven else "claimed"
        self._change(session.id, level=level, customer_id=None, seen_at=self._now)

    def proven(self, session: Session, customer_id: str, level: str) -> None:
        """Somebody proved who they are."""
        self._change(session.id, level=level, customer_id=customer_id, seen_at=self._now)

    def ended(self, session_id: str, by: Ending) -> None:
        """The session is over, and stays so."""
        self._change(session_id, ended_at=self._now, ended_by=by)

    def end_all_of(self, customer_id: str, but: str | None = None) -> None:
        """End every session of a customer, but that one."""
        table = schema.sessions
        others = (table.c.customer_id == customer_id) & (table.c.id != (but or ""))
        change = sa.update(table).where(others, table.c.ended_at.is_(None))
        self._connection.execute(change.values(ended_at=self._now, ended_by="revoked"))

    def _change(self, session_id: str, **values: Any) -> None:
        table = schema.sessions
        self._connection.execute(
            sa.update(table).where(table.c.id == session_id, table.c.ended_at.is_(None)).values(**values)
        )


def _session(row: sa.Row[Any]) -> Session:
    return Session(id=row.id, customer_id=row.customer_id, level=row.level, seen_at=row.seen_at, ended_at=row.ended_at)
