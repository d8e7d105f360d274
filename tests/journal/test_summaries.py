"""Listing: principals, titles, statuses, order, pages; and what is left unfinished."""

from __future__ import annotations

import pytest

from tests.journal.samples import ANA, NOON, OLGA, ended, one_turn, said, started
from turnkeeper.core.events import ConversationStarted, Event, MessagesImported, TurnResumed, TurnWarned
from turnkeeper.journal import Journal, Summary
from turnkeeper.types import Principal

pytestmark = pytest.mark.anyio


async def only(journal: Journal) -> Summary:
    (summary,) = await journal.conversations()
    return summary


async def test_a_summary_tells_the_whole_of_a_conversation(journal: Journal) -> None:
    await journal.append("c-1", one_turn("Где мой заказ 24601?"), after=0)
    assert await only(journal) == Summary(
        id="c-1",
        principal=OLGA,
        created_at=NOON,
        updated_at=NOON + 8,
        events=9,
        turns=1,
        status="completed",
        title="Где мой заказ 24601?",
    )


async def test_a_summary_is_the_same_however_the_events_came_in(journal: Journal) -> None:
    events = [*one_turn("你好"), said("谢谢", at=NOON + 20), ended("cancelled", at=NOON + 21)]
    await journal.append("all", events, after=0)
    for number, event in enumerate(events):
        await journal.append("one by one", [event], after=number)
    by_name = {one.id: one for one in await journal.conversations()}
    assert by_name["all"].status == "cancelled"
    for field in ("principal", "created_at", "updated_at", "events", "turns", "status", "title"):
        assert getattr(by_name["all"], field) == getattr(by_name["one by one"], field)


async def test_the_status_is_the_last_turns_and_none_while_it_runs(journal: Journal) -> None:
    steps: list[tuple[list[Event], str | None, bool]] = [
        ([started()], None, False),
        ([said()], None, True),
        ([TurnWarned(code="x", message="")], None, True),
        ([ended("limit_reached")], "limit_reached", False),
        ([TurnWarned(code="x", message="")], "limit_reached", False),
        ([TurnResumed()], None, True),
        ([ended(), said(), ended("failed")], "failed", False),
    ]
    last = 0
    for events, status, is_open in steps:
        last = await journal.append("c-1", events, after=last)
        found = await only(journal)
        assert (found.status, found.is_open) == (status, is_open)


@pytest.mark.parametrize(
    ("content", "title"),
    [
        ("  Hello,\n\n  world\t! ", "Hello, world !"),
        ("x" * 60, "x" * 60),
        ("x" * 61, "x" * 59 + "…"),
        ("🙂" * 61, "🙂" * 59 + "…"),
        ([{"type": "image"}, {"type": "text", "text": "Что "}, {"type": "text", "text": "это?"}], "Что это?"),
        ("a\x00b", "a\ufffdb"),
        ("price \udc81 list", "price \ufffd list"),
        ("مرحبا بكم", "مرحبا بكم"),
        ({"not": "a message"}, "another message"),
        (["not a block"], "another message"),
        (7, "another message"),
    ],
)
async def test_a_title_is_the_beginning_of_the_first_message(journal: Journal, content: object, title: str) -> None:
    await journal.append("c-1", [started(), said(content)], after=0)
    await journal.append("c-1", [ended(), said("another message")], after=2)
    assert (await only(journal)).title == title


async def test_a_message_without_text_leaves_the_title_to_the_next(journal: Journal) -> None:
    image = [{"type": "image", "source": {"type": "url", "url": "https://example.org/cat.png"}}]
    await journal.append("c-1", [started(), said(image)], after=0)
    assert (await only(journal)).title == ""
    await journal.append("c-1", [ended(), said("What is it?")], after=2)
    assert (await only(journal)).title == "What is it?"


async def test_an_imported_message_gives_the_title(journal: Journal) -> None:
    first = '{"role":"user","content":[{"type":"text","text":"Come stai?"}]}'
    await journal.append("c-1", [started(), MessagesImported(messages=(first,))], after=0)
    assert (await only(journal)).title == "Come stai?"


