"""Fixtures for all tests."""

from __future__ import annotations

import signal

from tests.postgres import postgres_database, postgres_scratch, postgres_url

__all__ = ("postgres_database", "postgres_scratch", "postgres_url")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # What a shell puts into the background ignores Ctrl-C, and so would every program that a test starts and interrupts.
    signal.signal(signal.SIGINT, signal.default_int_handler)
