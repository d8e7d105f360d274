"""URLs of journals: read, completed, and shown without what is secret."""

from __future__ import annotations

import contextlib
import errno
import os
from pathlib import Path
from urllib.parse import unquote, urlsplit

import sqlalchemy as sa

from turnkeeper.errors import JournalError
from turnkeeper.journal.errors import JournalReadOnlyError, JournalStorageError, JournalURLError, NotAJournalError

__all__ = ("PATIENCE", "file_of", "is_uri_file", "patience_of", "prepared", "shown", "without_secrets")

PATIENCE = 10.0
"""Seconds to wait for a lock of another program, and for a server to answer; `?timeout=` sets SQLite's."""

_LONGEST = 86_400.0
_SAFE_OPTIONS = frozenset(
    {"sslmode", "connect_timeout", "application_name", "mode", "uri", "target_session_attrs", "timeout", "host", "port"}
)
_SQLITE_OPTIONS = frozenset({"timeout", "uri", "cached_statements"})
_EXAMPLES = (
    "A file is sqlite:///turnkeeper.db; PostgreSQL is postgresql+psycopg://user@host/name; memory: keeps nothing."
)

_MODES = (JournalReadOnlyError, "Look at the modes of the file and of its folder")
_ROOM = (JournalStorageError, "Make room there")
_OPENING: dict[int | None, tuple[type[JournalError], str]] = {
    errno.EACCES: _MODES,
    errno.EPERM: _MODES,
    errno.EROFS: _MODES,
    errno.ENOSPC: _ROOM,
    errno.EDQUOT: _ROOM,
}


def prepared(text: str) -> sa.URL:
    """Read the URL; for a file, expand `~`, and make it and its folders where they are missing.

    Raises JournalURLError, and for a file NotAJournalError, JournalReadOnlyError, JournalStorageError; none of them
    repeats a password.
    """
    _check_text(text)
    try:
        url = sa.make_url(text)
    except (sa.exc.ArgumentError, ValueError):
        raise JournalURLError(f"That is not the URL of a journal. {_EXAMPLES}") from None
    if url.drivername in ("postgresql", "postgres", "postgresql+psycopg"):
        return url.set(drivername="postgresql+psycopg")
    if url.drivername in ("sqlite", "sqlite+pysqlite"):
        return _file(url)
    raise JournalURLError(f"A journal can't be kept in {url.drivername}. {_EXAMPLES}")


def _check_text(text: str) -> None:
    """Refuse bytes that are no UTF-8, as a command line or a home folder may hold: databases can't be told them."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise JournalURLError(
            f"The journal's URL holds bytes that are no UTF-8 text (character {error.start + 1}). Name another place."
        ) from None


def patience_of(url: sa.URL) -> float:
    """Seconds to wait for a lock of another program: `?timeout=`, where SQLite is concerned."""
    given = url.query.get("timeout", str(PATIENCE))
    try:
        return min(max(0.0, float(str(given))), _LONGEST)
    except ValueError:
        raise JournalURLError(f"{shown(url)} has a timeout that is no number of seconds") from None


def is_uri_file(url: sa.URL) -> bool:
    """Whether a SQLite URL hands SQLite a `file:` URI of its own (`?uri=true`)."""
    return str(url.query.get("uri", "")).lower() in ("true", "1", "yes", "on")


def _file(url: sa.URL) -> sa.URL:
    if url.host or url.database in (None, "", ":memory:"):
        raise JournalURLError(
            f"{shown(url)} names no file. A relative path has three slashes, sqlite:///turnkeeper.db, an absolute one "
            "four, sqlite:////var/lib/turnkeeper.db. For a journal that is gone with the program use memory:"
        )
    if is_uri_file(url):
        _make_private(url)
        return url
    if unknown := sorted(set(url.query) - _SQLITE_OPTIONS):
        raise JournalURLError(f"{shown(url)} has the option {unknown[0]!r}, which SQLite doesn't know")
    patience_of(url)
    try:
        path = Path(url.database).expanduser()
        _check_text(str(path))
        path.parent.mkdir(parents=True, exist_ok=True)
        # personal data: readable for its owner only (SQLite gives its -wal and -shm files the same mode)
        os.close(os.open(path, os.O_RDONLY | os.O_CREAT, 0o600))
    except (OSError, RuntimeError, ValueError) as error:
        number = error.errno if isinstance(error, OSError) else None
        kind, advice = _OPENING.get(number, (NotAJournalError, "Name another place"))
        reason = error.strerror if isinstance(error, OSError) else error
        raise kind(f"The journal {shown(url)} can't be opened: {reason}. {advice}.") from None
    return url.set(database=str(path))


def _make_private(url: sa.URL) -> None:
    """Make the file of a `file:` URI, where SQLite would make it, for its owner only; SQLite itself says what is wrong.

    sqlite.org/uri.html: the path ends at `?`, percent escapes stand for bytes, the mode `rwc` makes what is missing.
    """
    path = file_of(url)
    makes = str(url.query.get("mode", "rwc")) == "rwc" and not url.query.get("immutable")
    if path is not None and makes and (url.query.get("vfs") is None):
        with contextlib.suppress(OSError, ValueError):
            os.close(os.open(path, os.O_RDONLY | os.O_CREAT, 0o600))


def file_of(url: sa.URL) -> Path | None:
    """The file that a SQLite URL names; None for a server, for memory, and for what can't be told."""
    name = url.database
    if url.get_backend_name() != "sqlite" or not name or ":memory:" in name or url.query.get("mode") == "memory":
        return None
    if is_uri_file(url):
        parts = urlsplit(name)
        if parts.scheme != "file" or parts.netloc not in ("", "localhost"):
            return None
        name = unquote(parts.path)
    try:
        return Path(name).expanduser()
    except (RuntimeError, ValueError):
        return None


def shown(url: sa.URL) -> str:
    """The URL without what could be secret: the password, and all options but a few harmless ones."""
    safe = {name: value for name, value in url.query.items() if name in _SAFE_OPTIONS}
    return url.set(query=safe).set(drivername=url.get_backend_name()).render_as_string(hide_password=True)


def without_secrets(text: str, url: sa.URL) -> str:
    """The first line of a driver's message with the URL's password and odd options masked."""
    line = next(iter(text.splitlines()), "").strip() or "the driver gives no reason"
    secrets = [str(url.password or "")]
    for name, value in url.query.items():
        if name not in _SAFE_OPTIONS:
            secrets.extend([value] if isinstance(value, str) else value)
    for secret in sorted(filter(None, secrets), key=len, reverse=True):
        line = line.replace(secret, "***")
    return line