async def test_a_conversation_may_have_no_principal(journal: Journal) -> None:
    await journal.append("c-1", [started(None)], after=0)
    await journal.append("c-2", [said()], after=0)
    assert [one.principal for one in await journal.conversations()] == [None, None]
    assert await journal.conversations(principal=OLGA) == []


async def test_listing_narrows_to_a_principal_of_any_level(journal: Journal) -> None:
    for number, level in enumerate(("anonymous", "verified")):
        await journal.append(f"o-{number}", [started(Principal("customer", "1213210", level))], after=0)
    await journal.append("a-1", [started(ANA)], after=0)
    await journal.append("x-1", [started(Principal("staff", "1213210"))], after=0)
    found = await journal.conversations(principal=Principal("customer", "1213210"))
    assert sorted(one.id for one in found) == ["o-0", "o-1"]
    assert sorted(one.principal.level for one in found if one.principal) == ["anonymous", "verified"]


async def test_a_principal_with_characters_no_column_takes_is_still_found(journal: Journal) -> None:
    odd = Principal("custo\x00mer", "Ольга")
    await journal.append("c-1", [started(odd)], after=0)
    (found,) = await journal.conversations(principal=odd)
    assert found.principal == Principal("custo\ufffdmer", "Ольга")


async def test_only_the_first_event_says_whose_a_conversation_is(journal: Journal) -> None:
    second = ConversationStarted(at=NOON, principal={"kind": "staff", "id": "mallory", "level": "admin"})
    await journal.append("c-1", [started(OLGA)], after=0)
    await journal.append("c-1", [second], after=1)
    assert (await only(journal)).principal == OLGA


async def test_the_newest_change_comes_first_and_pages_do_not_overlap(journal: Journal) -> None:
    for number in range(7):
        await journal.append(f"c-{number}", [started(at=NOON + number // 2)], after=0)
    await journal.append("c-0", [said(at=NOON + 100)], after=1)
    everything = [one.id for one in await journal.conversations()]
    assert everything == ["c-0", "c-6", "c-5", "c-4", "c-3", "c-2", "c-1"]
    pages = [[one.id for one in await journal.conversations(limit=3, offset=at)] for at in (0, 3, 6, 9)]
    assert pages == [everything[:3], everything[3:6], everything[6:], []]
    assert [await journal.conversations(limit=limit) for limit in (0, -1)] == [[], []]
    assert [one.id for one in await journal.conversations(limit=1, offset=-5)] == ["c-0"]


async def test_equal_times_are_ordered_by_code_point_whatever_the_language(journal: Journal) -> None:
    names = ["a", "B", "ä", "Z", "я", "_", "10", "9", "你"]
    for name in names:
        await journal.append(name, [started()], after=0)
    assert [one.id for one in await journal.conversations()] == sorted(names, reverse=True)


async def test_a_lease_alone_makes_no_conversation(journal: Journal) -> None:
    await journal.acquire("c-1", holder="h", seconds=30, now=NOON)
    assert await journal.conversations() == []
    assert await journal.unfinished(now=NOON + 100) == []


async def test_unfinished_are_open_turns_that_nobody_drives(journal: Journal) -> None:
    async def begun(name: str, at: float) -> None:
        await journal.append(name, [started(at=at), said(at=at)], after=0)

    await begun("never leased", NOON + 3)
    await begun("run out", NOON + 2)
    await journal.acquire("run out", holder="dead", seconds=30, now=NOON)
    await begun("released", NOON + 1)
    await journal.release(await journal.acquire("released", holder="h", seconds=30, now=NOON))
    await begun("driven", NOON)
    await journal.acquire("driven", holder="alive", seconds=60, now=NOON)
    await journal.append("done", one_turn(), after=0)
    await journal.append("no turn yet", [started()], after=0)

    found = await journal.unfinished(now=NOON + 30)
    assert [one.id for one in found] == ["released", "run out", "never leased"]
    assert all(one.is_open and one.principal == OLGA for one in found)
    assert [one.id for one in await journal.unfinished(now=NOON + 29.5)] == ["released", "never leased"]
    assert [one.id for one in await journal.unfinished(now=NOON + 60, limit=1)] == ["driven"]
