"""Three worker processes, one of which is killed in the middle of its calls: nothing is lost, nothing is done twice."""

from __future__ import annotations

import contextlib

import sqlalchemy as sa

from tests.workers.load import Load, answer, held_gate, run
from tests.workers.processes import WorkerProcess, until
from turnkeeper.testing import MessagesAPI
from turnkeeper.workers import Dispatcher

LEASE = 3.0


def test_thirty_conversations_survive_the_death_of_one_of_three_workers(postgres_database: str) -> None:
    api = MessagesAPI(answer, deterministic=False)
    load = Load(postgres_database, api, conversations=30, messages=2)
    options = ("--lease", str(LEASE), "--concurrency", "4")
    with contextlib.ExitStack() as stack:
        base_url = stack.enter_context(api.listen())
        workers = [
            stack.enter_context(WorkerProcess(postgres_database, base_url, name, *options, *more))
            for name, more in [("Anna", ()), ("Борис", ()), ("doomed", ("--held",))]
        ]
        anna, boris, doomed = workers
        executors = [worker.wait_until_ready() for worker in workers]
        assert len(set(executors)) == 3

        async def story(dispatcher: Dispatcher) -> None:
            with held_gate(load.engine):
                await load.post(dispatcher)
                await until(load.calls_are_under_way, "the doomed worker is in the middle of calls of each effect")
                doomed.kill()
            resolved = await load.finish(dispatcher, seconds=120)
            found = await load.check(dispatcher)
            assert resolved == found.resolved > 0
            assert found.again > 0  # called again by whoever took over, under the same key
            assert found.failed == 0
            await nothing_is_left_in_the_queue(load, executors[2])
            only_ids_were_handed_over(load)

        run(postgres_database, story)
        for worker in (anna, boris):
            assert "Traceback" not in worker.stop()
    load.close()


async def nothing_is_left_in_the_queue(load: Load, dead: str) -> None:
    """What the dead worker ran when it died holds no place and counts for no limit any more."""

    async def tidied() -> bool:
        query = "SELECT count(*) FROM turnkeeper_workers.workflow_status WHERE status IN ('PENDING', 'ENQUEUED')"
        return bool(load.rows(query)[0][0] == 0)

    await until(tidied, "the dead worker's turns are out of the queue", seconds=60)
    taken_out = load.rows(
        f"SELECT count(*) FROM turnkeeper_workers.workflow_status WHERE status = 'CANCELLED' AND executor_id = '{dead}'"
    )
    assert taken_out[0][0] > 0


def only_ids_were_handed_over(load: Load) -> None:
    """DBOS knows which conversation, under which version, and a word about how it went; nothing that was said."""
    inputs = {row[0] for row in load.rows("SELECT inputs FROM turnkeeper_workers.workflow_input")}
    assert inputs == {f'{{"namedArgs":{{}},"positionalArgs":["{name}"]}}' for name in load.names}
    outputs = {row[0] for row in load.rows("SELECT output FROM turnkeeper_workers.workflow_output")} - {None}
    assert outputs <= {f'"{word}"' for word in ("nothing", "more", "person", "busy")}
    assert load.rows("SELECT count(*) FROM turnkeeper_workers.operation_outputs") == [(0,)]
    assert load.rows("SELECT DISTINCT application_version FROM turnkeeper_workers.workflow_status") == [("1",)]
    with load.engine.connect() as connection:
        assert "operation_outputs" in sa.inspect(connection).get_table_names("turnkeeper_workers")
