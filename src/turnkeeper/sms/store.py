"""What must outlast the program besides the conversations: who opted out, what came in, what went out.

The tables live in the journal's own database (`sms_…`). Texts are kept as long as they are needed: that of a message
until it is answered, that of a sending until its outcome is known; the conversation has them anyway.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from turnkeeper.errors import ConfigurationError, JournalError, JournalVersionError
from turnkeeper.sms.channel import Incoming
from turnkeeper.sms.keywords import Keyword

__all__ = ("VERSION", "Received", "Sending", "Store")

VERSION = 1
"""Of the tables. 1: numbers that opted out, messages received, messages sent."""

_READS = "sms_reads"
_LOCK = 0x736D7331  # "sms1": any number, the same for all openers
_metadata = sa.MetaData()
_version = sa.Table("sms_version", _metadata, sa.Column("version", sa.Integer, primary_key=True))
_opted_out = sa.Table(
    "sms_opted_out",
    _metadata,
    sa.Column("number", sa.Text, primary_key=True),
    sa.Column("at", sa.Double, nullable=False),
    sa.Column("why", sa.Text, nullable=False),
)
_received = sa.Table(
    "sms_received",
    _metadata,
    sa.Column("place", sa.BigInteger().with_variant(sa.Integer, "sqlite"), sa.Identity(), primary_key=True),
    sa.Column("id", sa.Text, nullable=False, unique=True),
    sa.Column("number", sa.Text, nullable=False, index=True),
    sa.Column("at", sa.Double, nullable=False),
    sa.Column("keyword", sa.Text, nullable=True),
    sa.Column("text", sa.Text, nullable=True),  # until it is settled
)
sa.Index(
    "sms_received_waiting",
    _received.c.number,
    _received.c.place,
    sqlite_where=_received.c.text.is_not(None),
    postgresql_where=_received.c.text.is_not(None),
)
_sent = sa.Table(
    "sms_sent",
    _metadata,
    sa.Column("key", sa.Text, primary_key=True),
    sa.Column("number", sa.Text, nullable=False, index=True),
    sa.Column("cause", sa.Text, nullable=False, index=True),
    sa.Column("at", sa.Double, nullable=False),
    sa.Column("text", sa.Text, nullable=True),  # until the outcome is known
    sa.Column("carrier_id", sa.Text, nullable=True),
    sa.Column("error", sa.Text, nullable=True),
)
_INSERTS: dict[str, Any] = {"sqlite": sqlite.insert, "postgresql": postgresql.insert}


@dataclass(frozen=True, slots=True)
class Received:
    """A message that waits for its answer; one that is a keyword was acted on, and waits to be confirmed."""

    id: str
    number: str
    text: str
    keyword: str | None


@dataclass(frozen=True, slots=True)
class Sending:
    """A sending that was begun. Without `carrier_id` and `error`, its outcome isn't known yet."""

    key: str
    number: str
    at: float
    carrier_id: str | None
    error: str | None


