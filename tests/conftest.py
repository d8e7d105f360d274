"""Fixtures for all tests."""

from __future__ import annotations

from tests.postgres import postgres_database, postgres_scratch, postgres_url

__all__ = ("postgres_database", "postgres_scratch", "postgres_url")
