"""Where the terminal keeps things: the journal, the desk's records, what was typed, the log."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

import platformdirs

from turnkeeper.driver.settings import Settings

__all__ = (
    "data_folder",
    "default_journal",
    "desk_url",
    "file_url",
    "history_file",
    "journal_url",
    "log_file",
    "missing_file",
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
