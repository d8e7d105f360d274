"""A lease is renewed while it has most of its time left, so that two renewals in vain do no harm."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, cast

import anyio
import pytest

import turnkeeper as tk
from tests.driver.conftest import agent_over
from turnkeeper.errors import ConversationBusyError, JournalError
from turnkeeper.journal import Journal, Lease, open_journal
from turnkeeper.testing import FixedClock, MessagesAPI, call, reply, script

pytestmark = pytest.mark.anyio


class PassingError(JournalError):
    """The journal is away for a moment."""

    retryable = True


class Renewing:
    """A journal whose renewals are counted, of which the first ones fail."""

    def __init__(self, journal: Journal, *, failing: int) -> None:
        self._journal = journal
        self._failing = failing
        self.left: list[float] = []
        self.renewed = anyio.Event()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._journal, name)

    async def renew(self, lease: Lease, *, seconds: float, now: float) -> Lease:
        self.left.append(lease.expires_at - now)
        if len(self.left) <= self._failing:
            raise PassingError("away")
        found = await self._journal.renew(lease, seconds=seconds, now=now)
        self.renewed.set()
        return found


@pytest.fixture
async def journal(tmp_path: Path) -> AsyncIterator[Journal]:
    opened = await open_journal(f"sqlite:///{tmp_path}/journal.db")
    yield opened
    await opened.aclose()


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> FixedClock:
    """Whoever sleeps lets this clock go on."""
    clock = FixedClock()

    async def sleep(seconds: float) -> None:
        await anyio.lowlevel.checkpoint()
        clock.advance(seconds)

    monkeypatch.setattr(anyio, "sleep", sleep)
    return clock


@pytest.mark.parametrize(("failing", "left"), [(0, [20.0]), (2, [20.0, 10.0, 0.0])])
async def test_a_lease_is_renewed_at_a_third_of_its_time_and_twice_in_vain_does_no_harm(
    journal: Journal, clock: FixedClock, failing: int, left: list[float]
) -> None:
    renewing = Renewing(journal, failing=failing)
    until: list[float | None] = []

    @tk.tool(effect="read")
    async def look() -> str:
        """Look until the lease has been renewed; nobody else gets it then."""
        await renewing.renewed.wait()
        with pytest.raises(ConversationBusyError) as busy:
            await journal.acquire("c", holder="another-machine:1:x", seconds=30, now=clock())
        until.append(busy.value.until)
        return "seen"

    began = clock()
    api = MessagesAPI(script(reply(call("look", {})), "OK"))
    agent = agent_over(api, tools=[look], clock=clock, lease_seconds=30)
    async with agent.open(cast(Journal, renewing)) as keeper:
        found = await (await keeper.conversation("c")).send("go")
    assert found.text == "OK"
    assert renewing.left[: len(left)] == left
    (seen,) = until
    assert seen is not None
    assert seen >= began + 10 * len(left) + 30
