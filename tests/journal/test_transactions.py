"""Transactions for a tool's writes: with the events or not at all, and ended whatever happens to the task."""

from __future__ import annotations

import asyncio

import anyio
import pytest
import sqlalchemy as sa

from tests.journal.conftest import Open
from tests.journal.proxy import proxy_to
from tests.journal.samples import NOON, one_turn, said, started
from tests.journal.test_tampering import by_hand
from turnkeeper.core.events import TurnParked, TurnWarned, TurnWoken
from turnkeeper.errors import ConversationBusyError, JournalError
from turnkeeper.journal import Journal, MemoryJournal
from turnkeeper.journal.errors import JournalLockedError

pytestmark = pytest.mark.anyio

ORDER = sa.text("INSERT INTO orders VALUES (24601)")


@pytest.fixture
def orders(database_url: str) -> str:
    """An application's table in the journal's database."""
    by_hand(database_url, "CREATE TABLE orders (id INTEGER)")
    return "SELECT id FROM orders"


async def test_writes_and_events_are_committed_together(
    database_journal: Journal, database_url: str, orders: str
) -> None:
    assert database_journal.transactional
    await database_journal.append("c-1", one_turn(), after=0)
    async with database_journal.transaction("c-1", token=None) as opened:
        opened.connection.execute(ORDER)
        assert await opened.commit([said()], after=9) == 10
    assert by_hand(database_url, orders) == [(24601,)]
    assert await database_journal.read("c-1") == [*one_turn(), said()]
    assert await database_journal.verify("c-1") == []


async def test_without_a_commit_nothing_stays(database_journal: Journal, database_url: str, orders: str) -> None:
    async with database_journal.transaction("c-1", token=None) as opened:
        opened.connection.execute(ORDER)

    async def fails() -> None:
        async with database_journal.transaction("c-1", token=None) as opened:
            opened.connection.execute(ORDER)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await fails()
    async with database_journal.transaction("c-1", token=None) as opened:
        opened.connection.execute(ORDER)
        opened.abandon()
    assert by_hand(database_url, orders) == []
    assert await database_journal.append("c-1", [started()], after=0) == 1


async def test_a_refused_append_takes_the_writes_with_it(
    database_journal: Journal, database_url: str, orders: str
) -> None:
    old = await database_journal.acquire("c-1", holder="a", seconds=30, now=NOON)
    await database_journal.append("c-1", one_turn(), after=0, token=old.token)
    async with database_journal.transaction("c-1", token=old.token) as opened:
        opened.connection.execute(ORDER)
        with pytest.raises(ConversationBusyError):
            await opened.commit([said()], after=7)
    await database_journal.acquire("c-1", holder="b", seconds=30, now=NOON + 31)
    async with database_journal.transaction("c-1", token=old.token) as opened:
        opened.connection.execute(ORDER)
        with pytest.raises(ConversationBusyError, match="taken over by b"):
            await opened.commit([said()], after=9)
    assert by_hand(database_url, orders) == []
    assert await database_journal.append("c-1", [said()], after=9) == 10


async def test_a_transaction_that_is_over_commits_nothing_more(
    database_journal: Journal, database_url: str, orders: str
) -> None:
    async with database_journal.transaction("c-1", token=None) as opened:
        await opened.commit([started()], after=0)
        with pytest.raises(JournalError, match="the transaction is over"):
            await opened.commit([said()], after=1)
    with pytest.raises(JournalError, match="the transaction is over"):
        await opened.commit([said()], after=1)
    assert await database_journal.read("c-1") == [started()]


async def test_memory_has_no_database_to_write_in() -> None:
    journal = MemoryJournal()
    assert not journal.transactional
    with pytest.raises(JournalError, match="no database"):
        async with journal.transaction("c-1", token=None):
            pass


async def test_many_that_wait_for_a_transaction_do_not_keep_it_from_ending(
    database_journal: Journal, database_url: str, orders: str
) -> None:
    async with anyio.create_task_group() as group, database_journal.transaction("c-1", token=None) as opened:
        for number in range(30):
            group.start_soon(begin, database_journal, f"other-{number}")
        with anyio.move_on_after(0.2):
            await anyio.sleep_forever()
        with anyio.fail_after(5):
            opened.connection.execute(ORDER)
            await opened.commit([started()], after=0)
    assert len(await database_journal.conversations()) == 31


