"""Appending and reading: numbers without gaps, all or nothing, nothing lost, conflicts told."""

from __future__ import annotations

import random

import anyio
import pytest

from tests.journal.conftest import Open
from tests.journal.samples import NOON, ended, one_turn, said, started
from turnkeeper.core.events import EVENT_TYPES, TurnWarned
from turnkeeper.core.machine import replay
from turnkeeper.errors import ConversationBusyError, InputError
from turnkeeper.journal import Journal

pytestmark = pytest.mark.anyio


async def test_what_was_appended_is_read_back_equal_and_in_order(journal: Journal) -> None:
    events = one_turn()
    assert await journal.append("c-1", events[:4], after=0) == 4
    assert await journal.append("c-1", events[4:], after=4) == 9
    assert await journal.read("c-1") == events
    assert replay(await journal.read("c-1")) == replay(events)


async def test_raw_fields_come_back_to_the_byte(journal: Journal) -> None:
    content = '[ {"type":"text" ,\n"text":"a\\u00e9\\/b"}, {"z":1.0e2,"a":-0.0} ]'
    await journal.append("c-1", [started(), TurnWarned(code="x", message="y")], after=0)
    event = EVENT_TYPES["turn_started"](at=NOON, content=content)  # type: ignore[call-arg]
    await journal.append("c-1", [event], after=2)
    (found,) = await journal.read("c-1", after=2)
    assert found.content == content  # type: ignore[attr-defined]


async def test_times_come_back_to_the_last_bit(journal: Journal) -> None:
    times = [1796040000.1234567, 0.1 + 0.2, 1e-9, 2.0**52 + 0.5]
    await journal.append("c-1", [TurnWarned(at=at, code="x", message="") for at in times], after=0)
    assert [event.at for event in await journal.read("c-1")] == times


async def test_reading_may_begin_anywhere(journal: Journal) -> None:
    events = one_turn()
    await journal.append("c-1", events, after=0)
    for after in range(len(events) + 3):
        assert await journal.read("c-1", after=after) == events[after:]
    assert await journal.read("c-1", after=-1) == events


async def test_a_conversation_that_is_not_there_reads_as_empty(journal: Journal) -> None:
    assert await journal.read("nobody") == []
    assert await journal.read("nobody", after=7) == []
    assert await journal.conversations() == []


async def test_an_append_that_comes_second_is_refused_and_changes_nothing(journal: Journal) -> None:
    await journal.append("c-1", [started(), said("first")], after=0)
    for after in (0, 1, 3, 99):
        with pytest.raises(ConversationBusyError, match=r"c-1.*moved on"):
            await journal.append("c-1", [said("second")], after=after)
    assert await journal.read("c-1") == [started(), said("first")]
    assert await journal.append("c-1", [ended()], after=2) == 3


async def test_an_append_to_a_conversation_that_is_not_there_is_refused(journal: Journal) -> None:
    with pytest.raises(ConversationBusyError):
        await journal.append("c-1", [said()], after=1)
    with pytest.raises(ConversationBusyError):
        await journal.append("c-1", [said()], after=0, token=1)
    assert await journal.conversations() == []


async def test_appending_nothing_only_asks_whether_one_could(journal: Journal) -> None:
    assert await journal.append("c-1", [], after=0) == 0
    with pytest.raises(ConversationBusyError):
        await journal.append("c-1", [], after=1)
    await journal.append("c-1", [started()], after=0)
    assert await journal.append("c-1", [], after=1) == 1
    with pytest.raises(ConversationBusyError):
        await journal.append("c-1", [], after=0)
    with pytest.raises(ConversationBusyError):
        await journal.append("c-1", [], after=1, token=5)


async def test_conversations_do_not_touch_each_other(journal: Journal) -> None:
    await journal.append("a", one_turn("in a"), after=0)
    await journal.append("b", one_turn("in b"), after=0)
    assert await journal.read("a") == one_turn("in a")
    assert await journal.read("b") == one_turn("in b")


async def test_of_writers_at_the_same_time_one_wins_each_number(journal: Journal) -> None:
    await journal.append("c-1", [started()], after=0)
    won: list[str] = []

    async def write(name: str) -> None:
        chance = random.Random(name)
        for _ in range(12):
            last = len(await journal.read("c-1"))
            batch = [TurnWarned(code=name, message=str(n)) for n in range(chance.randint(1, 3))]
            try:
                after = await journal.append("c-1", batch, after=last)
            except ConversationBusyError:
                continue
            assert after == last + len(batch)
            won.extend(name for _ in batch)

    async with anyio.create_task_group() as group:
        for name in ("α", "β", "γ", "δ"):
            group.start_soon(write, name)
    found = await journal.read("c-1")
    assert sorted(event.code for event in found[1:]) == sorted(won)  # type: ignore[attr-defined]
    assert await journal.verify("c-1") == []


async def test_many_conversations_grow_at_the_same_time(journal: Journal) -> None:
    async def write(name: str) -> None:
        last = await journal.append(name, [started()], after=0)
        for number in range(5):
            last = await journal.append(name, [TurnWarned(code=name, message=str(number))], after=last)

    names = [f"c-{number}" for number in range(20)]
    async with anyio.create_task_group() as group:
        for name in names:
            group.start_soon(write, name)
    assert {one.id: one.events for one in await journal.conversations()} == dict.fromkeys(names, 6)


@pytest.mark.parametrize("name", ["заказ-42", "订单", "c 1", "👩‍👧", "שלום", "a" * 255, "x/../y", "%_'\";--", "\u200f"])
async def test_an_id_may_be_any_text_a_person_would_write(journal: Journal, name: str) -> None:
    await journal.append(name, [started()], after=0)
    lease = await journal.acquire(name, holder="h", seconds=1, now=NOON)
    await journal.release(lease)
    assert [one.id for one in await journal.conversations()] == [name]
    assert await journal.read(name) == [started()]
    assert await journal.read(name + "x" if len(name) < 255 else "a" * 254) == []


@pytest.mark.parametrize("name", ["", "a" * 256, "a\x00b", "a\nb", "\x1b[2J", "\x9b", "c-\udc81"])
async def test_an_id_that_could_not_be_kept_everywhere_is_refused(journal: Journal, name: str) -> None:
    with pytest.raises(InputError, match="conversation's id"):
        await journal.append(name, [started()], after=0)
    with pytest.raises(InputError):
        await journal.read(name)
    with pytest.raises(InputError):
        await journal.acquire(name, holder="h", seconds=1, now=NOON)
    with pytest.raises(InputError):
        await journal.export(name)
    with pytest.raises(InputError):
        await journal.verify(name)
    assert await journal.conversations() == []


async def test_what_was_appended_is_there_after_closing_and_opening(database_url: str, opened: Open) -> None:
    first = await opened(database_url)
    await first.append("c-1", one_turn(), after=0)
    await first.aclose()
    second = await opened(database_url)
    assert await second.read("c-1") == one_turn()
    assert await second.append("c-1", [said("И ещё")], after=9) == 10


async def test_two_journals_on_one_database_see_each_other(database_url: str, opened: Open) -> None:
    one, other = await opened(database_url), await opened(database_url)
    await one.append("c-1", [started()], after=0)
    assert await other.append("c-1", [said()], after=1) == 2
    assert await one.read("c-1", after=1) == [said()]
