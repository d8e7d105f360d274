"""What was changed outside of Turnkeeper is noticed: by reading, and with all its places by verify."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest
import sqlalchemy as sa

from tests.journal.samples import NOON, one_turn, said
from turnkeeper.core.events import FORMAT_VERSION
from turnkeeper.errors import JournalError, JournalVersionError, UnknownConversationError
from turnkeeper.journal import Journal
from turnkeeper.journal.errors import JournalDamagedError

pytestmark = pytest.mark.anyio


def by_hand(url: str, *statements: str) -> list[Any]:
    """Run SQL as somebody with access to the database might; the rows of the last statement."""
    engine = sa.create_engine(url)
    rows: list[Any] = []
    try:
        with engine.begin() as connection:
            for statement in statements:
                result = connection.exec_driver_sql(statement)
                rows = [tuple(row) for row in result] if result.returns_rows else []
    finally:
        engine.dispose()
    return rows


async def test_an_untouched_conversation_has_no_problems(journal: Journal) -> None:
    await journal.append("c-1", one_turn(), after=0)
    await journal.append("c-1", [said()], after=9)
    assert await journal.verify("c-1") == []
    with pytest.raises(UnknownConversationError):
        await journal.verify("c-2")


CHANGES = {
    "a word in a payload": (
        "UPDATE turnkeeper_events SET payload = replace(payload, 'пути', 'печи') WHERE seq = 8",
        [(8, "changed")],
        "event 8 is not what was written",
    ),
    "a time": ("UPDATE turnkeeper_events SET at = at + 1 WHERE seq = 2", [(2, "changed")], "event 2 is not"),
    "a token": ("UPDATE turnkeeper_events SET token = 7 WHERE seq = 2", [(2, "changed")], "event 2 is not"),
    "a type": ("UPDATE turnkeeper_events SET type = 'turn_resumed' WHERE seq = 9", [(9, "changed")], "event 9 is"),
    "an event removed": ("DELETE FROM turnkeeper_events WHERE seq = 4", [(4, "missing")], "event 4 is missing"),
    "the first removed": ("DELETE FROM turnkeeper_events WHERE seq = 1", [(1, "missing")], "event 1 is missing"),
    "the last removed": ("DELETE FROM turnkeeper_events WHERE seq = 9", [(None, "count")], "9 events were appended"),
    "all removed": ("DELETE FROM turnkeeper_events", [(None, "count")], "9 events were appended"),
    "a copy of another": (
        "UPDATE turnkeeper_events SET hash = (SELECT o.hash FROM turnkeeper_events o WHERE o.seq = 2"
        " AND o.conversation_id = 'c-1') WHERE seq = 3",
        [(3, "changed"), (4, "changed")],
        "event 3 is not",
    ),
    "no JSON": (
        "UPDATE turnkeeper_events SET payload = 'oops' WHERE seq = 3",
        [(3, "changed"), (3, "unreadable")],
        "event 3 is not",
    ),
}


@pytest.mark.parametrize("change", CHANGES)
async def test_a_change_by_hand_shows(database_journal: Journal, database_url: str, change: str) -> None:
    statement, problems, message = CHANGES[change]
    await database_journal.append("c-1", one_turn(), after=0)
    await database_journal.append("c-2", one_turn(), after=0)
    by_hand(database_url, statement + (" AND" if "WHERE" in statement else " WHERE") + " conversation_id = 'c-1'")
    assert [(one.seq, one.kind) for one in await database_journal.verify("c-1")] == problems
    with pytest.raises(JournalDamagedError, match=rf"'c-1'.*{message}.*backup"):
        await database_journal.read("c-1")
    assert await database_journal.verify("c-2") == []
    assert await database_journal.read("c-2") == one_turn()


async def test_a_change_in_the_part_that_is_not_read_does_not_stop_reading(
    database_journal: Journal, database_url: str
) -> None:
    await database_journal.append("c-1", one_turn(), after=0)
    by_hand(database_url, "UPDATE turnkeeper_events SET payload = '{}' WHERE seq = 2")
    assert await database_journal.read("c-1", after=2) == one_turn()[2:]


async def test_an_inserted_event_shows(database_journal: Journal, database_url: str) -> None:
    await database_journal.append("c-1", one_turn(), after=0)
    by_hand(
        database_url,
        "INSERT INTO turnkeeper_events (conversation_id, seq, type, payload, at, format, hash)"
        " SELECT conversation_id, 10, type, payload, at, format, hash FROM turnkeeper_events WHERE seq = 9",
    )
    assert [(one.seq, one.kind) for one in await database_journal.verify("c-1")] == [(10, "changed"), (None, "count")]
    with pytest.raises(JournalDamagedError, match="event 10 is not what was written"):
        await database_journal.read("c-1")
    with pytest.raises(JournalDamagedError, match=r"append to conversation 'c-1'.*contradicts itself.*nothing was"):
        await database_journal.append("c-1", [said()], after=9)
    assert by_hand(database_url, "SELECT last_seq FROM turnkeeper_conversations") == [(9,)]


async def test_nothing_is_appended_behind_an_event_that_is_gone(database_journal: Journal, database_url: str) -> None:
    await database_journal.append("c-1", one_turn(), after=0)
    by_hand(database_url, "DELETE FROM turnkeeper_events WHERE seq = 9")
    with pytest.raises(JournalDamagedError, match=r"event 9 of conversation 'c-1' is missing.*nothing was appended"):
        await database_journal.append("c-1", [said()], after=9)
    assert by_hand(database_url, "SELECT last_seq FROM turnkeeper_conversations") == [(9,)]


async def test_an_event_of_a_newer_format_asks_for_an_upgrade(database_journal: Journal, database_url: str) -> None:
    await database_journal.append("c-1", one_turn(), after=0)
    newer = FORMAT_VERSION + 1
    (row,) = by_hand(database_url, "SELECT payload, at, type FROM turnkeeper_events WHERE seq = 9")
    (before,) = by_hand(database_url, "SELECT hash FROM turnkeeper_events WHERE seq = 8")
    head = json.dumps([before[0], "c-1", 9, row[2], row[1], None, newer], separators=(",", ":"))
    fits = hashlib.sha256(f"{head}\n{row[0]}".encode()).hexdigest()
    by_hand(database_url, f"UPDATE turnkeeper_events SET format = {newer}, hash = '{fits}' WHERE seq = 9")
    with pytest.raises(JournalVersionError, match=f"event 9 .* has format {newer}.*Upgrade"):
        await database_journal.read("c-1")


async def test_an_event_of_an_unknown_type_is_named(database_journal: Journal, database_url: str) -> None:
    await database_journal.append("c-1", one_turn(), after=0)
    (row,) = by_hand(database_url, "SELECT payload, at FROM turnkeeper_events WHERE seq = 1")
    head = json.dumps(["", "c-1", 1, "conversation_teleported", row[1], None, 1], separators=(",", ":"))
    fits = hashlib.sha256(f"{head}\n{row[0]}".encode()).hexdigest()
    by_hand(
        database_url,
        f"UPDATE turnkeeper_events SET type = 'conversation_teleported', hash = '{fits}' WHERE seq = 1",
        "DELETE FROM turnkeeper_events WHERE seq > 1",
        "UPDATE turnkeeper_conversations SET last_seq = 1",
    )
    with pytest.raises(JournalError, match="conversation_teleported"):
        await database_journal.read("c-1")
    assert [one.kind for one in await database_journal.verify("c-1")] == ["unreadable"]


async def test_the_database_itself_refuses_a_second_event_of_a_number(
    database_journal: Journal, database_url: str
) -> None:
    await database_journal.append("c-1", one_turn(), after=0)
    columns = "conversation_id, seq, type, payload, at, format, hash"
    with pytest.raises(sa.exc.IntegrityError):
        by_hand(database_url, f"INSERT INTO turnkeeper_events ({columns}) SELECT {columns} FROM turnkeeper_events")


async def test_the_hash_is_the_one_the_documentation_describes(database_journal: Journal, database_url: str) -> None:
    lease = await database_journal.acquire("заказ", holder="h", seconds=30, now=NOON)
    await database_journal.append("заказ", one_turn("你好 🙂"), after=0, token=lease.token)
    previous = ""
    rows = by_hand(
        database_url,
        "SELECT seq, type, at, token, format, payload, hash FROM turnkeeper_events ORDER BY seq",
    )
    for seq, kind, at, token, version, payload, found in rows:
        head = json.dumps([previous, "заказ", seq, kind, at, token, version], ensure_ascii=False, separators=(",", ":"))
        previous = hashlib.sha256((head + "\n" + payload).encode("utf-8")).hexdigest()
        assert found == previous
