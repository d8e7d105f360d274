"""How the database is used: reading is one pass, listing reads no events, recovery has an index, storage is lean."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import sqlalchemy as sa

from tests.journal.conftest import Open
from tests.journal.samples import NOON, OLGA, one_turn, said, started
from tests.journal.test_tampering import by_hand
from turnkeeper.core.events import TurnWarned
from turnkeeper.errors import ConversationBusyError
from turnkeeper.journal import Journal
from turnkeeper.journal import statements as sql

pytestmark = pytest.mark.anyio


@contextmanager
def statements() -> Iterator[list[tuple[str, Any]]]:
    """What is sent to any database meanwhile, with its values."""
    seen: list[tuple[str, Any]] = []

    def note(connection: Any, cursor: Any, statement: str, parameters: Any, context: Any, executemany: bool) -> None:
        if not statement.startswith("BEGIN"):
            seen.append((statement, parameters))

    by_cursor = sql.by_cursor

    def note_direct(cursor: Any, dialect: sa.Dialect, statement: sa.Executable, values: Any) -> None:
        seen.append((str(statement), values))
        by_cursor(cursor, dialect, statement, values)

    sa.event.listen(sa.Engine, "before_cursor_execute", note)
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sql, "by_cursor", note_direct)
            yield seen
    finally:
        sa.event.remove(sa.Engine, "before_cursor_execute", note)


async def test_ten_thousand_events_are_read_in_one_pass(database_journal: Journal) -> None:
    batch = [started(), *(TurnWarned(at=NOON + n, code="n", message=f"№ {n} 🙂") for n in range(9_999))]
    await database_journal.append("c-1", batch, after=0)
    with statements() as seen:
        assert await database_journal.read("c-1") == batch
    about_events = [text for text, _ in seen if "turnkeeper_events" in text]
    assert len(about_events) == 1
    assert len(seen) == 2
    with statements() as seen:
        assert await database_journal.read("c-1", after=9_998) == batch[9_998:]
    assert len(seen) == 3


async def test_listing_never_reads_events(database_journal: Journal) -> None:
    for number in range(3):
        await database_journal.append(f"c-{number}", one_turn(), after=0)
    with statements() as seen:
        await database_journal.conversations()
        await database_journal.conversations(principal=OLGA, limit=1, offset=1)
        await database_journal.unfinished(now=NOON)
    assert len(seen) == 3
    assert not [text for text, _ in seen if "turnkeeper_events" in text]


async def test_an_append_is_two_statements_in_one_transaction(database_journal: Journal) -> None:
    await database_journal.append("c-1", one_turn(), after=0)
    with statements() as seen:
        await database_journal.append("c-1", [said()], after=9)
    assert [text.split()[0] for text, _ in seen] == ["UPDATE", "INSERT"]


async def test_postgresql_takes_the_next_event_in_one_statement(opened: Open, postgres_database: str) -> None:
    journal = await opened(postgres_database)
    await journal.append("c-1", one_turn(), after=0)
    await journal.append("c-1", [said()], after=9)
    with statements() as seen:
        assert await journal.append("c-1", [said()], after=10) == 11
    assert [text.split()[0] for text, _ in seen] == ["WITH"]
    # another driver was faster: what is known of the last event is of no use, and the answer is as ever
    other = await opened(postgres_database)
    await other.append("c-1", [said()], after=11)
    with pytest.raises(ConversationBusyError, match="it has 12 events, not 11"):
        await journal.append("c-1", [said()], after=11)
    assert await journal.append("c-1", [said()], after=12) == 13
    assert await journal.verify("c-1") == []


async def test_recovery_and_listing_use_their_indexes(tmp_path: Any, opened: Open) -> None:
    url = f"sqlite:///{tmp_path}/journal.db"
    journal = await opened(url)
    with statements() as seen:
        await journal.unfinished(now=NOON)
        await journal.conversations()
        await journal.conversations(principal=OLGA)
        await journal.read("c-1", after=3)
    plans = [explained(url, text, values) for text, values in seen]
    assert "turnkeeper_conversations_open" in plans[0]
    assert "turnkeeper_conversations_updated" in plans[1]
    assert "turnkeeper_conversations_principal" in plans[2]
    assert "SCAN" not in plans[0] + plans[2] + plans[3]


def explained(url: str, statement: str, values: Any) -> str:
    engine = sa.create_engine(url, poolclass=sa.pool.NullPool)
    with engine.connect() as connection:
        rows = connection.exec_driver_sql("EXPLAIN QUERY PLAN " + statement, values).all()
    return " / ".join(str(row[3]) for row in rows)


async def test_storage_grows_by_what_is_new_only(database_journal: Journal, database_url: str) -> None:
    await database_journal.append("c-1", [started()], after=0)
    for number in range(50):
        await database_journal.append("c-1", [TurnWarned(code="x", message="y" * 100)], after=1 + number)
    rows = by_hand(database_url, "SELECT count(*), sum(length(payload)) FROM turnkeeper_events")
    assert rows == [(51, 50 * len(TurnWarned(code="x", message="y" * 100).to_payload()) + len(started().to_payload()))]
    assert by_hand(database_url, "SELECT count(*) FROM turnkeeper_conversations") == [(1,)]


async def test_a_reader_in_the_middle_of_its_transaction_stops_no_writer(
    database_journal: Journal, database_url: str
) -> None:
    await database_journal.append("c-1", one_turn(), after=0)
    engine = sa.create_engine(database_url, poolclass=sa.pool.NullPool, isolation_level="REPEATABLE READ")
    if "sqlite" in database_url:
        engine = sa.create_engine(database_url, poolclass=sa.pool.NullPool)
    count = "SELECT count(*) FROM turnkeeper_events"
    with engine.connect() as reader:
        reader.exec_driver_sql("BEGIN") if "sqlite" in database_url else None
        assert reader.exec_driver_sql(count).scalar_one() == 9
        await database_journal.append("c-1", [said()], after=9)
        assert reader.exec_driver_sql(count).scalar_one() == 9
    assert len(await database_journal.read("c-1")) == 10


async def test_a_sqlite_journal_is_set_up_for_safety(tmp_path: Any, opened: Open) -> None:
    url = f"sqlite:///{tmp_path}/journal.db"
    journal = await opened(url)
    pragmas: dict[str, Any] = {}

    def look(connection: Any, *_: Any) -> None:
        for name in ("journal_mode", "synchronous", "foreign_keys", "secure_delete", "busy_timeout"):
            pragmas[name] = connection.execute(f"PRAGMA {name}").fetchone()[0]

    sa.event.listen(sa.Engine, "checkout", look)
    try:
        await journal.append("c-1", [started()], after=0)
    finally:
        sa.event.remove(sa.Engine, "checkout", look)
    assert pragmas == {
        "journal_mode": "wal",
        "synchronous": 2,
        "foreign_keys": 1,
        "secure_delete": 1,
        "busy_timeout": 10_000,
    }


async def test_a_write_begins_at_once_and_a_read_does_not(tmp_path: Any, opened: Open) -> None:
    journal = await opened(f"sqlite:///{tmp_path}/journal.db")
    begun: list[str] = []

    def note(connection: Any, cursor: Any, statement: str, *_: Any) -> None:
        begun.extend([statement] if statement.startswith("BEGIN") else [])

    sa.event.listen(sa.Engine, "before_cursor_execute", note)
    try:
        await journal.append("c-1", one_turn(), after=0)
        await journal.read("c-1")
        await journal.conversations()
        await journal.release(await journal.acquire("c-1", holder="h", seconds=1, now=NOON))
    finally:
        sa.event.remove(sa.Engine, "before_cursor_execute", note)
    assert begun == ["BEGIN IMMEDIATE", "BEGIN", "BEGIN", "BEGIN IMMEDIATE", "BEGIN IMMEDIATE"]


async def test_verify_sees_one_state_of_the_journal(database_journal: Journal) -> None:
    await database_journal.append("c-1", one_turn(), after=0)
    begun: list[sa.Connection] = []

    def note(connection: sa.Connection) -> None:
        begun.append(connection)

    sa.event.listen(sa.Engine, "begin", note)
    try:
        assert await database_journal.verify("c-1") == []
    finally:
        sa.event.remove(sa.Engine, "begin", note)
    assert len(begun) == 1
