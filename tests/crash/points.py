"""The points at which a process can be killed, and the killing."""

from __future__ import annotations

import os
import signal
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from turnkeeper.journal import statements as sql

__all__ = ("Points",)

_writing: ContextVar[str | None] = ContextVar("writing", default=None)


class Points:
    """Counts the points that a process passes, and kills the process at one of them.

    `kill` is the name of a point, a number (the first point is 1), or None. A name that is passed again is counted:
    `update text`, `update text (2)`. The name of the point where the process dies is left in the file `note`.
    """

    def __init__(self, kill: str | int | None, note: Path) -> None:
        self._kill = kill
        self._note = note
        self._seen: Counter[str] = Counter()
        self._lock = threading.Lock()
        self.passed: list[str] = []

    def at(self, name: str) -> None:
        """Here is one, in any thread."""
        with self._lock:
            self._seen[name] += 1
            if self._seen[name] > 1:
                name = f"{name} ({self._seen[name]})"
            self.passed.append(name)
            if self._kill in (name, len(self.passed)):
                self._note.write_text(name, "utf-8")
                os.kill(os.getpid(), signal.SIGKILL)
                threading.Event().wait()  # the signal is on its way

    @contextmanager
    def around(self, name: str, *, writes: bool = True) -> Iterator[None]:
        """The points before and after something the journal does, and, where it writes, just before its commit."""
        self.at(f"{name}: before")
        token = _writing.set(name if writes else None)
        try:
            yield
        finally:
            _writing.reset(token)
        self.at(f"{name}: after")

    def watch_commits(self) -> None:
        """From now on, in this process: everything is written, and not committed."""

        def committing(connection: sa.Connection) -> None:
            del connection
            if (name := _writing.get()) is not None:
                self.at(f"{name}: not committed")

        sa.event.listen(sa.Engine, "commit", committing)
        by_cursor = sql.by_cursor

        def past_sqlalchemy(cursor: Any, dialect: sa.Dialect, statement: sa.Executable, values: Any) -> None:
            name = _writing.get()
            if name is not None and statement is sql.ONE_MORE:
                self.at(f"{name}: not committed")  # it commits itself: as late as can be
            by_cursor(cursor, dialect, statement, values)
            if name is not None and statement is sql.INSERT_EVENTS:
                self.at(f"{name}: not committed")

        sql.by_cursor = past_sqlalchemy
