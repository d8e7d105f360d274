"""Fixtures for all tests."""

from __future__ import annotations

import signal

from hypothesis import HealthCheck, settings

from tests.postgres import postgres_database, postgres_scratch, postgres_url

__all__ = ("postgres_database", "postgres_scratch", "postgres_url")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # What a shell puts into the background ignores Ctrl-C, and so would every program that a test starts.
    signal.signal(signal.SIGINT, signal.default_int_handler)

# How fast a machine is at the moment says nothing about the code.
settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any machine")
