"""Handing conversations over: each waits for a worker once, dead ones leave no trace, and the journal loses nothing."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator

import pytest
import sqlalchemy as sa

import turnkeeper as tk
from tests.workers.conftest import agent_for
from turnkeeper.errors import ConfigurationError, InputError, UnknownConversationError
from turnkeeper.testing import MessagesAPI
from turnkeeper.workers import Dispatcher, open_dispatcher, serve_worker
from turnkeeper.workers.upkeep import Patience, Upkeep

pytestmark = pytest.mark.anyio

JOHN = tk.Principal("customer", "1213210")


@pytest.fixture
def tables(postgres_database: str) -> Iterator[sa.Connection]:
    engine = sa.create_engine(postgres_database, isolation_level="AUTOCOMMIT", poolclass=sa.pool.NullPool)
    with engine.connect() as connection:
        yield connection


def runs(tables: sa.Connection, status: str, *, executor: str = "gone", since: float | None = None) -> None:
    """Let what waits in DBOS's queue be running on a worker, or have ended."""
    at = int((time.time() if since is None else since) * 1000)
    tables.exec_driver_sql(
        f"UPDATE turnkeeper_workers.workflow_status SET status = '{status}', executor_id = '{executor}',"
        f" started_at_epoch_ms = {at} WHERE status = 'ENQUEUED'"
    )


async def waiting(dispatcher: Dispatcher) -> list[tuple[str, bool]]:
    found = await dispatcher.in_thread(dispatcher.queue.handings)
    return [(one.conversation_id, one.running) for one in found]


async def test_a_conversation_waits_for_a_worker_once(dispatcher: Dispatcher) -> None:
    assert await dispatcher.wake("заказ 24601")
    assert not await dispatcher.wake("заказ 24601")
    assert await dispatcher.wake("c-2")
    assert await waiting(dispatcher) == [("заказ 24601", False), ("c-2", False)]
    assert await dispatcher.wake_all(["c-2", "c-3", "заказ 24601"]) == 1
    assert await dispatcher.wake_all([]) == 0


async def test_while_one_runs_another_may_wait_so_that_no_message_is_overlooked(
    dispatcher: Dispatcher, tables: sa.Connection
) -> None:
    assert await dispatcher.wake("c")
    runs(tables, "PENDING")
    assert await dispatcher.wake("c")
    assert not await dispatcher.wake("c")
    assert await waiting(dispatcher) == [("c", True), ("c", False)]
    runs(tables, "PENDING")
    assert not await dispatcher.wake("c")  # both are running: they look again when they are done


async def test_one_that_a_worker_has_just_taken_is_left_to_it_by_those_who_look_around(
    dispatcher: Dispatcher, tables: sa.Connection
) -> None:
    await dispatcher.wake("just taken")
    runs(tables, "PENDING")
    await dispatcher.wake("taken long ago")
    runs(tables, "PENDING", since=time.time() - 60)
    assert await dispatcher.wake_all(["just taken", "taken long ago"]) == 1
    assert await waiting(dispatcher) == [("just taken", True), ("taken long ago", True), ("taken long ago", False)]


async def test_posting_keeps_the_message_and_wakes_a_worker_unless_it_came_before(dispatcher: Dispatcher) -> None:
    assert await dispatcher.post("c", "Привет", key="k", principal=JOHN) == "queued"
    assert await waiting(dispatcher) == [("c", False)]
    assert await dispatcher.post("c", "Привет", key="k", principal=JOHN) == "duplicate"
    (message,) = await dispatcher.journal.queued("c")
    assert (message.content, message.principal) == ('"Привет"', JOHN)
    for name, content, key in [("d", " ", "k"), ("d", "hi", ""), ("\n", "hi", "k")]:
        with pytest.raises(InputError):
            await dispatcher.post(name, content, key=key)
    with pytest.raises(UnknownConversationError):
        await dispatcher.post("c", "mine", key="k-2", principal=tk.Principal("customer", "9603481"))
    assert await waiting(dispatcher) == [("c", False)]


async def test_a_message_is_kept_though_no_worker_can_be_told(
    dispatcher: Dispatcher, tables: sa.Connection, caplog: pytest.LogCaptureFixture
) -> None:
    tables.exec_driver_sql("DROP SCHEMA turnkeeper_workers CASCADE")
    assert await dispatcher.post("c", "карта 4111", key="k") == "queued"
    assert [one.content for one in await dispatcher.journal.queued("c")] == ['"карта 4111"']
    assert [one for one in caplog.messages if "4111" in one] == []
    assert "could not wake a worker (ProgrammingError); the next look around will" in caplog.messages


