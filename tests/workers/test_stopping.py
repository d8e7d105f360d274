"""A worker process that is told to stop while synchronous calls are stuck: it leaves in time, and nothing is lost."""

from __future__ import annotations

import contextlib
import time

from tests.workers.load import Load, answer, held_gate, run
from tests.workers.processes import WorkerProcess, until
from turnkeeper.testing import MessagesAPI
from turnkeeper.workers import Dispatcher


def test_calls_stuck_in_threads_hold_no_worker_up(postgres_database: str) -> None:
    api = MessagesAPI(answer, deterministic=False)
    load = Load(postgres_database, api, conversations=4, messages=1)
    with contextlib.ExitStack() as stack:
        base_url = stack.enter_context(api.listen())
        stuck = stack.enter_context(WorkerProcess(postgres_database, base_url, "stuck", "--held", "--grace", "1"))
        stuck.wait_until_ready()

        async def story(dispatcher: Dispatcher) -> None:
            with held_gate(load.engine):
                await load.post(dispatcher)
                await until(load.calls_are_under_way, "the worker is in the middle of calls of each effect")
                began = time.monotonic()
                complaints = stuck.stop(30)
                took = time.monotonic() - began
            assert took < 20
            assert "Traceback" not in complaints
            other = stack.enter_context(WorkerProcess(postgres_database, base_url, "other"))
            other.wait_until_ready()
            resolved = await load.finish(dispatcher, seconds=60)
            found = await load.check(dispatcher)
            assert resolved == found.resolved > 0
            assert found.failed == 0
            assert "Traceback" not in other.stop()

        run(postgres_database, story)
    load.close()
