"""Opening a journal by its URL; the database's libraries are loaded only for a journal in a database."""

from __future__ import annotations

from anyio import to_thread

from turnkeeper.journal.errors import JournalURLError
from turnkeeper.journal.memory import MemoryJournal
from turnkeeper.journal.port import Journal

__all__ = ("open_journal",)


async def open_journal(url: str) -> Journal:
    """Open the journal at `url`, and make what is missing: the file, its folders, the tables.

    `memory:` keeps nothing; `sqlite:///desk.db` is a relative path, `sqlite:////var/lib/desk.db` an absolute one,
    `sqlite:///~/desk.db` one in the home folder; `postgresql+psycopg://user:password@host/name` is a server's database.

    Raises JournalError: JournalURLError for what is no URL, JournalVersionError if a newer Turnkeeper made the tables,
    others of `turnkeeper.journal.errors` when the place can't be used. No text of theirs holds the password.
    """
    if url == "memory:":
        return MemoryJournal()
    if "://" not in url:
        # what was meant for a server may hold a password, and is not repeated; nor is what can't be printed
        is_path = url.isprintable() and ":" not in url and "@" not in url
        meant = f" Did you mean sqlite:///{url}?" if url and is_path else ""
        raise JournalURLError(
            "A journal has a URL: sqlite:///turnkeeper.db for a file, postgresql+psycopg://user@host/name for a "
            f"server, memory: to keep nothing.{meant}"
        )

    def open_database() -> Journal:
        from turnkeeper.journal.sql import SQLJournal  # noqa: PLC0415 - loads SQLAlchemy

        return SQLJournal.open(url)

    return await to_thread.run_sync(open_database)
