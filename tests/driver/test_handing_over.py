"""Leaving a conversation to another driver: where nothing is under way, in parts, and after the lease is gone."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

import turnkeeper as tk
from tests.driver.conftest import Make
from turnkeeper.driver.leasing import new_holder
from turnkeeper.errors import ConfigurationError, ConversationBusyError
from turnkeeper.journal import Journal, Lease, open_journal
from turnkeeper.testing import FixedClock, MessagesAPI, call, faults, reply, script

pytestmark = pytest.mark.anyio


@pytest.fixture
async def journal(tmp_path: Path) -> AsyncIterator[Journal]:
    opened = await open_journal(f"sqlite:///{tmp_path}/journal.db")
    yield opened
    await opened.aclose()


async def test_after_so_many_turns_the_rest_is_left(make: Make, journal: Journal) -> None:
    api = MessagesAPI(script("1", "2", "3"))
    async with make(api).open(journal) as keeper:
        for number in range(3):
            await keeper.post("c", f"q{number}", key=f"k{number}")
        one = await keeper.work_off("c", turns=1)
        two = await keeper.work_off("c", turns=2)
    assert ([r.text for r in one.replies], one.left) == (["1"], "more")
    assert ([r.text for r in two.replies], two.left) == (["2", "3"], "nothing")


async def test_told_to_stop_it_leaves_the_turn_where_no_call_is_under_way(make: Make, journal: Journal) -> None:
    """A call of effect `once` is never cut off by it, so nobody has to find out whether it happened."""
    stopping = False
    ran: list[str] = []

    @tk.tool(parallel=False)
    async def pay(to: str) -> str:
        """Pay."""
        nonlocal stopping
        stopping = True
        ran.append(to)
        return "paid"

    first = reply(call("pay", {"to": "Ana"}, id="toolu_1"), call("pay", {"to": "Борис"}, id="toolu_2"))
    api = MessagesAPI(script(first, "Both paid.", "Next."))
    agent = make(api, tools=[pay])
    async with agent.open(journal) as keeper:
        await keeper.post("c", "pay both", key="k-1")
        await keeper.post("c", "next", key="k-2")
        done = await keeper.work_off("c", stop=lambda: stopping)
        assert (done.replies, done.left) == ((), "stopped")
        assert len(api.requests) < 3
        stopping = False
        assert await keeper.recoverable() == ("c",)
        done = await keeper.work_off("c")
    assert [one.text for one in done.replies] == ["Both paid.", "Next."]
    assert [record.outcome for record in done.replies[0].calls] == ["succeeded", "succeeded"]
    assert ran == ["Ana", "Борис"]
    api.assert_all_accepted()


async def test_told_to_stop_before_it_begins_it_begins_nothing(make: Make, journal: Journal) -> None:
    api = MessagesAPI(script("1"))
    async with make(api).open(journal) as keeper:
        await keeper.post("c", "q", key="k")
        assert (await keeper.work_off("c", stop=lambda: True)).left == "stopped"
        assert await journal.read("c") == []
        assert [one.key for one in await journal.queued("c")] == ["k"]


async def taken_over(journal: Journal, clock: FixedClock) -> Lease:
    """The lease on the conversation `c`, for another driver, as if it had run out meanwhile."""
    return await journal.acquire("c", holder="another-machine:1:x", seconds=60, now=clock() + 31)


@pytest.mark.parametrize("effect", ["read", "idempotent", "once", "reconcile", "transactional"])
async def test_a_driver_that_lost_its_lease_starts_no_further_call(make: Make, journal: Journal, effect: str) -> None:
    clock = FixedClock()
    ran: list[str] = []

    @tk.tool(effect="read", parallel=False)
    async def dawdle() -> str:
        """Take so long that another driver comes."""
        await taken_over(journal, clock)
        return "at last"

    def asked() -> None:
        ran.append("asked")

    options: dict[str, Any] = {"reconcile": asked} if effect == "reconcile" else {}

    @tk.tool(effect=effect, parallel=False, **options)  # type: ignore[call-overload, untyped-decorator, unused-ignore]
    def act(ctx: tk.ToolContext) -> str:
        """Act."""
        ran.append("acted")
        return "done"

    api = MessagesAPI(script(reply(call("dawdle", {}), call("act", {}, id="toolu_act"))))
    async with make(api, tools=[dawdle, act], clock=clock).open(journal) as keeper:
        conversation = await keeper.conversation("c")
        with pytest.raises(ConversationBusyError, match="taken over"):
            await conversation.send("go")
    assert ran == []
    events = await journal.read("c")
    assert [e.type for e in events[-2:]] == ["reply_received", "call_started"]


async def test_a_driver_that_lost_its_lease_during_a_reply_starts_no_call_of_it(make: Make, journal: Journal) -> None:
    clock = FixedClock()
    ran: list[str] = []

    @tk.tool
    def act() -> str:
        """Act."""
        ran.append("acted")
        return "done"

    async def steal(seconds: float) -> None:
        await taken_over(journal, clock)

    api = MessagesAPI(script(faults.slow(reply(call("act", {})), first=5)), sleep=steal)
    async with make(api, tools=[act], clock=clock).open(journal) as keeper:
        with pytest.raises(ConversationBusyError, match="taken over"):
            await (await keeper.conversation("c")).send("go")
    assert ran == []
    assert [e.type for e in await journal.read("c")][-1] == "request_started"


async def test_an_agents_leases_last_as_long_as_it_says(make: Make, journal: Journal) -> None:
    clock = FixedClock()
    until: list[float | None] = []

    @tk.tool(effect="read")
    async def look() -> str:
        """Look."""
        with pytest.raises(ConversationBusyError) as busy:
            await journal.acquire("c", holder="x", seconds=1, now=clock())
        until.append(busy.value.until)
        return "…"

    api = MessagesAPI(script(reply(call("look", {})), "OK"))
    async with make(api, tools=[look], clock=clock, lease_seconds=5).open(journal) as keeper:
        await (await keeper.conversation("c")).send("go")
    assert until == [clock() + 5]
    for wrong in (0, -1, float("inf"), float("nan")):
        with pytest.raises(ConfigurationError, match="lease_seconds must be more than 0"):
            make(api, lease_seconds=wrong)


async def test_a_live_lease_from_a_container_of_the_same_host_name_is_not_taken_for_a_dead_ones(
    make: Make, journal: Journal
) -> None:
    """Its process ids mean nothing here: there may be no process of that number."""
    clock = FixedClock()
    host, _, rest, machine = new_holder().split(":")
    gone = 2**22 + 1  # above the largest process id that Linux gives out
    api = MessagesAPI(script("1", "2"))
    async with make(api, clock=clock).open(journal) as keeper:
        await journal.acquire("theirs", holder=f"{host}:{gone}:{rest}:00000000", seconds=30, now=clock())
        with pytest.raises(ConversationBusyError):
            await (await keeper.conversation("theirs")).send("hi")
        await journal.acquire("ours", holder=f"{host}:{gone}:{rest}:{machine}", seconds=30, now=clock())
        assert (await (await keeper.conversation("ours")).send("hi")).text == "1"
