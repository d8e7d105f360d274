"""Bringing the desk's tables to this Turnkeeper's version, inside a transaction that shuts other openers out."""

from __future__ import annotations

import threading
from pathlib import Path

import sqlalchemy as sa

from turnkeeper.desk import schema
from turnkeeper.desk.errors import DeskVersionError

__all__ = ("bring_up_to_date", "version_of")

_ALEMBIC = threading.Lock()  # Alembic keeps the migration that runs in module globals
_LOCK_KEY = 0x6465736B  # "desk": any number will do as long as all openers use the same


def version_of(connection: sa.Connection) -> str | None:
    """The version of the desk's tables, None where there are none."""
    if not sa.inspect(connection).has_table(schema.VERSION_TABLE):
        return None
    number = sa.column("version_num", sa.Text)
    return connection.execute(sa.select(number).select_from(sa.table(schema.VERSION_TABLE))).scalar_one_or_none()


def bring_up_to_date(connection: sa.Connection, name: str) -> None:
    """Create the tables, or apply the revisions they lack. `name` is what the database is called in errors.

    Raises DeskVersionError when a newer Turnkeeper made the tables.
    """
    if connection.dialect.name == "postgresql":
        # held until the transaction ends; on SQLite the transaction itself is such a lock
        connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_LOCK_KEY)))
    version = version_of(connection)
    newest = next(reversed(schema.VERSIONS))
    if version == newest:
        return
    if version is not None and version not in schema.VERSIONS:
        raise DeskVersionError(
            f"{name} has desk tables of version {version!r}; this Turnkeeper knows {newest!r} and older. "
            "Upgrade Turnkeeper, or open another database."
        )
    # loaded only when there is something to do
    from alembic import command  # noqa: PLC0415
    from alembic.config import Config  # noqa: PLC0415

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations").replace("%", "%%"))
    config.attributes["connection"] = connection
    with _ALEMBIC:
        command.upgrade(config, newest)