class Store:
    """The tables of one database. Its methods block; they are called in threads."""

    def __init__(self, url: str, *, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._engine = _engine(url)
        self._reader = self._engine.execution_options(**{_READS: True})
        try:
            with self._engine.begin() as connection:
                if connection.dialect.name == "postgresql":
                    connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_LOCK)))
                self._prepare(connection)
        except sa.exc.DBAPIError as error:
            self._engine.dispose()
            shown = sa.make_url(url).render_as_string(hide_password=True)
            raise JournalError(f"{shown} can't hold the tables for SMS ({type(error.orig).__name__})") from None
        except BaseException:
            self._engine.dispose()
            raise

    def _prepare(self, connection: sa.Connection) -> None:
        if not sa.inspect(connection).has_table("sms_version"):
            _metadata.create_all(connection)
            connection.execute(sa.insert(_version).values(version=VERSION))
        found = connection.execute(sa.select(sa.func.max(_version.c.version))).scalar_one()
        if found != VERSION:
            raise JournalVersionError(
                f"the tables for SMS are of version {found}, and this Turnkeeper knows {VERSION}: upgrade it"
            )

    def close(self) -> None:
        """Give the connections back."""
        self._engine.dispose()

    # ----- opting out ------------------------------------------------------------------------------------------------

    def opt_out(self, number: str, why: str) -> None:
        """From now on nothing is sent to the number."""
        with self._begin() as connection:
            self._opt_out(connection, number, why)

    def _opt_out(self, connection: sa.Connection, number: str, why: str) -> None:
        values = {"number": number, "at": self._clock(), "why": why}
        connection.execute(self._insert(_opted_out).values(values).on_conflict_do_nothing())

    def is_opted_out(self, number: str) -> bool:
        """Whether nothing may be sent to the number."""
        with self._look() as connection:
            found = connection.execute(sa.select(_opted_out.c.at).where(_opted_out.c.number == number))
            return found.one_or_none() is not None

    # ----- what came in ----------------------------------------------------------------------------------------------

    def receive(
        self, message: Incoming, *, keyword: Keyword | None, settled: bool, most: int, within: float
    ) -> Literal["new", "duplicate", "too_many"]:
        """Keep a message, and act on a keyword in the same transaction: `new`, or `duplicate`, which changes nothing.

        `too_many`: the number has sent `most` within so many seconds. Such a message is settled, as are those that
        nothing has to follow (`settled`): it is remembered, so that a second delivery of it is a duplicate. A STOP
        settles what the number waits for.
        """
        now = self._clock()
        with self._begin() as connection:
            recent = sa.select(sa.func.count()).where(
                _received.c.number == message.number, _received.c.at > now - within
            )
            too_many = connection.execute(recent).scalar_one() >= most
            values = {
                "id": message.id,
                "number": message.number,
                "at": now,
                "keyword": keyword,
                "text": None if too_many or settled else _storable(message.text),
            }
            added = connection.execute(
                self._insert(_received)
                .values(values)
                .on_conflict_do_nothing(index_elements=[_received.c.id])
                .returning(_received.c.place)
            ).one_or_none()
            if added is None:
                return "duplicate"
            if keyword is Keyword.STOP:
                self._opt_out(connection, message.number, "asked to")
                earlier = (_received.c.number == message.number, _received.c.place < added.place)
                connection.execute(sa.update(_received).where(*earlier).values(text=None))
            elif keyword is Keyword.START:
                connection.execute(sa.delete(_opted_out).where(_opted_out.c.number == message.number))
            return "too_many" if too_many else "new"

    def settle(self, message_id: str) -> None:
        """The message is dealt with; its text isn't needed any more."""
        with self._begin() as connection:
            connection.execute(sa.update(_received).where(_received.c.id == message_id).values(text=None))

    def waiting(self, number: str | None = None) -> list[Received]:
        """Messages that are not dealt with, of one number or of all, in the order in which they came."""
        columns = (_received.c.id, _received.c.number, _received.c.text, _received.c.keyword)
        chosen = sa.select(*columns).where(_received.c.text.is_not(None))
        if number is not None:
            chosen = chosen.where(_received.c.number == number)
        with self._look() as connection:
            return [Received(*row) for row in connection.execute(chosen.order_by(_received.c.place))]

    def forget(self, number: str) -> int:
        """Take out what came from the number and went to it, but for an opt-out, which must hold; how many rows.

        The carrier's ids of what came stay, with no number and no text: a signed START that somebody has kept must not
        count again. The conversation is another matter: `keeper.journal.erase`. What was not answered yet won't be.
        """
        with self._begin() as connection:
            bare = {"number": "", "keyword": None, "text": None}
            came = connection.execute(sa.update(_received).where(_received.c.number == number).values(bare))
            went = connection.execute(sa.delete(_sent).where(_sent.c.number == number))
            return came.rowcount + went.rowcount

    # ----- what went out ---------------------------------------------------------------------------------------------

    def begin(self, key: str, number: str, text: str, cause: str) -> Sending | None:
        """Write down that a message is about to be sent; gives what is known of that key already, if anything."""
        with self._begin() as connection:
            found = self._sending(connection, key)
            if found is not None and found.error is None:
                return found
            values = {"number": number, "cause": cause, "at": self._clock(), "text": text, "error": None}
            connection.execute(
                self._insert(_sent)
                .values(key=key, **values)
                .on_conflict_do_update(index_elements=[_sent.c.key], set_=values)
            )
            return None

    def sending(self, key: str) -> Sending | None:
        """What is known of a sending."""
        with self._look() as connection:
            return self._sending(connection, key)

    def finish(self, key: str, *, carrier_id: str | None = None, error: str | None = None) -> None:
        """Write the outcome down: the carrier's id, or why it was not sent."""
        with self._begin() as connection:
            connection.execute(
                sa.update(_sent).where(_sent.c.key == key).values(carrier_id=carrier_id, error=error, text=None)
            )

    def known_ids(self, number: str, *, since: float) -> set[str]:
        """The carrier's ids of what is known to have been sent to the number since then."""
        chosen = sa.select(_sent.c.carrier_id).where(
            _sent.c.number == number, _sent.c.carrier_id.is_not(None), _sent.c.at >= since
        )
        with self._look() as connection:
            return set(connection.execute(chosen).scalars())

    def count_sent(self, cause: str, *, besides: str = "") -> int:
        """How many messages one message has caused, those of unknown outcome included."""
        chosen = sa.select(sa.func.count()).where(
            _sent.c.cause == cause, _sent.c.error.is_(None), _sent.c.key != besides
        )
        with self._look() as connection:
            return connection.execute(chosen).scalar_one()

    def _sending(self, connection: sa.Connection, key: str) -> Sending | None:
        columns = (_sent.c.key, _sent.c.number, _sent.c.at, _sent.c.carrier_id, _sent.c.error)
        row = connection.execute(sa.select(*columns).where(_sent.c.key == key)).one_or_none()
        return None if row is None else Sending(*row)

    def _insert(self, table: sa.Table) -> Any:
        return _INSERTS[self._engine.dialect.name](table)

    @contextlib.contextmanager
    def _begin(self) -> Iterator[sa.Connection]:
        with self._engine.begin() as connection:
            yield connection

    @contextlib.contextmanager
    def _look(self) -> Iterator[sa.Connection]:
        """A transaction that only reads: on SQLite it waits for no writer."""
        with self._reader.begin() as connection:
            yield connection


