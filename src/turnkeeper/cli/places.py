"""Where the terminal keeps things: the journal, the desk's records, what was typed, the log."""

from __future__ import annotations

import contextlib
import os
import secrets
from pathlib import Path

import platformdirs

from turnkeeper.driver.settings import Settings
from turnkeeper.errors import ConfigurationError

__all__ = (
    "data_folder",
    "default_journal",
    "desk_url",
    "file_url",
    "history_file",
    "journal_url",
    "log_file",
    "missing_file",
    "web_secret",
)

_APP = "turnkeeper"


def data_folder() -> Path:
    """The user's data folder for Turnkeeper; it may not exist yet."""
    return platformdirs.user_data_path(_APP, appauthor=False)


def log_file() -> Path:
    """Where details of failures go."""
    return platformdirs.user_log_path(_APP, appauthor=False) / "turnkeeper.log"


def history_file() -> Path:
    """The lines typed into `chat`. The file exists afterwards and is its owner's only. OSError if it can't be made."""
    path = _private_folder() / "chat_history"
    os.close(os.open(path, os.O_RDONLY | os.O_CREAT, 0o600))
    path.chmod(0o600)
    return path


def journal_url(given: str | None = None) -> str:
    """--journal, else TURNKEEPER_JOURNAL, else `journal` of turnkeeper.toml, else a file in the data folder."""
    found = Settings().find("journal", given)
    if found:
        return str(found)
    _private_folder()
    return file_url(default_journal())


def default_journal() -> Path:
    """The file of conversations where no journal is named."""
    return data_folder() / "journal.db"


def missing_file(url: str) -> Path | None:
    """The file of a journal's URL, if it isn't there; None for one that is, and for what is no file."""
    import sqlalchemy as sa  # noqa: PLC0415 - as below

    from turnkeeper.journal.urls import file_of  # noqa: PLC0415

    try:
        path = file_of(sa.make_url(url))
        return None if path is None or path.exists() else path
    except (sa.exc.ArgumentError, ValueError, OSError):  # said when it is opened
        return None


def desk_url(given: str | None = None) -> str:
    """--database, else TURNKEEPER_DESK, else `desk` of turnkeeper.toml, else a file in the data folder."""
    found = Settings().find("desk", given)
    return str(found) if found else file_url(_private_folder() / "desk.db")


def web_secret() -> bytes:
    """What signs the web's sessions, 32 bytes: this user's own, made once, so that sessions outlive a process.

    ConfigurationError if it can't be kept.
    """
    path = _private_folder() / "web_secret"
    fresh = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
    try:
        if not path.exists():
            with open(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                file.write(secrets.token_bytes(32))
            with contextlib.suppress(FileExistsError):  # of two processes that begin at once, one makes it
                os.link(fresh, path)
            fresh.unlink()
        found = path.read_bytes()
    except OSError as error:
        raise ConfigurationError(f"the web's secret can't be kept in {path}: {error.strerror}") from error
    if len(found) < 16:
        raise ConfigurationError(f"{path} holds no secret; remove it, and the next start makes one")
    return found


def _private_folder() -> Path:
    """The data folder, made for its owner only; whoever opens something in it says what is wrong with it."""
    folder = data_folder()
    with contextlib.suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    return folder


def file_url(path: Path) -> str:
    """The URL of a SQLite file, whatever characters its path has."""
    import sqlalchemy as sa  # noqa: PLC0415 - `--help` must not pay for it

    return sa.URL.create("sqlite", database=str(path)).render_as_string()
