"""The desk on both databases: a real SQLite file and a real PostgreSQL server."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from turnkeeper import desk
from turnkeeper.desk.record import Actor

NOON = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of an empty place for a desk."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/desk.db"
    found: str = request.getfixturevalue("postgres_database")
    return found


@pytest.fixture
def clock() -> Callable[[], datetime]:
    """A clock that goes on by a second whenever it is read, from noon."""
    seconds = iter(range(10**6))
    return lambda: NOON + timedelta(seconds=next(seconds))


@pytest.fixture
def database(url: str, clock: Callable[[], datetime]) -> Iterator[desk.Desk]:
    """A desk with the lesson's records."""
    with desk.open_database(url, clock=clock) as opened:
        yield opened


@pytest.fixture
def ana() -> Actor:
    return Actor(kind="staff", id="ana", conversation_id="c-42", call_id="toolu_01")