def _storable(text: str) -> str:
    """PostgreSQL takes no NUL, and no database a lone surrogate."""
    return text.encode("utf-8", "replace").decode().replace("\x00", "\ufffd")


_EXAMPLES = "A file is sqlite:///sms.db; PostgreSQL is postgresql+psycopg://user@host/name; memory: keeps nothing."


def _engine(url: str) -> sa.Engine:
    """An engine for the URL. ConfigurationError, which repeats none of it that could be secret, for what is none."""
    if url == "memory:":
        url = "sqlite://"
    try:
        parsed = sa.make_url(url)
    except (sa.exc.ArgumentError, ValueError):
        raise ConfigurationError(f"that is no URL of a database for SMS. {_EXAMPLES}") from None
    if parsed.drivername in ("postgresql", "postgres", "postgresql+psycopg"):
        return sa.create_engine(parsed.set(drivername="postgresql+psycopg"), pool_pre_ping=True)
    if parsed.drivername not in ("sqlite", "sqlite+pysqlite"):
        raise ConfigurationError(f"SMS can't be kept in {parsed.drivername}. {_EXAMPLES}")
    if (parsed.database or "").startswith("~"):  # the same file as the journal's, which is written so
        parsed = parsed.set(database=str(Path(str(parsed.database)).expanduser()))
    options: dict[str, Any] = {"connect_args": {"timeout": 30, "check_same_thread": False}}
    if parsed.database in (None, "", ":memory:"):
        options |= {"poolclass": sa.pool.QueuePool, "pool_size": 1, "max_overflow": 0}
    engine = sa.create_engine(parsed, **options)
    sa.event.listen(engine, "connect", _prepare_sqlite)
    sa.event.listen(engine, "begin", _begin_sqlite)
    return engine


def _prepare_sqlite(connection: Any, _record: object) -> None:
    connection.isolation_level = None
    cursor = connection.cursor()
    try:
        cursor.execute("PRAGMA synchronous = FULL")
    finally:
        cursor.close()


def _begin_sqlite(connection: sa.Connection) -> None:
    connection.exec_driver_sql("BEGIN" if connection.get_execution_options().get(_READS) else "BEGIN IMMEDIATE")
