"""Opening the desk's database: a SQLite file by default, PostgreSQL by URL.

Opening makes what is missing (the file's folder, the tables, the first records) in one transaction that only one
process holds at a time, and refuses with a clear text what can't be used.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any

import sqlalchemy as sa

from turnkeeper.desk.domain import Order
from turnkeeper.desk.errors import DeskDatabaseError
from turnkeeper.desk.migration import bring_up_to_date
from turnkeeper.desk.place import PrivateURL, place_of
from turnkeeper.desk.record import SYSTEM, Actor, AuditEntry
from turnkeeper.desk.repository import Repository
from turnkeeper.desk.seed import lesson
from turnkeeper.desk.trouble import read_url, shown, trouble

__all__ = ("DEFAULT_URL", "Desk", "open_database")

DEFAULT_URL = "sqlite:///desk.db"
"""A file in the current folder."""

_BUSY_SECONDS = 30  # how long one process waits for another's transaction; each of them is a few statements
_CONNECT_SECONDS = 10
_READS = "desk_reads"


def _utc_now() -> datetime:
    return datetime.now(UTC)


class Desk:
    """An open desk. Safe to use from many threads; close it, or use it as a context manager."""

    def __init__(self, engine: sa.Engine, place: tuple[str, ...], clock: Callable[[], datetime] = _utc_now) -> None:
        self._engine = engine
        self._reader = engine.execution_options(**{_READS: True})
        self._place = place
        self._clock = clock

    @property
    def url(self) -> str:
        """Where the desk's records are, fit to be shown: without password."""
        return shown(self._engine.url)

    @property
    def journal_url(self) -> str:
        """The URL of this very database for `agent.open`: the tools' changes are committed with the conversation.

        It holds the password, so it is not for showing (its repr masks it). DeskDatabaseError for a desk in memory,
        whose database nobody else can open.
        """
        if self._engine.dialect.name == "sqlite" and not any(self._place):
            raise DeskDatabaseError(
                "A desk in memory can't keep a journal, which its changes need; open a file, such as sqlite:///desk.db"
            )
        return PrivateURL(self._engine.url.render_as_string(hide_password=False))

    @contextmanager
    def transaction(self, actor: Actor, connection: sa.Connection | None = None) -> Iterator[Repository]:
        """Lookups and changes on behalf of `actor`: all of the block is kept, or after an exception nothing.

        With a `connection`, such as a transactional tool's `ctx.connection`, everything is part of the transaction that
        is open there, and stands or falls with it. DeskDatabaseError if that is not the desk's own database.
        """
        if connection is None:
            with self._engine.begin() as own:
                yield Repository(own, actor, self._clock())
            return
        self._must_be_here(connection)
        yield Repository(connection, actor, self._clock())

    @contextmanager
    def reading(self) -> Iterator[Repository]:
        """For what only looks, on the desk's own behalf: it waits for nobody, and must not write."""
        with self._reader.begin() as connection:
            yield Repository(connection, SYSTEM, self._clock())

    def order(self, order_id: str) -> Order | None:
        """The order of that id as it is now, for the desk's own decisions: it waits for nobody and leaves no line."""
        with self.reading() as repository:
            return repository.order(order_id)

    def audit(self, *, subject: str | None = None, limit: int = 100) -> tuple[AuditEntry, ...]:
        """The newest lines of the audit, oldest of them first, of one subject such as `order:24601` or of all."""
        with self.transaction(SYSTEM) as repository:
            return repository.entries(subject=subject, limit=limit)

    def close(self) -> None:
        """Give the connections back; the desk can't be used any more."""
        self._engine.dispose()

    def _must_be_here(self, connection: sa.Connection) -> None:
        found = place_of(connection)
        if found != self._place and connection.dialect.name == "postgresql" == self._engine.dialect.name:
            # the server may have been started anew since the desk was opened
            with self._reader.begin() as own:
                self._place = place_of(own)
        if found != self._place or not any(found):
            raise DeskDatabaseError(
                f"The journal is not kept in the desk's database, {self.url}, so nothing can be changed; open it there:"
                " agent.open(desk.journal_url)"
            )

    def __enter__(self) -> Desk:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def open_database(url: str = DEFAULT_URL, *, seed: bool = True, clock: Callable[[], datetime] = _utc_now) -> Desk:
    """Open the desk's database, and make or update its tables where needed.

    `url`: `sqlite:///desk.db` (relative), `sqlite:////var/lib/desk.db` (absolute), `sqlite://` (in memory), or
    `postgresql://user:password@host/name`. `seed` fills a desk that has no customers and no orders with the lesson's.
    `clock` gives the aware time of audit lines.

    Raises DeskDatabaseError: not a database, read-only, unreachable, not of a supported kind; DeskVersionError: its
    tables were made by a newer Turnkeeper. No text of theirs holds the password.
    """
    parsed = read_url(url)
    engine = _engine_for(parsed)
    try:
        with engine.begin() as connection:
            bring_up_to_date(connection, shown(parsed))
            repository = Repository(connection, SYSTEM, clock())
            repository.probe()
            if seed and repository.is_empty():
                customers, orders = lesson()
                repository.add(customers, orders)
                repository.note("seed", "desk", "seeded", f"{len(customers)} customers, {len(orders)} orders")
            place = place_of(connection)
    except sa.exc.DBAPIError as error:
        engine.dispose()
        raise trouble(parsed, error) from None  # the driver's own error may hold the connection string
    except BaseException:
        engine.dispose()
        raise
    return Desk(engine, place, clock)


