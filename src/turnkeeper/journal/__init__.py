"""Where conversations are kept: the port, memory, SQL.

`SQLJournal` loads SQLAlchemy when it is asked for; the rest loads nothing heavy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from turnkeeper.journal.memory import MemoryJournal
from turnkeeper.journal.opening import open_journal
from turnkeeper.journal.port import Erasure, Journal, Lease, Problem, Queued, Summary

if TYPE_CHECKING:
    from turnkeeper.journal.sql import SQLJournal

__all__ = (
    "Erasure",
    "Journal",
    "Lease",
    "MemoryJournal",
    "Problem",
    "Queued",
    "SQLJournal",
    "Summary",
    "open_journal",
)


def __getattr__(name: str) -> Any:
    if name == "SQLJournal":
        from turnkeeper.journal.sql import SQLJournal  # noqa: PLC0415

        return SQLJournal
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
