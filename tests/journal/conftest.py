"""The three journals, opened by their URLs, and the databases below two of them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from turnkeeper.journal import Journal, open_journal

Open = Callable[[str], Awaitable[Journal]]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
async def opened() -> AsyncIterator[Open]:
    """Opens journals by URL and closes them after the test."""
    journals: list[Journal] = []

    async def opens(url: str) -> Journal:
        journals.append(await open_journal(url))
        return journals[-1]

    yield opens
    for journal in journals:
        await journal.aclose()


def url_of(kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of an empty place of that kind."""
    match kind:
        case "memory":
            return "memory:"
        case "sqlite":
            return f"sqlite:///{tmp_path}/journal.db"
        case _:
            found: str = request.getfixturevalue("postgres_database")
            return found


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty database of either kind."""
    return url_of(request.param, request, tmp_path)


@pytest.fixture(params=["memory", "sqlite", "postgresql"])
async def journal(request: pytest.FixtureRequest, tmp_path: Path, opened: Open) -> Journal:
    """An empty journal of each kind: what is tested with it is the contract."""
    return await opened(url_of(request.param, request, tmp_path))


@pytest.fixture
async def database_journal(database_url: str, opened: Open) -> Journal:
    """An empty journal in a database of each kind."""
    return await opened(database_url)


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    """A SQLite file that isn't there yet."""
    return f"sqlite:///{tmp_path}/journal.db"
