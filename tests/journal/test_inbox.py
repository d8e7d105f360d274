"""The inbox: messages wait in order, each key counts once, and the beginning of its turn takes a message out."""

from __future__ import annotations

from dataclasses import replace

import anyio
import pytest

from tests.journal.conftest import Open
from tests.journal.samples import ANA, NOON, OLGA, ended, one_turn, said, started
from turnkeeper.core.events import TurnParked, TurnWoken
from turnkeeper.errors import ConversationBusyError, InputError, UnknownConversationError
from turnkeeper.journal import Erasure, Journal, Queued
from turnkeeper.types import Principal
from turnkeeper.wire.json import encode

pytestmark = pytest.mark.anyio


async def put(
    journal: Journal, key: str, text: str = "Где заказ?", *, name: str = "c-1", at: float = NOON, who: object = OLGA
) -> bool:
    principal = who if isinstance(who, Principal) else None
    return await journal.enqueue(name, encode(text), key=key, principal=principal, now=at)


async def keys(journal: Journal, name: str = "c-1") -> list[str]:
    return [one.key for one in await journal.queued(name)]


async def test_messages_wait_in_the_order_in_which_they_came(journal: Journal) -> None:
    for number, text in enumerate(["第一", "вторая", "🙂 third"]):
        assert await put(journal, f"sms-{number}", text, at=NOON - number)
    first, second, third = await journal.queued("c-1")
    assert first == Queued(conversation_id="c-1", key="sms-0", content='"第一"', principal=OLGA, at=NOON)
    assert [second.content, third.content] == ['"вторая"', '"🙂 third"']
    assert [one.key for one in await journal.queued("c-1", limit=2)] == ["sms-0", "sms-1"]
    assert await journal.queued("elsewhere") == []


async def test_a_key_counts_once_in_its_conversation(journal: Journal) -> None:
    assert await put(journal, "sms-1", "once")
    assert not await put(journal, "sms-1", "once")
    assert not await put(journal, "sms-1", "another text under the same key")
    assert await put(journal, "sms-1", name="c-2")
    assert [one.content for one in await journal.queued("c-1")] == ['"once"']


async def test_the_append_that_begins_its_turn_takes_a_message_out_and_keeps_its_key(journal: Journal) -> None:
    await put(journal, "sms-1")
    await put(journal, "sms-2")
    await journal.append("c-1", [started(), replace(said(), key="sms-1")], after=0)
    assert await keys(journal) == ["sms-2"]
    assert not await put(journal, "sms-1")
    assert not await journal.dequeue("c-1", "sms-1")
    assert await journal.message("c-1", "sms-1") == Queued(
        conversation_id="c-1", key="sms-1", content="", principal=OLGA, at=NOON
    )
    assert await journal.message("c-1", "sms-2") == (await journal.queued("c-1"))[0]


async def test_an_append_that_is_refused_takes_nothing_out(journal: Journal) -> None:
    await put(journal, "sms-1")
    lease = await journal.acquire("c-1", holder="a", seconds=30, now=NOON)
    await journal.acquire("c-1", holder="b", seconds=30, now=NOON + 31)
    with pytest.raises(ConversationBusyError):
        await journal.append("c-1", [started(), replace(said(), key="sms-1")], after=0, token=lease.token)
    assert await keys(journal) == ["sms-1"]


async def test_a_key_that_became_a_turn_without_waiting_is_known(journal: Journal) -> None:
    await journal.append("c-1", [started(), replace(said(), key="sms-1"), ended()], after=0)
    assert not await put(journal, "sms-1")
    assert await keys(journal) == []
    assert await journal.message("c-1", "sms-1") is None
    assert await journal.message("c-1", "never") is None


async def test_the_keys_of_an_imported_conversation_are_known(journal: Journal, opened: Open) -> None:
    elsewhere = await opened("memory:")
    await elsewhere.append("c-1", [started(), replace(said(), key="sms-1"), ended()], after=0)
    await put(journal, "sms-1")
    await put(journal, "sms-2")
    await journal.import_(await elsewhere.export("c-1"))
    assert await keys(journal) == ["sms-2"]
    assert not await put(journal, "sms-1")


async def test_a_message_taken_out_does_not_come_again(journal: Journal) -> None:
    await put(journal, "sms-1")
    assert await journal.dequeue("c-1", "sms-1")
    assert not await journal.dequeue("c-1", "sms-1")
    assert not await journal.dequeue("c-1", "never")
    assert not await put(journal, "sms-1")
    assert await keys(journal) == []