def upkeep(keeper: tk.Keeper, dispatcher: Dispatcher, *, keep: float = 3600.0) -> Upkeep:
    return Upkeep(keeper, dispatcher, executor="me", patience=Patience(), look_seconds=1, keep_seconds=keep)


async def test_what_a_dead_worker_ran_is_taken_out_and_what_a_live_one_runs_is_not(
    dispatcher: Dispatcher, tables: sa.Connection
) -> None:
    old = time.time() - 61
    for name, executor, since in [
        ("dead", "gone", old),
        ("recent", "gone", time.time()),
        ("driven", "alive", old),
        ("mine", "me", old),
    ]:
        await dispatcher.wake(name)
        runs(tables, "PENDING", executor=executor, since=since)
    await dispatcher.wake("waits")
    await dispatcher.journal.acquire("driven", holder="alive", seconds=30, now=time.time())
    async with agent_for(MessagesAPI()).open(dispatcher.journal) as keeper:
        await upkeep(keeper, dispatcher).tidy()
    assert await waiting(dispatcher) == [("recent", True), ("driven", True), ("mine", True), ("waits", False)]
    assert await dispatcher.wake("dead")


async def test_what_dbos_keeps_of_turns_long_gone_is_deleted(dispatcher: Dispatcher, tables: sa.Connection) -> None:
    for name in ("old", "recent", "waits"):
        await dispatcher.wake(name)
    ended = "UPDATE turnkeeper_workers.workflow_status SET status = 'SUCCESS', deduplication_id = NULL, completed_at = "
    for name, at in [("old", time.time() - 100), ("recent", time.time())]:
        tables.exec_driver_sql(f"{ended}{int(at * 1000)} WHERE deduplication_id = 'first:{name}'")
    async with agent_for(MessagesAPI()).open(dispatcher.journal) as keeper:
        await upkeep(keeper, dispatcher, keep=50).tidy()
    kept = tables.exec_driver_sql("SELECT status FROM turnkeeper_workers.workflow_status ORDER BY 1").scalars().all()
    assert list(kept) == ["ENQUEUED", "SUCCESS"]
    assert tables.exec_driver_sql("SELECT count(*) FROM turnkeeper_workers.workflow_input").scalar_one() == 2


async def test_who_has_died_is_rescued_once_the_lease_has_run_out(dispatcher: Dispatcher) -> None:
    now = time.time()
    for name, until in [("free", 0.0), ("held", now + 30), ("ran out", now - 1)]:
        await dispatcher.journal.enqueue(name, '"hi"', key="k", principal=None, now=now)
        if until:
            await dispatcher.journal.acquire(name, holder="elsewhere:1:x", seconds=until - now, now=now)
    async with agent_for(MessagesAPI()).open(dispatcher.journal) as keeper:
        watch = upkeep(keeper, dispatcher)
        assert await watch.rescue() == 2
        assert await watch.rescue() == 0
    assert sorted(await waiting(dispatcher)) == [("free", False), ("ran out", False)]


def test_what_does_not_move_is_left_alone_for_longer_and_longer() -> None:
    now = 0.0
    patience = Patience(lambda: now)
    assert patience.allows("c")
    pauses = []
    for _ in range(10):
        patience.stuck("c")
        before = now
        while not patience.allows("c"):
            now += 1
        pauses.append(now - before)
    assert pauses == [2, 4, 8, 16, 32, 64, 128, 256, 300, 300]
    patience.moved("c")
    assert patience.allows("c")


@pytest.mark.parametrize("url", ["memory:", "sqlite:///desk.db", "mysql://root@host/x", "no url", ""])
async def test_a_journal_that_is_not_in_postgresql_is_refused(url: str) -> None:
    with pytest.raises(ConfigurationError, match="workers need a journal in PostgreSQL"):
        async with open_dispatcher(url):
            pass
    with pytest.raises(ConfigurationError, match="workers need a journal in PostgreSQL"):
        await serve_worker(agent_for(MessagesAPI()), url)


async def test_without_the_extra_it_is_said_what_to_install(
    postgres_database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "dbos", None)
    for waits in (serve_worker(agent_for(MessagesAPI()), postgres_database), _opened(postgres_database)):
        with pytest.raises(ConfigurationError, match=r"pip install 'turnkeeper\[workers\]'"):
            await waits


async def _opened(url: str) -> None:
    async with open_dispatcher(url):
        raise AssertionError("it can't be opened")


def test_importing_the_part_loads_no_dbos() -> None:
    report = "import sys, turnkeeper.workers; print('dbos' in sys.modules, 'sqlalchemy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", report], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == "False False\n"
