"""Where conversations are kept: the port, memory, SQL."""

from turnkeeper.journal.memory import MemoryJournal
from turnkeeper.journal.port import Journal, Lease, Summary

__all__ = ("Journal", "Lease", "MemoryJournal", "Summary")
