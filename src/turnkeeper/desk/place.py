"""Which database a connection leads to, whatever its URL is spelled like; and a URL that is not for showing."""

from __future__ import annotations

import os

import sqlalchemy as sa

__all__ = ("PrivateURL", "place_of")

_POSTGRESQL = """
SELECT current_database(), CAST(CAST(to_regclass('desk_orders') AS oid) AS text),
       CAST(pg_postmaster_start_time() AS text)
"""


class PrivateURL(str):
    """A URL with a password, which its repr doesn't show: tracebacks, logs and debuggers print those."""

    __slots__ = ()

    def __repr__(self) -> str:
        return repr(sa.make_url(self).render_as_string(hide_password=True))


def place_of(connection: sa.Connection) -> tuple[str, ...]:
    """What two connections have in common if, and only if, they see the same desk.

    The file on SQLite, an empty text for one in memory; database, table and start of the server on PostgreSQL.
    """
    if connection.dialect.name == "sqlite":
        files = connection.exec_driver_sql("PRAGMA database_list").all()
        path = next((str(row[2]) for row in files if row[1] == "main"), "")
        return (os.path.realpath(path) if path else "",)
    return tuple(str(value) for value in connection.exec_driver_sql(_POSTGRESQL).one())
