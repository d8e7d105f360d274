"""Bringing a database's tables to this Turnkeeper's version; nothing is loaded or locked when they are there."""

from __future__ import annotations

import threading
from pathlib import Path

import sqlalchemy as sa

from turnkeeper.errors import JournalVersionError
from turnkeeper.journal import schema
from turnkeeper.journal.database import Database
from turnkeeper.journal.errors import JournalRefusedError, NotAJournalError
from turnkeeper.journal.urls import shown

__all__ = ("NEWEST", "bring_up_to_date")

NEWEST = next(reversed(schema.VERSIONS))
"""The version of the tables that this Turnkeeper makes and needs."""

_ALEMBIC = threading.Lock()  # Alembic keeps the migration that runs in module globals
_LOCK_KEY = 0x7475726E  # "turn": any number will do as long as all openers use the same
_number = sa.Column("version_num", sa.String(32), nullable=False)
_version = sa.Table(
    schema.VERSION_TABLE, sa.MetaData(), _number, sa.PrimaryKeyConstraint(_number, name=f"{schema.VERSION_TABLE}_pkc")
)


def bring_up_to_date(database: Database) -> None:
    """Create the tables, or apply the revisions they lack.

    Raises JournalVersionError when a newer Turnkeeper made them, NotAJournalError when another program did.
    """
    found = database.read(lambda connection, _: _version_of(connection), "be opened")
    if found != NEWEST:
        database.write(lambda connection, _: _upgrade(connection, shown(database.url)), "make its tables")


def _version_of(connection: sa.Connection) -> str | None:
    if not sa.inspect(connection).has_table(schema.VERSION_TABLE):
        return None
    return connection.execute(sa.select(_number)).scalar_one_or_none()


def _upgrade(connection: sa.Connection, name: str) -> None:
    postgresql = connection.dialect.name == "postgresql"
    if postgresql:
        # held until the transaction ends; on SQLite the transaction itself is such a lock
        connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_LOCK_KEY)))
    version = _version_of(connection)
    if version == NEWEST:
        return
    if version is None:
        if postgresql:
            _check_encoding(connection, name)
        _create(connection, name)
        return
    if version not in schema.VERSIONS:
        raise JournalVersionError(
            f"The journal {name} has tables of version {version!r}; this Turnkeeper knows {NEWEST!r} and older. "
            "Upgrade Turnkeeper, or open another journal."
        )
    # loaded only when there is something to do
    from alembic import command  # noqa: PLC0415
    from alembic.config import Config  # noqa: PLC0415

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations").replace("%", "%%"))
    config.attributes["connection"] = connection
    with _ALEMBIC:
        command.upgrade(config, NEWEST)


def _create(connection: sa.Connection, name: str) -> None:
    """Make all tables at once: the sum of the revisions, without loading Alembic."""
    there = set(sa.inspect(connection).get_table_names())
    if taken := sorted(there & set(schema.metadata.tables)):
        raise NotAJournalError(
            f"{name} has a table {taken[0]} that is not a journal's. Name another place, or move the table away."
        )
    schema.metadata.create_all(connection, checkfirst=False)
    _version.create(connection)
    connection.execute(_version.insert().values(version_num=NEWEST))


def _check_encoding(connection: sa.Connection, name: str) -> None:
    encoding = connection.exec_driver_sql("SHOW server_encoding").scalar_one()
    if encoding != "UTF8":
        raise JournalRefusedError(
            f"{name} keeps text as {encoding}, which can't hold all characters. Use a database created with ENCODING "
            "'UTF8'."
        )
