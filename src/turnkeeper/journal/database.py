"""One open database: its engine, and transactions that are run whole, once more after a lost connection, or not at all.

Everything here blocks, and is called in worker threads.
"""

from __future__ import annotations

import contextlib
import sqlite3
import threading
import time
from collections.abc import Callable
from typing import Any, TypeVar

import sqlalchemy as sa

from turnkeeper.errors import JournalError
from turnkeeper.journal.errors import JournalLockedError, JournalURLError
from turnkeeper.journal.trouble import meaning
from turnkeeper.journal.urls import PATIENCE, patience_of, shown

__all__ = ("Database",)

_T = TypeVar("_T")
_OLDEST_SQLITE = (3, 35)  # RETURNING
_BEGIN = "turnkeeper_begin"

# Durable on return and bounded waits, whatever the server's defaults are; what the URL sets stays.
_SESSION = """
SELECT set_config('synchronous_commit', CASE current_setting('synchronous_commit') WHEN 'off' THEN 'on'
                  ELSE current_setting('synchronous_commit') END, false),
       set_config('lock_timeout', CASE current_setting('lock_timeout') WHEN '0' THEN '10s'
                  ELSE current_setting('lock_timeout') END, false)
"""


class Database:
    """The engine of one journal. Methods are safe to call from many threads.

    SQLite takes one writer at a time. Writers of this process queue here, in order, instead of polling the file; other
    processes are waited for by SQLite itself. Writing begins with `BEGIN IMMEDIATE`: a transaction that reads first
    and then wants to write could be refused in the middle.
    """

    def __init__(self, url: sa.URL) -> None:
        self.url = url
        self.kind = url.get_backend_name()
        self._closed = False
        self._running = 0
        self._idle = threading.Condition()
        try:
            if self.kind == "sqlite":
                self._patience = patience_of(url)
                self._engine = _sqlite(url, self._patience)
                self._writing: threading.Lock | None = threading.Lock()
            else:
                self._patience = PATIENCE
                self._engine = _postgresql(url)
                self._writing = None
        except ImportError:
            raise JournalURLError(
                f"{shown(url)} needs a driver that is not installed: pip install 'turnkeeper[postgres]'"
            ) from None
        except (sa.exc.ArgumentError, TypeError, ValueError):
            raise JournalURLError(f"{shown(url)} has an option that can't be used") from None
        self._errors: type[Exception] = self._engine.dialect.loaded_dbapi.Error
        self._writer = self._engine.execution_options(**{_BEGIN: "BEGIN IMMEDIATE"})
        # one state of the journal for all statements of a reading, as SQLite has it anyway
        one_state = {} if self.kind == "sqlite" else {"isolation_level": "REPEATABLE READ"}
        self._reader = self._engine.execution_options(**one_state)

    def read(self, work: Callable[[sa.Connection, bool], _T], doing: str) -> _T:
        """Run `work` in a transaction that only reads; it sees one state of the journal."""
        return self._run(self._reader, work, doing)

    def write(self, work: Callable[[sa.Connection, bool], _T], doing: str) -> _T:
        """Run `work` in a transaction and commit it; durable on return. `doing` completes "could not …" in errors.

        Where the connection breaks, `work` runs a second time on a new one, and is told so (`again`): before, it has
        changed nothing, or all of it was committed and only the answer was lost. JournalError and its subclasses.
        """
        self._wait_to_write(doing)
        try:
            return self._run(self._writer, work, doing)
        finally:
            self._done_writing()

    def write_direct(
        self,
        step: Callable[[Any, sa.Dialect], _T | None],
        work: Callable[[sa.Connection, bool], _T],
        doing: str,
    ) -> _T:
        """Do with a cursor of the driver's own what `write` would do with `work`, at half of what a write costs here.

        Where `step` returns None it is rolled back, and where the connection breaks under it it is not tried again:
        `work` is run then, as by `write`, and told whether `step` may have been committed. A `step` of a single
        statement may switch psycopg's `autocommit` on, which saves two ways to the server and back.
        """

        def run() -> _T:
            lost = False
            connection = self._checked_out(doing)
            try:
                cursor = connection.cursor()
                if self.kind == "sqlite":
                    cursor.execute("BEGIN IMMEDIATE")
                done = step(cursor, self._engine.dialect)
                if done is not None:
                    connection.commit()
                else:
                    connection.rollback()
                if self.kind == "postgresql" and cursor.connection.autocommit:
                    cursor.connection.autocommit = False
                if done is not None:
                    return done
            except self._errors as error:
                lost = self._is_lost(connection, error)
                if not lost:
                    raise meaning(self.url, doing, sa.exc.DBAPIError(None, None, error)) from None
            finally:
                connection.close()  # back into the pool, which rolls back what is open
            return self._run_twice(self._writer, work, doing, second=lost)

        self._wait_to_write(doing)
        try:
            return self._counted(run, doing)
        finally:
            self._done_writing()

    def _checked_out(self, doing: str) -> sa.PoolProxiedConnection:
        try:
            return self._engine.raw_connection()
        except sa.exc.DBAPIError as error:
            raise meaning(self.url, doing, error) from None
        except sa.exc.TimeoutError:
            raise self._exhausted(doing) from None

    def _is_lost(self, connection: sa.PoolProxiedConnection, error: Any) -> bool:
        """Whether the error means that the connection is gone; then those of the pool are given up with it.

        Else it goes back to the pool as it was.
        """
        driver: Any = connection.driver_connection
        if self._engine.dialect.is_disconnect(error, driver, None):
            connection.invalidate(error)
            self._engine.dispose()
            return True
        if self.kind == "postgresql" and driver.autocommit:
            driver.autocommit = False
        return False

    def _wait_to_write(self, doing: str) -> None:
        if self._writing is not None and not self._writing.acquire(timeout=self._patience):
            raise JournalLockedError(
                f"The journal {shown(self.url)} could not {doing}: other writers were before it for "
                f"{self._patience:g} seconds. Try again; nothing was written"
            )

    def _done_writing(self) -> None:
        if self._writing is not None:
            self._writing.release()

    def _run(self, engine: sa.Engine, work: Callable[[sa.Connection, bool], _T], doing: str) -> _T:
        return self._counted(lambda: self._run_twice(engine, work, doing), doing)

    def _counted(self, run: Callable[[], _T], doing: str) -> _T:
        """Run it unless the database is closed; `close` waits for it."""
        with self._idle:
            if self._closed:
                raise JournalError(f"The journal {shown(self.url)} could not {doing}: it is closed")
            self._running += 1
        try:
            return run()
        finally:
            with self._idle:
                self._running -= 1
                self._idle.notify_all()

    def _run_twice(
        self, engine: sa.Engine, work: Callable[[sa.Connection, bool], _T], doing: str, *, second: bool = False
    ) -> _T:
        for again in (True,) if second else (False, True):
            try:
                with engine.begin() as connection:
                    return work(connection, again)
            except sa.exc.DBAPIError as error:
                if not error.connection_invalidated or again:
                    raise meaning(self.url, doing, error) from None  # its own text may hold what is secret
            except sa.exc.TimeoutError:
                raise self._exhausted(doing) from None
        raise AssertionError("the second run returns or raises")

    def _exhausted(self, doing: str) -> JournalLockedError:
        return JournalLockedError(
            f"The journal {shown(self.url)} could not {doing}: all its connections are in use. Try again"
        )

    def begin(self, doing: str) -> sa.Connection:
        """Open a transaction that writes and leave it open, for `finish` or `undo` to end; also from other threads."""
        if self._closed:
            raise JournalError(f"The journal {shown(self.url)} could not {doing}: it is closed")
        self._wait_to_write(doing)
        try:
            return self._begun()
        except sa.exc.DBAPIError as error:
            self._done_writing()
            raise meaning(self.url, doing, error) from None
        except BaseException:
            self._done_writing()
            raise

    def _begun(self) -> sa.Connection:
        for again in (False, True):
            connection = self._writer.connect()
            try:
                connection.begin()
                if self.kind != "sqlite":
                    # begins in truth, and finds a connection that broke while it lay idle before a tool does
                    connection.exec_driver_sql("SELECT 1")
                return connection
            except sa.exc.DBAPIError as error:
                connection.close()
                if not error.connection_invalidated or again:
                    raise
            except BaseException:
                connection.close()
                raise
        raise AssertionError("the second run returns or raises")

    def takes_more(self, connection: sa.Connection) -> bool:
        """Whether the transaction that `begin` opened is not lost to a statement that failed in it."""
        if self.kind == "sqlite":
            return True
        try:
            connection.exec_driver_sql("SELECT 1")
        except sa.exc.SQLAlchemyError:
            return False
        return True

    def finish(self, connection: sa.Connection, work: Callable[[sa.Connection], _T], doing: str) -> _T:
        """Run `work` in the transaction that `begin` opened, and commit it; durable on return."""
        try:
            with connection:
                result = work(connection)
                connection.commit()
                return result
        except sa.exc.DBAPIError as error:
            raise meaning(self.url, doing, error) from None
        finally:
            self._done_writing()

    def undo(self, connection: sa.Connection, *, still_used: bool) -> None:
        """Roll back what `begin` opened. `still_used`: a thread left behind may use the connection: it is closed."""
        try:
            with contextlib.suppress(sa.exc.DBAPIError), connection:
                if still_used:
                    connection.invalidate()
                else:
                    connection.rollback()
        finally:
            self._done_writing()

    def keep_a_log(self) -> None:
        """Switch a SQLite file to write-ahead logging, for good: readers and a writer don't shut each other out."""
        if self.kind != "sqlite":
            return
        bare = self._engine.execution_options(**{_BEGIN: ""})
        deadline = time.monotonic() + self._patience
        while True:
            try:
                with bare.connect() as connection:
                    if connection.exec_driver_sql("PRAGMA journal_mode").scalar_one() != "wal":
                        connection.exec_driver_sql("PRAGMA journal_mode = WAL")
                    return
            except sa.exc.DBAPIError as error:
                problem = meaning(self.url, "be opened", error)
                if not isinstance(problem, JournalLockedError) or time.monotonic() > deadline:
                    raise problem from None
            # where another process is just switching it, SQLite refuses at once, whatever its timeout; nothing
            # tells when it is done
            time.sleep(0.01)

    def empty_log(self) -> None:
        """Move what is in SQLite's -wal file into the database and empty it, unless a reader still needs it."""
        if self.kind == "sqlite":
            bare = self._engine.execution_options(**{_BEGIN: ""})
            with contextlib.suppress(sa.exc.DBAPIError), bare.connect() as connection:
                connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")

    def close(self) -> None:
        """Close the connections when what runs has ended. SQLite empties the -wal file into the database then."""
        with self._idle:
            self._closed = True
            self._idle.wait_for(lambda: self._running == 0)
        self._engine.dispose()


