"""Faults of a PostgreSQL journal: lost connections, a stopped server, locks, refusals. Nothing is written twice."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from typing import Any

import anyio
import pytest
import sqlalchemy as sa

from tests.journal.conftest import Open
from tests.journal.proxy import Proxy, proxy_to
from tests.journal.samples import ANA, NOON, one_turn, said, started
from tests.postgres import PostgresServer, fresh_database
from turnkeeper.errors import ConversationBusyError, JournalError
from turnkeeper.journal import Erasure, Journal, MemoryJournal, open_journal
from turnkeeper.journal.errors import (
    JournalLockedError,
    JournalReadOnlyError,
    JournalRefusedError,
    JournalUnreachableError,
)

pytestmark = pytest.mark.anyio


@pytest.fixture
def proxied(postgres_database: str) -> Iterator[tuple[Proxy, str]]:
    """A proxy before the server, and the database's URL through it."""
    url = sa.make_url(postgres_database)
    with proxy_to(str(url.host), int(url.port or 0)) as (proxy, through):
        yield proxy, through(postgres_database)


def by_hand(url: str, statement: str) -> list[Any]:
    engine = sa.create_engine(url, poolclass=sa.pool.NullPool, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        result = connection.exec_driver_sql(statement)
        return [tuple(row) for row in result] if result.returns_rows else []


# a word of the UPDATE, one of the values of the INSERT, and the end
COMMIT = "COMMIT\0"  # not the beginning of READ COMMITTED
CUTS = [("BEGIN", "after"), ("UPDATE", "before"), ("раз", "before"), ("раз", "after"), (COMMIT, "before")]
CUTS += [(COMMIT, "after")]


@pytest.mark.parametrize(("word", "when"), CUTS, ids=[" ".join(one).replace("\0", "") for one in CUTS])
async def test_a_connection_lost_in_an_append_is_made_again_and_nothing_is_written_twice(
    proxied: tuple[Proxy, str], opened: Open, word: str, when: str
) -> None:
    proxy, url = proxied
    journal = await opened(url)
    await journal.append("c-1", one_turn(), after=0)
    proxy.cut_at(word, when)
    assert await journal.append("c-1", [said("Точно один раз?")], after=9) == 10
    assert proxy.cuts == 1
    assert await journal.read("c-1") == [*one_turn(), said("Точно один раз?")]
    assert await journal.verify("c-1") == []
    assert await journal.append("c-1", [said()], after=10) == 11


@pytest.mark.parametrize("when", ["before", "after"])
async def test_a_connection_lost_in_an_append_of_one_statement_is_made_again_too(
    proxied: tuple[Proxy, str], opened: Open, when: str
) -> None:
    proxy, url = proxied
    journal = await opened(url)
    await journal.append("c-1", one_turn(), after=0)
    assert await journal.append("c-1", [said("Первый")], after=9) == 10
    proxy.cut_at("moved_on", when)
    assert await journal.append("c-1", [said("Точно один раз?")], after=10) == 11
    assert proxy.cuts == 1
    assert await journal.append("c-1", [said("И дальше")], after=11) == 12
    assert await journal.read("c-1", after=9) == [said("Первый"), said("Точно один раз?"), said("И дальше")]
    assert await journal.verify("c-1") == []


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("what", ["acquire", "renew", "release", "erase", "import_", "first append"])
async def test_other_writes_survive_a_lost_answer_too(
    proxied: tuple[Proxy, str], opened: Open, what: str, when: str
) -> None:
    proxy, url = proxied
    journal = await opened(url)
    await journal.append("c-1", one_turn(), after=0)
    lease = await journal.acquire("c-1", holder="h", seconds=30, now=NOON)
    carried = MemoryJournal()
    await carried.append("c-2", one_turn(), after=0)
    text = await carried.export("c-2")
    proxy.cut_at(COMMIT, when)
    match what:
        case "acquire":
            assert (await journal.acquire("c-2", holder="h", seconds=30, now=NOON)).token == 1
        case "renew":
            assert (await journal.renew(lease, seconds=60, now=NOON)).expires_at == NOON + 60
        case "release":
            await journal.release(lease)
            assert (await journal.acquire("c-1", holder="other", seconds=30, now=NOON)).token == 2
        case "erase":
            assert [one.events for one in await journal.erase("c-1", by=ANA, now=NOON)] == [9]
            assert len(await journal.erasures()) == 1
        case "import_":
            await journal.import_(text)
            assert await journal.export("c-2") == text
        case _:
            assert await journal.append("c-3", [started(), said()], after=0) == 2
            assert await journal.read("c-3") == [started(), said()]
    assert proxy.cuts == 1


async def test_an_append_that_lost_the_race_is_told_so_after_a_lost_connection_as_well(
    proxied: tuple[Proxy, str], postgres_database: str, opened: Open
) -> None:
    proxy, url = proxied
    journal, other = await opened(url), await opened(postgres_database)
    await journal.append("c-1", [started()], after=0)
    await other.append("c-1", [said("from another driver")], after=1)
    proxy.cut_at("UPDATE", "before")
    with pytest.raises(ConversationBusyError):
        await journal.append("c-1", [said("mine")], after=1)
    assert proxy.cuts == 1
    assert await journal.read("c-1", after=1) == [said("from another driver")]


async def test_a_server_that_stays_away_is_told_and_gone_on_with_when_it_is_back(
    proxied: tuple[Proxy, str], opened: Open
) -> None:
    proxy, url = proxied
    journal = await opened(url)
    await journal.append("c-1", one_turn(), after=0)
    proxy.cut_at(COMMIT, "before")
    proxy.refuse = True
    with pytest.raises(JournalUnreachableError, match=r"append to conversation 'c-1'.*Try again") as told:
        await journal.append("c-1", [said()], after=9)
    assert told.value.retryable
    assert str(sa.make_url(url).password) not in str(told.value)
    assert told.value.__cause__ is None
    with pytest.raises(JournalUnreachableError):
        await journal.read("c-1")
    proxy.refuse = False
    assert await journal.read("c-1") == one_turn()
    assert await journal.append("c-1", [said()], after=9) == 10


async def test_a_backend_that_is_shot_while_it_waits_is_replaced(postgres_database: str, opened: Open) -> None:
    journal = await opened(postgres_database)
    await journal.append("c-1", [started()], after=0)
    lock = "SELECT * FROM turnkeeper_conversations FOR UPDATE"
    waiting = "FROM pg_stat_activity WHERE application_name = 'turnkeeper' AND wait_event_type = 'Lock'"
    engine = sa.create_engine(postgres_database, poolclass=sa.pool.NullPool)
    async with anyio.create_task_group() as group:
        with engine.connect() as holder, anyio.fail_after(30):
            holder.exec_driver_sql(lock)
            group.start_soon(append, journal, [said()])
            await found(postgres_database, f"SELECT pid {waiting}")
            assert by_hand(postgres_database, f"SELECT pg_terminate_backend(pid) {waiting}") == [(True,)]
            await found(postgres_database, f"SELECT pid {waiting}")
            holder.rollback()
    assert await journal.read("c-1") == [started(), said()]


async def test_erasing_waits_for_an_append_under_way_and_removes_that_too(postgres_database: str, opened: Open) -> None:
    journal = await opened(postgres_database)
    await journal.append("c-1", [started(), said()], after=0)
    receipts: list[Erasure] = []

    async def erase() -> None:
        receipts.extend(await journal.erase("c-1", by=ANA, now=NOON))

    columns = "type, payload, at, format, hash"
    engine = sa.create_engine(postgres_database, poolclass=sa.pool.NullPool)
    async with anyio.create_task_group() as group:
        with engine.begin() as other, anyio.fail_after(30):
            other.exec_driver_sql("UPDATE turnkeeper_conversations SET last_seq = 3")
            other.exec_driver_sql(
                f"INSERT INTO turnkeeper_events (conversation_id, seq, {columns})"
                f" SELECT conversation_id, 3, {columns} FROM turnkeeper_events WHERE seq = 2"
            )
            group.start_soon(erase)
            await found(postgres_database, "SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock'")
    assert [one.events for one in receipts] == [3]
    assert by_hand(postgres_database, "SELECT count(*) FROM turnkeeper_events") == [(0,)]


async def found(url: str, query: str) -> None:
    """Wait until the query finds something."""
    while not by_hand(url, query):  # noqa: ASYNC110 - it is the server that changes
        await anyio.sleep(0.01)


async def append(journal: Journal, events: Any) -> None:
    await journal.append("c-1", events, after=1)


async def test_a_row_that_is_locked_too_long_fails_clearly(postgres_database: str, opened: Open) -> None:
    journal = await opened(postgres_database + "?options=-c%20lock_timeout%3D100ms")
    await journal.append("c-1", [started()], after=0)
    engine = sa.create_engine(postgres_database, poolclass=sa.pool.NullPool)
    with engine.connect() as holder:
        holder.exec_driver_sql("SELECT * FROM turnkeeper_conversations FOR UPDATE")
        with pytest.raises(JournalLockedError, match=r"append to conversation 'c-1'.*keeps it locked") as told:
            await journal.append("c-1", [said()], after=1)
        assert told.value.retryable
        assert await journal.read("c-1") == [started()]
    assert await journal.append("c-1", [said()], after=1) == 2


async def test_what_the_server_refuses_is_told_without_the_password(postgres_database: str) -> None:
    url = sa.make_url(postgres_database)
    cases: list[tuple[sa.URL, type[JournalError], str]] = [
        (url.set(password="geheim-123"), JournalRefusedError, "user name or the password"),
        (url.set(username="nobody", password="geheim-123"), JournalRefusedError, "user name or the password"),
        (url.set(database="not_there"), JournalRefusedError, "no database of that name"),
        (url.set(port=1), JournalUnreachableError, "can't be reached"),
        (url.set(host="host.invalid", password="geheim-123"), JournalUnreachableError, "can't be reached"),
    ]
    for wrong, kind, text in cases:
        with pytest.raises(kind, match=f"could not be opened: .*{text}") as told:
            await open_journal(wrong.render_as_string(hide_password=False))
        for secret in ("geheim-123", str(url.password)):
            assert secret not in str(told.value)
        assert told.value.__cause__ is None


async def test_an_option_that_the_driver_does_not_know_is_told(postgres_database: str) -> None:
    with pytest.raises(JournalError, match="could not be opened"):
        await open_journal(postgres_database + "?colour=blue")


async def test_a_user_without_rights_is_told(postgres_database: str) -> None:
    name = "reader_" + str(sa.make_url(postgres_database).database)
    by_hand(postgres_database, f"CREATE ROLE {name} LOGIN PASSWORD 'x'")
    try:
        url = sa.make_url(postgres_database).set(username=name, password="x")
        with pytest.raises(JournalRefusedError, match="lacks a right"):
            await open_journal(url.render_as_string(hide_password=False))
    finally:
        by_hand(postgres_database, f"DROP ROLE {name}")


async def test_a_read_only_server_is_read_and_not_written(postgres_database: str, opened: Open) -> None:
    await (await opened(postgres_database)).append("c-1", one_turn(), after=0)
    reader = await opened(postgres_database + "?options=-c%20default_transaction_read_only%3Don")
    assert await reader.read("c-1") == one_turn()
    with pytest.raises(JournalReadOnlyError, match="takes writes"):
        await reader.append("c-1", [said()], after=9)


async def test_a_database_that_can_not_hold_all_text_is_refused(postgres_url: str) -> None:
    with fresh_database(postgres_url) as url:
        by_hand(postgres_url, f"CREATE DATABASE {latin(url)} ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0")
        try:
            with pytest.raises(JournalRefusedError, match=r"keeps text as LATIN1.*ENCODING 'UTF8'"):
                await open_journal(sa.make_url(url).set(database=latin(url)).render_as_string(hide_password=False))
        finally:
            by_hand(postgres_url, f"DROP DATABASE {latin(url)} WITH (FORCE)")


def latin(url: str) -> str:
    return f"{sa.make_url(url).database}_latin"


@pytest.fixture(scope="module")
def own_server(postgres_url: str) -> Iterator[PostgresServer]:
    """A server that this module may stop; `postgres_url` says whether there can be one."""
    with PostgresServer() as server:
        yield server


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGQUIT], ids=["stopped", "crashed"])
async def test_what_was_acknowledged_survives_the_server(
    own_server: PostgresServer, opened: Open, how: signal.Signals
) -> None:
    """Also where the server's default is not to wait for its log, as with the one that the tests start."""
    name = f"c-{how}"
    journal = await opened(own_server.url())
    last = await journal.append(name, one_turn(), after=0)
    for _ in range(20):
        last = await journal.append(name, [said()], after=last)
    own_server.stop(how)
    with pytest.raises(JournalUnreachableError, match="can't be reached"):
        await journal.append(name, [said()], after=last)
    own_server.start()
    assert await journal.read(name) == [*one_turn(), *[said()] * 20]
    assert await journal.append(name, [said("weiter")], after=last) == last + 1