def _engine_for(url: sa.URL) -> sa.Engine:
    try:
        if url.get_backend_name() == "postgresql":
            return _postgresql(url)
        return _sqlite(url)
    except ImportError:
        raise DeskDatabaseError(
            f"{shown(url)} needs a driver that is not installed; `pip install 'turnkeeper[postgres]'` brings it"
        ) from None
    except (sa.exc.ArgumentError, TypeError, ValueError):
        raise DeskDatabaseError(f"{shown(url)} has an option that the driver doesn't know") from None


def _postgresql(url: sa.URL) -> sa.Engine:
    waiting: dict[str, Any] = {} if "connect_timeout" in url.query else {"connect_timeout": _CONNECT_SECONDS}
    # read committed, whatever the server's default: a conditional UPDATE that waited then sees what the winner wrote
    return sa.create_engine(url, pool_pre_ping=True, isolation_level="READ COMMITTED", connect_args=waiting)


def _sqlite(url: sa.URL) -> sa.Engine:
    options: dict[str, Any] = {"connect_args": {"timeout": _BUSY_SECONDS, "check_same_thread": False}}
    if url.database in (None, "", ":memory:"):
        # an in-memory database is its connection: one, lent to one thread at a time
        options |= {"poolclass": sa.pool.QueuePool, "pool_size": 1, "max_overflow": 0}
    elif url.query.get("uri") != "true":
        url = url.set(database=str(_made_file(Path(url.database), url)))
    engine = sa.create_engine(url, **options)
    sa.event.listen(engine, "connect", _prepare_sqlite)
    sa.event.listen(engine, "begin", _begin_sqlite)
    return engine


def _made_file(path: Path, url: sa.URL) -> Path:
    """Make the file; its path as it stands wherever the program goes later."""
    try:
        path = path.expanduser().absolute()
        path.parent.mkdir(parents=True, exist_ok=True)
        # personal data: readable for its owner only (SQLite gives its -wal and -shm files the same mode)
        os.close(os.open(path, os.O_RDONLY | os.O_CREAT, 0o600))
    except (OSError, RuntimeError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise DeskDatabaseError(f"{shown(url)} can't be opened: {reason}") from None
    return path


def _prepare_sqlite(connection: Any, _record: object) -> None:
    connection.isolation_level = None  # transactions begin where SQLAlchemy says so, not where the driver guesses
    cursor = connection.cursor()
    try:
        cursor.execute("PRAGMA foreign_keys = ON")
        _keep_a_log(cursor)
        cursor.execute("PRAGMA synchronous = FULL")
    finally:
        cursor.close()


def _keep_a_log(cursor: Any) -> None:
    """Write-ahead logging. While another process is switching to it, SQLite refuses at once, whatever its timeout."""
    deadline = time.monotonic() + _BUSY_SECONDS
    while cursor.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
        try:
            cursor.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError:
            if time.monotonic() > deadline:
                raise
        time.sleep(0.01)  # nothing tells when the other process is done


def _begin_sqlite(connection: sa.Connection) -> None:
    # what is done for somebody writes (the audit), and one that begins by reading could not always go on to write
    connection.exec_driver_sql("BEGIN" if connection.get_execution_options().get(_READS) else "BEGIN IMMEDIATE")
