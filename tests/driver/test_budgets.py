"""Budgets hold before a request is sent: the most that it may cost is reserved, and settled with what it did cost."""

from __future__ import annotations

import base64
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any

import anyio
import pytest

import turnkeeper as tk
from tests.driver.conftest import agent_over
from turnkeeper.core.events import ReplyReceived, RequestStarted, TurnEnded
from turnkeeper.driver.budgeting import account_of_day, account_of_principal
from turnkeeper.journal import open_journal
from turnkeeper.journal.accounts import Account
from turnkeeper.testing import FixedClock, MessagesAPI, call, faults, reply, script

pytestmark = pytest.mark.anyio

ROOT = Path(__file__).resolve().parents[2]
OLGA = tk.Principal("customer", "Ольга")
COST = Decimal("0.0135")
"""What a reply of these tests costs: 200 tokens in and 500 out with Opus 4.8, at 5 and 25 USD a million."""
USAGE = {"input_tokens": 200, "output_tokens": 500}


def said(text: str = "ok") -> Any:
    return reply(text, usage=USAGE)


def budgeted(api: Any, **limits: Any) -> tk.Agent:
    return agent_over(api, cache=False, limits=tk.Limits(**limits))


@pytest.fixture(params=["memory", "sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "postgresql":
        return str(request.getfixturevalue("postgres_database"))
    return "memory:" if request.param == "memory" else f"sqlite:///{tmp_path}/journal.db"


async def test_a_request_whose_worst_case_does_not_fit_is_not_sent() -> None:
    api = MessagesAPI(script(said()))
    # 1,000 tokens of reply alone cost 0.025 at the most
    found = await budgeted(api, usd=Decimal("0.025")).run("Hi")
    assert (found.status, found.reason, len(api.requests)) == (tk.TurnStatus.LIMIT_REACHED, "usd", 0)
    found = await budgeted(api, usd=Decimal("0.0252")).run("Hi")
    assert (found.status, found.cost, len(api.requests)) == (tk.TurnStatus.COMPLETED, COST, 1)


async def test_what_is_reserved_covers_what_is_paid() -> None:
    """Also a long message in a language of many bytes, an image, and tools; the prompt so far is known exactly."""

    def look() -> str:
        """Look."""
        return "очень длинный ответ " * 500

    api = MessagesAPI(script(reply(call("look")), "done", "再见", "bye"))
    image = {
        "type": "image",
        "source": {
            "type": "base64",
            "media_type": "image/png",
            "data": base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(45_000)).decode(),
        },
    }
    limits = tk.Limits(usd=1)
    async with agent_over(api, system="Be brief. " * 500, tools=[look], limits=limits).open() as keeper:
        conversation = await keeper.conversation("c")
        await conversation.send("看 " * 1000)
        await conversation.send([image, {"type": "text", "text": "What is it?"}])
        await conversation.send("bye")
        events = await keeper.journal.read("c")
    reserved = [event.reserved for event in events if isinstance(event, RequestStarted)]
    replies = [event for event in events if isinstance(event, ReplyReceived)]
    assert len(replies) == 4
    for most, event in zip(reserved, replies, strict=True):
        assert event.reserved == most
        assert most is not None
        assert event.cost is not None
        assert most > event.cost
    # what was counted is not estimated again: only the last message is, at a token for two bytes
    counted = tk.Usage.counted(replies[2].usage).total_tokens
    assert reserved[3] == Decimal("0.025") + 2 * Decimal("0.000005") * (
        counted + len('{"type":"text","text":"bye"}') // 2
    )


async def test_a_conversation_and_a_turn_have_budgets_of_their_own() -> None:
    api = MessagesAPI(script(*[said() for _ in range(4)]))
    limits = tk.Limits(usd=Decimal("0.03"), conversation_usd=Decimal("0.06"))
    async with agent_over(api, cache=False, limits=limits).open() as keeper:
        conversation = await keeper.conversation("c")
        ends = [await conversation.send("Hi") for _ in range(4)]
        other = await (await keeper.conversation("d")).send("Hi")
    # three replies cost 0.0405, and a fourth could cost 0.025 more
    assert [(one.status.value, one.reason) for one in ends] == [("completed", "")] * 3 + [
        ("limit_reached", "conversation_usd")
    ]
    assert other.status is tk.TurnStatus.COMPLETED


async def test_a_principal_and_the_day_have_budgets_over_all_conversations(url: str) -> None:
    clock = FixedClock()
    api = MessagesAPI(script(*[said() for _ in range(6)]))
    limits = tk.Limits(principal_usd_per_day=Decimal("0.05"), usd_per_day=Decimal("0.065"))
    async with agent_over(api, clock=clock, cache=False, limits=limits).open(url) as keeper:

        async def ask(name: str, who: tk.Principal | None) -> str:
            end = await (await keeper.conversation(name, principal=who)).send("Hi")
            return end.reason or str(end.status)

        assert [await ask(name, OLGA) for name in ("a", "b")] == ["completed"] * 2
        assert await ask("c", OLGA) == "principal_usd_per_day"
        assert await ask("d", None) == "completed"
        assert await ask("e", tk.Principal("staff", "Ольга")) == "usd_per_day"
        names = [account_of_day(clock()), account_of_principal(OLGA, clock()), account_of_principal(None, clock())]
        found = await keeper.journal.accounts(names)
        assert [found[name] for name in names] == [Account(COST * 3), Account(COST * 2), Account(COST)]
        clock.advance(24 * 3600)
        assert await ask("c", OLGA) == "completed"
    assert len(api.requests) == 4


async def test_a_failed_request_gives_back_what_was_held_and_a_broken_stream_is_paid(url: str) -> None:
    clock = FixedClock()
    broken = faults.cut(said("Half of it"), after=5)
    api = MessagesAPI(script(faults.overloaded(), broken, said()))
    async with agent_over(api, clock=clock, cache=False, limits=tk.Limits(usd_per_day=1)).open(url) as keeper:
        end = await (await keeper.conversation("c")).send("Hi")
        account = (await keeper.journal.accounts([account_of_day(clock())]))[account_of_day(clock())]
    assert (end.status, account) == (tk.TurnStatus.COMPLETED, Account(spent=end.cost or Decimal(0)))
    assert end.cost is not None
    assert end.cost > COST


async def test_a_turn_that_is_cancelled_in_a_request_counts_all_that_was_reserved(url: str) -> None:
    clock = FixedClock()
    began = anyio.Event()

    async def wait(_: float) -> None:
        began.set()
        await anyio.sleep_forever()

    api = MessagesAPI(script(faults.slow("late", first=30), said()), sleep=wait)
    async with budgeted(api, usd_per_day=1, usd=1).open(url) as keeper:
        conversation = await keeper.conversation("c")
        async with anyio.create_task_group() as group:
            group.start_soon(_sent, conversation)
            await began.wait()
            await conversation.cancel()
        ended = [event for event in await keeper.journal.read("c") if isinstance(event, TurnEnded)][-1]
        assert ended.reserved is not None
        name = account_of_day(clock())
        assert (await keeper.journal.accounts([name]))[name] == Account(spent=ended.reserved)
        await conversation.send("Again")
        assert (await keeper.journal.accounts([name]))[name] == Account(spent=ended.reserved + COST)


async def _sent(conversation: Any) -> None:
    assert (await conversation.send("Hi")).status is tk.TurnStatus.CANCELLED


async def test_conversations_side_by_side_never_spend_more_than_the_day_has(url: str) -> None:
    api = MessagesAPI(lambda _: said())
    ends: Counter[str] = Counter()
    async with budgeted(api, usd_per_day=Decimal("0.1")).open(url) as keeper:

        async def ask(name: str) -> None:
            end = await (await keeper.conversation(name)).send("Hi")
            ends[end.reason or str(end.status)] += 1

        async with anyio.create_task_group() as group:
            for number in range(12):
                group.start_soon(ask, f"c-{number}")
        name = account_of_day(FixedClock()())
        assert (await keeper.journal.accounts([name]))[name] == Account(spent=COST * ends["completed"])
    assert ends["completed"] == len(api.requests)
    assert ends["completed"] + ends["usd_per_day"] == 12
    assert 3 <= ends["completed"] <= 7


async def test_an_erased_conversation_gives_nothing_back(url: str) -> None:
    clock = FixedClock()
    async with budgeted(MessagesAPI(script(said())), usd_per_day=1).open(url) as keeper:
        await (await keeper.conversation("c")).send("Hi")
        await keeper.journal.erase("c", by=OLGA, now=clock())
        name = account_of_day(clock())
        assert (await keeper.journal.accounts([name]))[name] == Account(spent=COST)


# ----- several processes


@contextmanager
def spenders(journal: str, api: str, names: list[str], usd: str, turns: int) -> Iterator[list[subprocess.Popen[str]]]:
    command = [sys.executable, "-W", "error", "-m", "tests.driver.spender", journal, api]
    pipes: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "cwd": ROOT}
    processes = [subprocess.Popen([*command, name, usd, str(turns)], **pipes) for name in names]
    try:
        for process in processes:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
        for process in processes:
            assert process.stdin is not None
            process.stdin.write("go\n")
            process.stdin.flush()
        yield processes
    finally:
        for process in processes:
            process.kill()
            process.communicate()


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "postgresql":
        return str(request.getfixturevalue("postgres_database"))
    return f"sqlite:///{tmp_path}/journal.db"


