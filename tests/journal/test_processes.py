"""Several processes on one journal, and processes that are killed: nothing acknowledged is lost, nothing is halved."""

from __future__ import annotations

import random
import signal
import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.journal.conftest import Open
from tests.journal.samples import NOON, said
from turnkeeper.errors import ConversationBusyError

pytestmark = pytest.mark.anyio

ROOT = Path(__file__).resolve().parents[2]
Program = subprocess.Popen[str]


@contextmanager
def writers(url: str, *commands: tuple[str, ...]) -> Iterator[list[Program]]:
    """Processes that have opened the journal and begin together when the block is entered; dead when it is left."""
    processes = [
        subprocess.Popen(
            [sys.executable, "-m", "tests.journal.writer", what, url, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=ROOT,
        )
        for what, *arguments in commands
    ]
    try:
        for process in processes:
            assert line_of(process) == "ready"
        for process in processes:
            assert process.stdin is not None
            process.stdin.write("go\n")
            process.stdin.flush()
        yield processes
    finally:
        for process in processes:
            process.kill()
            process.communicate()


def line_of(process: Program) -> str:
    assert process.stdout is not None
    line = process.stdout.readline()
    return line.strip() if line or process.poll() is None else f"ended: {process.communicate()[1]}"


def output_of(process: Program) -> list[str]:
    """What a process that ends well has printed."""
    out, err = process.communicate(timeout=120)
    assert (process.returncode, err) == (0, "")
    return out.splitlines()


async def test_two_processes_on_one_conversation_interleave_without_gap_or_loss(
    database_url: str, opened: Open
) -> None:
    journal = await opened(database_url)
    with writers(database_url, ("contend", "c-1", "α", "40"), ("contend", "c-1", "β", "40")) as both:
        for process in both:
            output_of(process)
    events = await journal.read("c-1")
    assert Counter(event.code for event in events) == {"α": 40, "β": 40}  # type: ignore[attr-defined]
    for name in ("α", "β"):
        own = [event.message for event in events if event.code == name]  # type: ignore[attr-defined]
        assert own == [str(number) for number in range(40)]
    assert await journal.verify("c-1") == []


async def test_two_processes_with_four_conversations_each_lose_nothing_though_another_holds_a_lock(
    tmp_path: Path, opened: Open
) -> None:
    """Report B15-sqlite-locked.

    https://github.com/mem0ai/mem0/issues/7196
    """
    path = tmp_path / "journal.db"
    url = f"sqlite:///{path}"
    journal = await opened(url)
    reader, other = (sqlite3.connect(path, isolation_level=None, timeout=60) for _ in range(2))
    reader.execute("BEGIN")
    assert reader.execute("SELECT count(*) FROM turnkeeper_events").fetchone() == (0,)
    with writers(url, ("turns", "one", "4", "25"), ("turns", "two", "4", "25")) as both:
        for _ in range(10):  # in the middle of it, again and again, and each time for a while
            other.execute("BEGIN IMMEDIATE")
            other.execute("SELECT count(*), max(length(payload)) FROM turnkeeper_events").fetchone()
            other.execute("COMMIT")
        for process in both:
            output_of(process)
    assert reader.execute("SELECT count(*) FROM turnkeeper_events").fetchone() == (0,)
    reader.close()
    other.close()
    found = await journal.conversations()
    assert {one.id: one.events for one in found} == {f"{n}-{i}": 26 for n in ("one", "two") for i in range(4)}
    for one in found:
        assert await journal.verify(one.id) == []


async def test_of_processes_that_race_for_leases_exactly_one_gets_each(database_url: str, opened: Open) -> None:
    journal = await opened(database_url)
    with writers(database_url, *(("leases", name, "40") for name in ("a", "b", "c"))) as racers:
        got = [line.split() for process in racers for line in output_of(process)]
    assert sorted(got) == sorted([f"c-{number}", "1"] for number in range(40))
    with pytest.raises(ConversationBusyError):
        await journal.acquire("c-0", holder="d", seconds=30, now=NOON)
    assert (await journal.acquire("c-0", holder="d", seconds=30, now=NOON + 30)).token == 2


@pytest.mark.parametrize("run", range(3))
async def test_a_writer_killed_in_the_middle_leaves_all_it_acknowledged_and_no_half_batch(
    database_url: str, opened: Open, run: int
) -> None:
    acknowledged = 0
    with writers(database_url, ("batches", "c-1", "7")) as (process,):
        for _ in range(random.Random(run).randint(5, 60)):
            acknowledged = int(line_of(process))
        process.send_signal(signal.SIGKILL)
        rest = process.communicate()[0].split()
        acknowledged = max([acknowledged, *map(int, rest)])
    journal = await opened(database_url)
    events = await journal.read("c-1")
    assert len(events) in (acknowledged, acknowledged + 7)  # the last batch may have been written, unanswered
    assert await journal.verify("c-1") == []
    assert await journal.append("c-1", [said()], after=len(events)) == len(events) + 1


async def test_a_killed_writer_does_not_keep_others_waiting(database_url: str, opened: Open) -> None:
    with writers(database_url, ("batches", "c-1", "2"), ("turns", "two", "2", "30")) as (victim, survivor):
        line_of(victim)
        victim.send_signal(signal.SIGKILL)
        output_of(survivor)
    journal = await opened(database_url)
    assert [len(await journal.read(f"two-{number}")) for number in range(2)] == [31, 31]