async def begin(journal: Journal, name: str) -> None:
    await journal.append(name, [started()], after=0)


@pytest.mark.parametrize("native", [False, True], ids=["by anyio", "by asyncio"])
@pytest.mark.parametrize("moment", ["before begin", "in the block", "before commit"])
async def test_a_cancelled_task_leaves_no_transaction_open(
    database_journal: Journal, database_url: str, orders: str, moment: str, native: bool
) -> None:
    inside = anyio.Event()
    scope = anyio.CancelScope()

    async def work() -> None:
        with scope:
            if moment == "before begin":
                stop()
            async with database_journal.transaction("c-1", token=None) as opened:
                opened.connection.execute(ORDER)
                inside.set()
                if moment == "before commit":
                    stop()
                    await opened.commit([started()], after=0)
                await anyio.sleep_forever()

    def stop() -> None:
        if native:
            task.cancel()
        else:
            scope.cancel()

    task = asyncio.get_running_loop().create_task(work())
    if moment == "in the block":
        await inside.wait()
        stop()
    with anyio.fail_after(10):
        await asyncio.wait([task])
    assert task.cancelled() == native or task.exception() is None
    with anyio.fail_after(5):
        last = len(await database_journal.read("c-1"))
        assert by_hand(database_url, orders) == [(24601,)] * last  # both or neither
        assert await database_journal.append("c-1", [said()], after=last) == last + 1


async def test_a_task_cancelled_while_it_waits_to_begin_gives_its_turn_back(sqlite_url: str, opened: Open) -> None:
    journal = await opened(sqlite_url)

    async def work() -> None:
        async with journal.transaction("c-2", token=None):
            raise AssertionError("it was cancelled before")

    async with journal.transaction("c-1", token=None) as first:
        task = asyncio.get_running_loop().create_task(work())
        with anyio.move_on_after(0.2):
            await anyio.sleep_forever()
        task.cancel()
        await asyncio.wait([task])
        assert task.cancelled()
        await first.commit([started()], after=0)
    with anyio.fail_after(5):
        assert await journal.append("c-1", [said()], after=1) == 2


async def test_a_transaction_waits_its_turn_and_no_longer(sqlite_url: str, opened: Open) -> None:
    journal = await opened(sqlite_url + "?timeout=0.1")
    async with journal.transaction("c-1", token=None) as first:
        with pytest.raises(JournalLockedError, match="begin a transaction for conversation 'c-2'"):
            async with journal.transaction("c-2", token=None):
                raise AssertionError("two at once")
        assert await journal.read("c-1") == []
        await first.commit([started()], after=0)
    assert await journal.append("c-1", [said()], after=1) == 2


async def test_a_connection_that_broke_while_idle_is_replaced_before_a_tool_sees_it(
    postgres_database: str, opened: Open
) -> None:
    url = sa.make_url(postgres_database)
    with proxy_to(str(url.host), int(url.port or 0)) as (proxy, through):
        journal = await opened(through(postgres_database))
        await journal.append("c-1", [started()], after=0)
        proxy.cut_at("BEGIN", "before")
        async with journal.transaction("c-1", token=None) as transaction:
            transaction.connection.execute(sa.text("CREATE TABLE orders (id INTEGER)"))
            await transaction.commit([said()], after=1)
        assert proxy.cuts == 1
    assert by_hand(postgres_database, "SELECT count(*) FROM orders") == [(0,)]


async def test_waiting_lists_turns_that_wait_for_a_person(journal: Journal) -> None:
    async def parked(name: str, status: str, at: float) -> None:
        await journal.append(name, [started(), said(), TurnParked(at=at, status=status)], after=0)

    await parked("second", "awaiting_resolution", NOON + 2)
    await parked("first", "awaiting_approval", NOON + 1)
    await parked("woken", "awaiting_approval", NOON)
    await journal.append("woken", [TurnWoken(at=NOON + 3)], after=3)
    await journal.append("open", [started(), said(), TurnWarned(code="x", message="")], after=0)
    await journal.append("done", one_turn(), after=0)
    assert [one.id for one in await journal.waiting()] == ["first", "second"]
    assert [one.id for one in await journal.waiting(limit=1, offset=1)] == ["second"]
    assert await journal.waiting(limit=-1, offset=-1) == []
    assert sorted(one.id for one in await journal.unfinished(now=NOON)) == ["open", "woken"]
