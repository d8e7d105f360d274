"""URLs of databases, and what went wrong with one, in words that are safe to show."""

from __future__ import annotations

import sqlalchemy as sa

from turnkeeper.desk.errors import DeskDatabaseError

__all__ = ("read_url", "shown", "trouble")

_SAFE_OPTIONS = frozenset({"sslmode", "connect_timeout", "application_name", "target_session_attrs"})
_POSTGRESQL = ("postgresql", "postgres")

# SQLSTATE codes: PostgreSQL's manual, appendix A
_STATES = {
    "25006": "is read-only; the desk needs a database that it can write to",
    "42501": "doesn't let this user create or use the desk's tables; grant it the right, or use another user",
    "28P01": "refused the user name or the password",
    "28000": "refused this user",
    "3D000": "has no database of that name; create it first",
    "42P01": "lacks some of the desk's tables; restore it from a copy, or name another one",
    "53300": "has no connection free; try again later",
}
_PHRASES = (
    ("file is not a database", "is not a SQLite database; move the file away, or name another one"),
    ("malformed", "is a damaged SQLite database; restore it from a copy, or name another one"),
    ("readonly", "is read-only; the desk needs a database that it can write to"),
    ("read-only", "is read-only; the desk needs a database that it can write to"),
    ("no such table", "lacks some of the desk's tables; restore it from a copy, or name another one"),
    ("locked", "is in use by another program that doesn't let go of it; try again when that is done"),
    ("unable to open", "can't be opened; look at the path and who may read it"),
    ("disk is full", "can't be written: the disk is full"),
    ("password authentication failed", "refused the user name or the password"),
    ("does not exist", "has no such database or user; create it first"),
)


def read_url(text: str) -> sa.URL:
    """Read the URL of a database that the desk can use. Raises DeskDatabaseError, without repeating the text."""
    try:
        url = sa.make_url(text)
        backend = url.drivername.partition("+")[0]
    except (sa.exc.ArgumentError, ValueError):
        raise DeskDatabaseError(
            "That is not the URL of a database. A file is sqlite:///desk.db; PostgreSQL is postgresql://user@host/name."
        ) from None
    if backend in _POSTGRESQL:
        return url.set(drivername="postgresql+psycopg")
    if url.drivername in ("sqlite", "sqlite+pysqlite"):
        return url
    raise DeskDatabaseError(f"The desk works on sqlite and postgresql (with psycopg), not on {url.drivername}.")


def shown(url: sa.URL) -> str:
    """The URL without what could be secret: the password, and all options but a few harmless ones."""
    if url.get_backend_name() == "sqlite":
        return f"sqlite:///{url.database or ''}"  # as people write it, which SQLAlchemy would percent-encode
    safe = {name: value for name, value in url.query.items() if name in _SAFE_OPTIONS}
    return url.set(query=safe, drivername=url.get_backend_name()).render_as_string(hide_password=True)


def trouble(url: sa.URL, error: sa.exc.DBAPIError) -> DeskDatabaseError:
    """What a driver's error means for somebody who wants to open the desk."""
    name, text = shown(url), str(error.orig)
    meaning = _STATES.get(getattr(error.orig, "sqlstate", None) or "")
    if meaning is None:
        meaning = next((words for phrase, words in _PHRASES if phrase in text), None)
    if meaning is None and url.get_backend_name() == "postgresql" and isinstance(error, sa.exc.OperationalError):
        meaning = f"can't be reached: {_first_line(text, url)}"
    return DeskDatabaseError(f"{name} {meaning or 'can not be used: ' + _first_line(text, url)}")


def _first_line(text: str, url: sa.URL) -> str:
    line = next(iter(text.splitlines()), "") or "the driver gives no reason"
    hidden = [value for name, value in url.query.items() if name not in _SAFE_OPTIONS]
    secrets = [str(url.password or "")]
    for value in hidden:
        secrets.extend([value] if isinstance(value, str) else value)
    for secret in sorted(filter(None, secrets), key=len, reverse=True):
        line = line.replace(secret, "***")
    return line
