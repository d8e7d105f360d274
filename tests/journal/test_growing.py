"""What a long history costs: it is read once, a turn adds no more to it than to a short one, and idling is free."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import anyio
import pytest
import sqlalchemy as sa

import turnkeeper as tk
from turnkeeper.core.events import RequestStarted
from turnkeeper.journal import Journal, statements
from turnkeeper.journal.chain import sound_events
from turnkeeper.testing import FixedClock, MessagesAPI, call, reply

pytestmark = pytest.mark.anyio

TURNS = 2500
EVENTS = 1 + 4 * TURNS
DAY = 24 * 3600


@tk.tool(approval="always")
def refund(order_id: str) -> str:
    """Refund an order."""
    return f"refunded {order_id}"


def agent(answer: Any, clock: FixedClock) -> tk.Agent:
    api = MessagesAPI(answer)
    return tk.Agent(model="claude-opus-4-8", max_tokens=1000, client=api, tools=[refund], clock=clock, cache=False)


@pytest.fixture
def rows_read(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many events each reading of the journal gave."""
    read: list[int] = []

    def counted(name: str, rows: Any, **options: Any) -> Any:
        read.append(len(rows))
        return sound_events(name, rows, **options)

    monkeypatch.setattr("turnkeeper.journal.sql.sound_events", counted)
    return read


@pytest.fixture
def executed(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Every statement that goes to a database, by SQLAlchemy or past it."""
    found: list[str] = []

    def note(_c: Any, _cursor: Any, statement: str, *_: Any) -> None:
        found.append(statement)

    by_cursor = statements.by_cursor

    def past_sqlalchemy(cursor: Any, dialect: sa.Dialect, statement: sa.Executable, values: Any) -> None:
        found.append(str(statement))
        by_cursor(cursor, dialect, statement, values)

    monkeypatch.setattr(statements, "by_cursor", past_sqlalchemy)
    sa.event.listen(sa.Engine, "before_cursor_execute", note)
    yield found
    sa.event.remove(sa.Engine, "before_cursor_execute", note)


async def lengthened(journal: Journal, name: str) -> None:
    """The same turn again, until there are `EVENTS`."""
    first, *turn = await journal.read(name)
    assert [event.type for event in (first, *turn)][1:] == [
        *("turn_started", "request_started", "reply_received", "turn_ended")
    ]
    again = [replace(event, setup=None) if isinstance(event, RequestStarted) else event for event in turn]
    for number in range(1, TURNS, 500):
        turns = min(500, TURNS - number)
        await journal.append(name, again * turns, after=1 + 4 * number)


async def test_ten_thousand_events_are_read_once_and_a_turn_adds_what_it_adds_to_a_short_history(
    database_url: str, rows_read: list[int]
) -> None:
    clock = FixedClock()
    async with agent(lambda _: "Готово", clock).open(database_url) as keeper:
        for name in ("long", "short"):
            await (await keeper.conversation(name)).send("Спасибо")
        await lengthened(keeper.journal, "long")
    async with agent(lambda _: "Готово", clock).open(database_url) as keeper:
        rows_read.clear()
        conversation = await keeper.conversation("long")
        assert rows_read == [EVENTS]
        await conversation.send("Ещё вопрос")
        await conversation.send("И ещё")
        assert rows_read == [EVENTS, 1, 1]  # the last one that is known, to be sure that it is still there
        await (await keeper.conversation("short")).send("Ещё вопрос")
        long = (await keeper.journal.read("long", after=EVENTS))[:4]
        short = await keeper.journal.read("short", after=5)
    assert [event.type for event in long] == [event.type for event in short]
    grown = [sum(len(event.to_payload()) for event in events) for events in (long, short)]
    assert 0 <= grown[0] - grown[1] < 20  # the numbers of tokens have more digits


async def test_nothing_is_asked_of_the_database_while_conversations_wait(
    database_url: str, executed: list[str]
) -> None:
    clock = FixedClock()
    asks = reply(call("refund", {"order_id": "24601"}))
    async with agent(lambda _: asks, clock).open(database_url) as keeper:
        for number in range(20):
            found = await (await keeper.conversation(f"c-{number}")).send("Верните деньги")
            assert found.status is tk.TurnStatus.AWAITING_APPROVAL
        assert executed != []
        executed.clear()
        tasks = len(asyncio.all_tasks())
        for _ in range(100):
            clock.advance(DAY)
            await anyio.lowlevel.checkpoint()
        assert (executed, len(asyncio.all_tasks())) == ([], tasks)
        assert len(await keeper.journal.waiting()) == 20
        assert [one.startswith("SELECT") for one in executed if one != "BEGIN"] == [True]