def _postgresql(url: sa.URL) -> sa.Engine:
    options: dict[str, Any] = {
        "connect_timeout": int(PATIENCE),
        "client_encoding": "utf8",
        # a server that vanished is noticed: a thread that waits for it can't be cancelled
        "tcp_user_timeout": 30_000,
        "keepalives_idle": 15,
        "keepalives_interval": 5,
        "application_name": "turnkeeper",
    }
    given = {name: value for name, value in options.items() if name not in url.query}
    # read committed, whatever the server's default: a conditional UPDATE that waited then sees what the winner wrote
    engine = sa.create_engine(url, isolation_level="READ COMMITTED", hide_parameters=True, connect_args=given)
    sa.event.listen(engine, "connect", _prepare_postgresql)
    return engine


def _prepare_postgresql(connection: Any, _record: object) -> None:
    connection.execute(_SESSION)
    connection.commit()


def _sqlite(url: sa.URL, patience: float) -> sa.Engine:
    if sqlite3.sqlite_version_info < _OLDEST_SQLITE:
        raise JournalURLError("this Python has a SQLite older than 3.35; use a newer Python, or PostgreSQL")
    engine = sa.create_engine(url, hide_parameters=True, connect_args={"timeout": patience, "check_same_thread": False})
    sa.event.listen(engine, "connect", _prepare_sqlite)
    sa.event.listen(engine, "begin", _begin_sqlite)
    return engine


def _prepare_sqlite(connection: Any, _record: object) -> None:
    connection.isolation_level = None  # transactions begin where SQLAlchemy says so, not where the driver guesses
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA secure_delete = ON")  # what is erased is overwritten


def _begin_sqlite(connection: sa.Connection) -> None:
    if begin := connection.get_execution_options().get(_BEGIN, "BEGIN"):
        connection.exec_driver_sql(begin)
