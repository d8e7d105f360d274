"""200 conversations at once on three workers, one of them killed; a database that crashes under its workers.

`script/workers-load` runs this and shows the figures.
"""

from __future__ import annotations

import contextlib
import json
import signal
import statistics
import time

import pytest

from tests.postgres import PostgresServer, fresh_database
from tests.workers.load import Load, answer, held_gate, run
from tests.workers.processes import WorkerProcess, until
from turnkeeper.core.events import TurnEnded, TurnStarted
from turnkeeper.testing import MessagesAPI
from turnkeeper.workers import Dispatcher

pytestmark = pytest.mark.slow

LEASE = 10.0
NAMES = ("Anna", "Борис", "陈")


async def ended(load: Load, turns: int) -> bool:
    found = load.rows("SELECT count(*) FROM turnkeeper_events WHERE type = 'turn_ended'")
    return bool(found[0][0] >= turns)


def test_two_hundred_conversations_on_three_workers_one_of_which_is_killed(postgres_database: str) -> None:
    api = MessagesAPI(answer, deterministic=False, keep=1)
    load = Load(postgres_database, api, conversations=200, messages=3)
    figures: dict[str, object] = {}
    with contextlib.ExitStack() as stack:
        base_url = stack.enter_context(api.listen())
        workers = [
            stack.enter_context(WorkerProcess(postgres_database, base_url, name, "--lease", str(LEASE), *more))
            for name, more in zip(NAMES, ((), (), ("--held",)), strict=True)
        ]
        for worker in workers:
            worker.wait_until_ready()

        async def story(dispatcher: Dispatcher) -> None:
            began = time.monotonic()
            posted = await load.post(dispatcher)
            await until(lambda: ended(load, load.turns // 3), "a third of the turns has ended", seconds=300)
            with held_gate(load.engine):
                await until(load.calls_are_under_way, "the third worker is in the middle of calls")
                killed = time.monotonic()
                workers[-1].kill()
                at_kill = time.time()
            left = len(await dispatcher.journal.unfinished(now=2e9 * 10, limit=1000))
            resolved = await load.finish(dispatcher, seconds=600)
            over = time.monotonic()
            found = await load.check(dispatcher)
            assert resolved == found.resolved > 0  # the killed one was in the middle of calls of each effect
            assert (found.failed, left > 0) == (0, True)
            figures.update(
                {
                    "conversations": load.conversations,
                    "turns": load.turns,
                    "calls": load.turns * 3,
                    "workers": len(NAMES),
                    "seconds to post": round(posted, 2),
                    "seconds in all": round(over - began, 1),
                    "turns per second": round(load.turns / (over - began), 1),
                    "seconds until the kill": round(killed - began, 1),
                    "turns under way at the kill": left,
                    "outcomes that a person looked up": resolved,
                    "idempotent calls that ran twice": found.again,
                    **await how_long(load, dispatcher, at_kill),
                }
            )

        run(postgres_database, story)
        for worker in workers[:-1]:
            assert "Traceback" not in worker.stop()
    load.close()
    print(json.dumps(figures, ensure_ascii=False, indent=2))  # noqa: T201


async def how_long(load: Load, dispatcher: Dispatcher, at_kill: float) -> dict[str, float]:
    """How long turns took, and those that were under way when the worker died."""
    took: list[float] = []
    rescued: list[float] = []
    for name in load.names:
        begin = 0.0
        for event in await dispatcher.journal.read(name):
            if isinstance(event, TurnStarted):
                begin = event.at
            elif isinstance(event, TurnEnded):
                took.append(event.at - begin)
                if begin < at_kill < event.at and event.at - at_kill > LEASE / 2:
                    rescued.append(event.at - at_kill)
    cuts = statistics.quantiles(took, n=20)
    return {
        "seconds of a turn, median": round(cuts[9], 2),
        "seconds of a turn, 95 of 100": round(cuts[18], 2),
        "turns rescued": len(rescued),
        "seconds from the kill to the last rescued turn's end": round(max(rescued, default=0.0), 1),
    }


def test_a_worker_that_slept_longer_than_its_lease_does_nothing_behind_the_others_backs(postgres_database: str) -> None:
    """A paused machine: it knows nothing of the time that went by, and goes on in the middle of its calls."""
    api = MessagesAPI(answer, deterministic=False, keep=1)
    load = Load(postgres_database, api, conversations=12, messages=2)
    options = ("--lease", "4", "--concurrency", "2")  # as many calls as the tools have connections: each has acted
    with contextlib.ExitStack() as stack:
        base_url = stack.enter_context(api.listen())
        awake, sleeper = (
            stack.enter_context(WorkerProcess(postgres_database, base_url, name, *options, *more))
            for name, more in (("awake", ()), ("sleeper", ("--held",)))
        )
        for worker in (awake, sleeper):
            worker.wait_until_ready()

        async def story(dispatcher: Dispatcher) -> None:
            with held_gate(load.engine):
                await load.post(dispatcher)
                await until(load.calls_are_under_way, "the sleeper is in the middle of calls of each effect")
                sleeper.signal(signal.SIGSTOP)
                resolved = await load.finish(dispatcher, seconds=120)
            sleeper.signal(signal.SIGCONT)
            assert "Traceback" not in sleeper.stop()
            found = await load.check(dispatcher)
            assert resolved == found.resolved > 0
            assert (found.failed, found.again > 0) == (0, True)

        run(postgres_database, story)
        assert "Traceback" not in awake.stop()
    load.close()


def test_a_database_that_crashes_under_its_workers_loses_nothing(postgres_database: str) -> None:
    """The world stays as it was; the journal and the queue go down and come back."""
    api = MessagesAPI(answer, deterministic=False, keep=1)
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(PostgresServer())
        url = stack.enter_context(fresh_database(server.url()))
        base_url = stack.enter_context(api.listen())
        load = Load(url, api, conversations=20, messages=3, world_url=postgres_database)
        options = ("--lease", "5", "--world", postgres_database)
        workers = [stack.enter_context(WorkerProcess(url, base_url, name, *options)) for name in NAMES[:2]]
        for worker in workers:
            worker.wait_until_ready()

        async def begin(dispatcher: Dispatcher) -> None:
            await load.post(dispatcher)
            await until(lambda: ended(load, load.turns // 3), "a third of the turns has ended")

        async def end(dispatcher: Dispatcher) -> None:
            await load.finish(dispatcher, seconds=300)
            await load.check(dispatcher)

        run(url, begin)
        server.stop(signal.SIGQUIT)
        server.start()
        run(url, end)
        for worker in workers:
            worker.stop()
        load.close()
