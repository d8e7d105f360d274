"""What a database driver's error means for somebody who keeps a journal there: one table per database."""

from __future__ import annotations

import sqlalchemy as sa

from turnkeeper.errors import JournalError
from turnkeeper.journal.errors import (
    JournalDamagedError,
    JournalLockedError,
    JournalReadOnlyError,
    JournalRefusedError,
    JournalStorageError,
    JournalUnreachableError,
    NotAJournalError,
)
from turnkeeper.journal.urls import shown, without_secrets

__all__ = ("meaning",)

_Row = tuple[type[JournalError], str]

_FULL: _Row = (JournalStorageError, "its disk is full. Make room there, then go on; nothing was written")
_MODES = "Look at the modes of the file, its -wal and -shm, and its folder"
_READ_ONLY: _Row = (JournalReadOnlyError, f"it is read-only. {_MODES}")
_LOCKED: _Row = (JournalLockedError, "another program keeps it locked. Try again; nothing was written")
_DAMAGED: _Row = (JournalDamagedError, "the file is damaged. Restore it from a backup")
_NO_SERVER: _Row = (
    JournalUnreachableError,
    "its server can't be reached, or broke the connection off. Try again when it is back",
)
_FAILING: _Row = (
    JournalStorageError,
    "its file can't be written: a full disk, a size limit, or a failing disk. Nothing was written",
)
_NO_TABLES: _Row = (NotAJournalError, "the journal's tables are not there. Name a new place, or restore a backup")
_FOREIGN: _Row = (NotAJournalError, "tables of the journal's names are there, but no journal. Name another place")

_CONTRADICTS: _Row = (
    JournalDamagedError,
    "what is stored contradicts itself, because it was changed outside of Turnkeeper. Restore it from a backup; "
    "nothing was written",
)

_SQLITE: dict[str, _Row] = {
    "SQLITE_BUSY": _LOCKED,
    "SQLITE_LOCKED": _LOCKED,
    "SQLITE_FULL": _FULL,
    "SQLITE_READONLY": _READ_ONLY,
    "SQLITE_PERM": _READ_ONLY,
    "SQLITE_IOERR": _FAILING,
    "SQLITE_CORRUPT": _DAMAGED,
    "SQLITE_NOTADB": (NotAJournalError, "it is not a SQLite database. Move the file away, or name another one"),
    "SQLITE_CANTOPEN": (
        JournalReadOnlyError,
        f"it can't be opened, or not written. {_MODES}",
    ),
    "SQLITE_CONSTRAINT": _CONTRADICTS,
    "SQLITE_TOOBIG": (JournalStorageError, "an event is larger than SQLite can keep (about a billion bytes)"),
}
"""By the name of the primary result code: sqlite.org/rescode.html."""

_POSTGRESQL: dict[str, _Row] = {
    "53100": _FULL,
    "58030": (JournalStorageError, "its server can't read or write its files. Look at the server's log"),
    "53300": (JournalUnreachableError, "its server has no connection free. Try again later"),
    "53400": (JournalStorageError, "its server is at a limit. Look at the server's settings"),
    "55P03": _LOCKED,
    "40P01": _LOCKED,
    "40001": _LOCKED,
    "25006": (JournalReadOnlyError, "its server is read-only (a replica?). Use the server that takes writes"),
    "42501": (JournalRefusedError, "this user lacks a right there. Grant it, or use another user"),
    "28P01": (JournalRefusedError, "its server refused the user name or the password"),
    "28000": (JournalRefusedError, "its server refused this user"),
    "3D000": (JournalRefusedError, "its server has no database of that name. Create it first"),
    "3F000": (JournalRefusedError, "its database has no schema to create tables in. Look at the search_path"),
    "22P05": (JournalRefusedError, "its database can't hold all characters. Use one created with ENCODING 'UTF8'"),
    "22021": (JournalRefusedError, "its database can't hold all characters. Use one created with ENCODING 'UTF8'"),
    "23505": _CONTRADICTS,
    "23503": _CONTRADICTS,
    "42P01": _NO_TABLES,
    "42703": _NO_TABLES,
    "42P07": _FOREIGN,
}
"""By SQLSTATE: PostgreSQL's manual, appendix A. Class 08 and 57P0x mean that the server is gone."""

_PHRASES: tuple[tuple[str, _Row], ...] = (
    ("no such table", _NO_TABLES),
    ("no such column", _NO_TABLES),
    ("already exists", _FOREIGN),
    ("Could not decode to UTF-8", _DAMAGED),
    ("password authentication failed", _POSTGRESQL["28P01"]),
    ("no password supplied", _POSTGRESQL["28P01"]),
    ("does not exist", _POSTGRESQL["3D000"]),
)
"""Where the driver gives no code: connecting to PostgreSQL, and SQLite's general error."""


def meaning(url: sa.URL, doing: str, error: sa.exc.DBAPIError) -> JournalError:
    """The error to raise instead: what was being done, where, what is wrong, what to do."""
    kind, words = _row(url, error)
    said = without_secrets(str(error.orig), url)
    return kind(f"The journal {shown(url)} could not {doing}: {words}. ({said})")


def _row(url: sa.URL, error: sa.exc.DBAPIError) -> _Row:
    cause = error.orig
    text = str(cause)
    name = getattr(cause, "sqlite_errorname", None) or ""
    for known, row in _SQLITE.items():
        # an extended code begins with the primary one: SQLITE_IOERR_WRITE
        if name == known or name.startswith(known + "_"):
            return row
    state = getattr(cause, "sqlstate", None) or ""
    if state in _POSTGRESQL:
        return _POSTGRESQL[state]
    if state.startswith(("08", "57P0")):
        return _NO_SERVER
    if state.startswith("XX"):
        return (JournalDamagedError, "its server reports damaged data. Look at the server's log")
    for phrase, row in _PHRASES:
        if phrase in text:
            return row
    if error.connection_invalidated or (url.get_backend_name() == "postgresql" and not state):
        return _NO_SERVER
    return (JournalError, "the database reports an error")