async def test_another_principals_message_is_answered_as_if_the_conversation_were_not_there(journal: Journal) -> None:
    await journal.append("c-1", one_turn(), after=0)
    with pytest.raises(UnknownConversationError, match="no conversation 'c-1'"):
        await put(journal, "k", who=ANA)
    assert await put(journal, "k", who=Principal("customer", OLGA.id, "anonymous"))
    assert await put(journal, "nobody's", who=None)
    (first, _) = await journal.queued("c-1")
    assert first.principal == Principal("customer", OLGA.id, "anonymous")


async def test_a_conversation_that_has_not_begun_is_the_first_senders(journal: Journal) -> None:
    await put(journal, "nobody's", who=None)
    await put(journal, "k-1", who=OLGA)
    with pytest.raises(UnknownConversationError):
        await put(journal, "k-2", who=ANA)
    assert await keys(journal) == ["nobody's", "k-1"]
    assert await journal.conversations() == []


@pytest.mark.parametrize("key", ["", "x" * 256, "a\nb", "a\x00b", "\udc81"])
async def test_a_key_that_can_not_be_kept_is_refused(journal: Journal, key: str) -> None:
    with pytest.raises(InputError, match="a message's key"):
        await put(journal, key)
    assert await journal.queued("c-1") == []
    await journal.append("c-1", [started(), replace(said(), key=key)], after=0)  # such turns there may be
    assert await journal.message("c-1", key) is None


async def test_texts_are_kept_as_json_lone_surrogates_as_the_replacement_character(journal: Journal) -> None:
    await put(journal, "ключ 🔑", "שלום \udc81 \x00 \n")
    (one,) = await journal.queued("c-1")
    assert (one.key, one.content) == ("ключ 🔑", '"שלום \ufffd \\u0000 \\n"')


async def test_where_messages_wait_is_found_unless_it_is_driven_or_waits_for_a_person(journal: Journal) -> None:
    await put(journal, "k", name="new", at=NOON + 5)
    await put(journal, "k", name="old", at=NOON + 1)
    await put(journal, "k", name="driven", at=NOON)
    await journal.acquire("driven", holder="h", seconds=30, now=NOON)
    await journal.append("parked", [started(), said(), TurnParked(at=NOON, status="awaiting_approval")], after=0)
    await put(journal, "k", name="parked")
    await journal.append("idle", one_turn(), after=0)
    assert await journal.backlog(now=NOON + 10) == ["old", "new"]
    assert await journal.backlog(now=NOON + 10, limit=1) == ["old"]
    assert await journal.backlog(now=NOON + 30) == ["driven", "old", "new"]
    await journal.append("parked", [TurnWoken(at=NOON + 2)], after=3)
    assert await journal.backlog(now=NOON + 10) == ["parked", "old", "new"]


async def test_erasing_removes_messages_that_wait_also_where_nothing_has_begun(journal: Journal) -> None:
    await journal.append("begun", one_turn(), after=0)
    await put(journal, "k", name="begun")
    await put(journal, "k", name="named")
    await put(journal, "k", name="hers")
    await journal.dequeue("hers", "k")
    await put(journal, "k", name="other", who=ANA)
    assert await journal.erase("named", by=ANA, now=NOON) == [
        Erasure(conversation_id="named", at=NOON, events=0, by=ANA)
    ]
    receipts = await journal.erase(OLGA, by=ANA, now=NOON)
    assert [(one.conversation_id, one.events) for one in receipts] == [("begun", 9), ("hers", 0)]
    for name in ("begun", "named", "hers"):
        assert await journal.queued(name) == []
        assert await put(journal, "k", name=name, who=ANA)  # the keys are forgotten with the rest
    with pytest.raises(UnknownConversationError):
        await journal.erase("never", by=ANA, now=NOON)


async def test_messages_outlive_the_program(database_url: str, opened: Open) -> None:
    await put(await opened(database_url), "sms-1", "до завтра")
    again = await opened(database_url)
    assert [one.content for one in await again.queued("c-1")] == ['"до завтра"']
    assert not await put(again, "sms-1")


async def test_of_senders_that_race_with_one_key_exactly_one_is_first(database_journal: Journal) -> None:
    accepted: list[str] = []

    async def send(who: str) -> None:
        for key in (f"k-{number}" for number in range(6)):
            accepted.extend([f"{key} {who}"] if await put(database_journal, key, who, who=None) else [])

    async with anyio.create_task_group() as group:
        for who in "abcd":
            group.start_soon(send, who)
    found = await database_journal.queued("c-1")
    assert sorted(f"{one.key} {one.content[1:-1]}" for one in found) == sorted(accepted)
    assert sorted(one.key for one in found) == [f"k-{number}" for number in range(6)]