@pytest.mark.slow
async def test_processes_side_by_side_never_spend_more_than_the_day_has(database: str) -> None:
    """Three processes want 12 turns; each reply costs 0.0135, a request 0.0251 at the most, the day has 0.1."""
    api = MessagesAPI(lambda _: said(), clock=time.time)
    await (await open_journal(database)).aclose()
    with api.listen() as address, spenders(database, address, ["a", "b", "c"], "0.1", 4) as processes:
        ends = Counter(line for process in processes for line in process.communicate()[0].splitlines())
    answered = ends["completed "]
    assert answered == len(api.requests)
    assert answered + sum(count for line, count in ends.items() if "usd_per_day" in line) == 12
    assert Decimal("0.1") - Decimal("0.0252") * 3 < COST * answered <= Decimal("0.1")
    journal = await open_journal(database)
    name = account_of_day(time.time())
    assert (await journal.accounts([name]))[name] == Account(spent=COST * answered)
    await journal.aclose()


@pytest.mark.slow
async def test_a_request_of_a_killed_process_stays_held_and_counts_in_full_when_its_turn_goes_on(database: str) -> None:
    began = threading.Event()

    async def wait(_: float) -> None:
        began.set()
        await anyio.sleep_forever()

    api = MessagesAPI(script(faults.slow("late", first=30)), clock=time.time, sleep=wait)
    name = account_of_day(time.time())
    with api.listen() as address, spenders(database, address, ["c"], "1", 1) as (process,):
        await anyio.to_thread.run_sync(began.wait)
        process.send_signal(signal.SIGKILL)
        process.wait()
    journal = await open_journal(database)
    held = (await journal.accounts([name]))[name]
    assert held.spent == 0
    assert Decimal("0.025") < held.held < Decimal("0.026")
    agent = tk.Agent(
        model="claude-opus-4-8",
        max_tokens=1000,
        client=MessagesAPI(script(said())),
        cache=False,
        limits=tk.Limits(usd_per_day=1),
    )
    async with agent.open(journal) as keeper:
        [end] = await keeper.recover()
    assert end.status is tk.TurnStatus.COMPLETED
    assert (await journal.accounts([name]))[name] == Account(spent=held.held + COST)
    await journal.aclose()
