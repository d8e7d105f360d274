"""A message that does not wait for the turn which another live process runs: it takes that turn over."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import anyio
import pytest

import turnkeeper as tk
from tests.driver.conftest import MODEL, sent
from turnkeeper.core.answers import INTERRUPTED
from turnkeeper.driver.leasing import held, new_holder
from turnkeeper.errors import ConversationBusyError, JournalError
from turnkeeper.journal import Journal, Lease, open_journal
from turnkeeper.testing import FixedClock, MessagesAPI, call, reply, script

pytestmark = pytest.mark.anyio


@contextmanager
def busy(journal: str, ledger: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process, in the middle of its call."""
    command = [sys.executable, "-W", "error", "-m", "tests.driver.busy", journal, str(ledger)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "under way\n"
            yield process
        finally:
            process.kill()


def told(process: subprocess.Popen[str]) -> str:
    """Let its call go on, and read what it says in the end."""
    said, _ = process.communicate("\n", timeout=60)
    return said


@tk.tool(effect="once")
def pay(order: int) -> str:
    """Pay an order."""
    raise AssertionError(f"order {order} is paid in the other process")


def agent_for(api: MessagesAPI) -> tk.Agent:
    return tk.Agent(model=MODEL, max_tokens=1000, client=api, tools=[pay])


@pytest.fixture
def journal(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/journal.db"


async def test_a_turn_of_another_process_is_taken_from_it(journal: str, tmp_path: Path) -> None:
    api = MessagesAPI(script(reply("Gut, nicht.")))
    with busy(journal, tmp_path / "ledger") as other:
        async with agent_for(api).open(journal) as keeper:
            conversation = await keeper.conversation("c")
            with pytest.raises(
                ConversationBusyError, match=rf"'c' is driven by .*:{other.pid}:.* since 20\d\d-\S+ \S+ UTC$"
            ):
                await conversation.send("Doch nicht")
            answer = await conversation.send("Doch nicht", when_busy="interrupt")
            assert (answer.status, answer.text) == (tk.TurnStatus.COMPLETED, "Gut, nicht.")
            before = conversation.messages
            # The other one comes back from its call: it has happened once, and nothing of it is written any more.
            said = told(other)
            assert (await keeper.conversation("c")).messages == before
    opened = await open_journal(journal)
    assert await opened.verify("c") == []
    await opened.aclose()
    why = "conversation 'c' was moved on by another driver: its lease 1 was taken over"
    assert said == f"ConversationBusyError: {why}\n"
    assert (tmp_path / "ledger").read_text() == "paid 7\n"
    results, words = sent(api, 0)["messages"][2]["content"]
    assert (results["type"], results["content"], results["is_error"]) == ("tool_result", INTERRUPTED, True)
    assert words["text"] == "Doch nicht"


async def test_a_message_that_is_delivered_again_does_not_interrupt_itself(journal: str, tmp_path: Path) -> None:
    api = MessagesAPI(script())
    with busy(journal, tmp_path / "ledger") as other:
        async with agent_for(api).open(journal) as keeper:
            again = (await keeper.conversation("c")).send("Bitte bezahlen", key="first", when_busy="interrupt")
            said = told(other)
            answer = await again
    assert said == "completed Bezahlt.\n"
    assert (answer.status, answer.text, api.requests) == (tk.TurnStatus.COMPLETED, "Bezahlt.", [])
    assert (tmp_path / "ledger").read_text() == "paid 7\n"


async def test_a_lease_that_was_taken_over_lasts_from_then_on_and_not_from_when_it_would_have_run_out(
    journal: str,
) -> None:
    """Else each interruption would put off by another lease when a dead driver's turn is found."""
    clock = FixedClock()
    opened = await open_journal(journal)
    await opened.acquire("c", holder="another-machine:1:x", seconds=30, now=clock())
    until: list[float | None] = []

    @tk.tool(effect="read")
    async def look() -> str:
        """Look who drives."""
        with pytest.raises(ConversationBusyError) as busy:
            await opened.acquire("c", holder="a-third:1:x", seconds=30, now=clock())
        until.append(busy.value.until)
        return "seen"

    api = MessagesAPI(script(reply(call("look", {})), "OK"))
    agent = tk.Agent(model=MODEL, max_tokens=1000, client=api, tools=[look], clock=clock, lease_seconds=30)
    async with agent.open(opened) as keeper:
        answer = await (await keeper.conversation("c")).send("go", when_busy="interrupt")
    await opened.aclose()
    assert answer.text == "OK"
    assert until == [clock() + 30]


class AwayOnceTaken:
    """A journal that can't be reached any more once a lease was taken."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._away = False

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._journal, name)
        if not inspect.iscoroutinefunction(found):
            return found

        async def served(*args: Any, **options: Any) -> Any:
            if self._away:
                raise JournalError("away")
            given = await found(*args, **options)
            self._away = name == "acquire"
            return given

        return served


@pytest.mark.parametrize("ahead", [0, 3600])
async def test_whoever_dies_taking_a_lease_over_leaves_one_that_runs_out_as_any_other(journal: str, ahead: int) -> None:
    """The others read of it who has it and since when, whatever the clock of the one it was taken from said."""
    clock = FixedClock()
    opened = await open_journal(journal)
    old = await opened.acquire("c", holder="another-machine:1:x", seconds=30, now=clock() + ahead)
    agent = tk.Agent(model=MODEL, max_tokens=1000, client=MessagesAPI(script()), clock=clock, lease_seconds=30)
    async with agent.open(cast(Journal, AwayOnceTaken(opened))) as keeper:
        with pytest.raises(JournalError, match="away"):
            await (await keeper.conversation("c")).send("go", when_busy="interrupt")
    with pytest.raises(ConversationBusyError) as busy:
        await opened.acquire("c", holder="a-third:1:x", seconds=30, now=clock())
    with pytest.raises(ConversationBusyError):
        await opened.renew(old, seconds=30, now=clock())
    await opened.aclose()
    assert (busy.value.since, busy.value.until) == (clock(), clock() + 30)


async def test_of_two_who_find_the_same_driver_dead_only_one_takes_its_place(journal: str) -> None:
    """Also where the dead one's lease would have lasted longer than that of the one who came first, who is alive."""
    clock = FixedClock()
    opened = await open_journal(journal)
    pid = (await anyio.run_process([sys.executable, "-c", "import os; print(os.getpid())"])).stdout.decode().strip()
    gone = new_holder().replace(f":{os.getpid()}:", f":{pid}:")
    await opened.acquire("c", holder=gone, seconds=300, now=clock())
    first: list[Lease] = []

    class Slow:
        """Whoever is told here who holds the lease is told so when another has taken it."""

        async def acquire(self, conversation_id: str, **how: Any) -> Lease:
            try:
                return await opened.acquire(conversation_id, **how)
            except ConversationBusyError as busy:
                if busy.holder == gone:
                    first.append(await opened.acquire("c", holder="first", seconds=30, now=clock(), instead_of=gone))
                raise

    with pytest.raises(ConversationBusyError, match="is driven by first since"):
        async with held(cast(Journal, Slow()), "c", holder="second", clock=clock):
            raise AssertionError("the first one holds it")
    assert [(one.token, one.expires_at) for one in first] == [(2, clock() + 30)]
    await opened.renew(first[0], seconds=30, now=clock())
    await opened.aclose()
