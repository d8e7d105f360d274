"""Erasing: the content is gone, a receipt stays, and whoever was at work is shut out."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.journal.conftest import Open
from tests.journal.samples import ANA, NOON, OLGA, one_turn, said, started
from turnkeeper.errors import ConversationBusyError, UnknownConversationError
from turnkeeper.journal import Erasure, Journal
from turnkeeper.types import Principal

pytestmark = pytest.mark.anyio


async def test_an_erased_conversation_is_gone_and_leaves_a_receipt(journal: Journal) -> None:
    await journal.append("c-1", one_turn("моя карта 4111 1111"), after=0)
    await journal.append("c-2", one_turn("stays"), after=0)
    receipt = Erasure(conversation_id="c-1", at=NOON + 50, events=9, by=ANA)
    assert await journal.erase("c-1", by=ANA, now=NOON + 50) == [receipt]
    assert await journal.erasures() == [receipt]
    assert await journal.read("c-1") == []
    assert [one.id for one in await journal.conversations()] == ["c-2"]
    assert await journal.read("c-2") == one_turn("stays")
    for gone in (journal.export("c-1"), journal.verify("c-1"), journal.erase("c-1", by=ANA, now=NOON)):
        with pytest.raises(UnknownConversationError, match="c-1"):
            await gone
    assert await journal.erasures() == [receipt]


async def test_all_of_a_principals_conversations_are_erased_at_once(journal: Journal) -> None:
    for name in ("b", "a"):
        await journal.append(name, one_turn(), after=0)
    await journal.append("unverified", [started(Principal("customer", OLGA.id, "anonymous"))], after=0)
    await journal.append("hers", [started(ANA)], after=0)
    await journal.append("nobody's", [started(None)], after=0)
    receipts = await journal.erase(Principal("customer", OLGA.id), by=ANA, now=NOON)
    assert [(one.conversation_id, one.events) for one in receipts] == [("a", 9), ("b", 9), ("unverified", 1)]
    assert sorted(one.id for one in await journal.conversations()) == ["hers", "nobody's"]
    assert await journal.erase(OLGA, by=ANA, now=NOON) == []


async def test_receipts_are_listed_newest_first_in_pages(journal: Journal) -> None:
    for number in range(5):
        await journal.append(f"c-{number}", [started()], after=0)
        await journal.erase(f"c-{number}", by=ANA, now=NOON + number)
    assert [one.conversation_id for one in await journal.erasures(limit=2)] == ["c-4", "c-3"]
    assert [one.conversation_id for one in await journal.erasures(limit=9, offset=3)] == ["c-1", "c-0"]


async def test_a_driver_at_work_can_not_go_on_after_erasing(journal: Journal) -> None:
    lease = await journal.acquire("c-1", holder="h", seconds=30, now=NOON)
    await journal.append("c-1", one_turn(), after=0, token=lease.token)
    await journal.erase("c-1", by=ANA, now=NOON)
    for after in (9, 0):
        with pytest.raises(ConversationBusyError):
            await journal.append("c-1", [said()], after=after, token=lease.token)
    with pytest.raises(ConversationBusyError):
        await journal.append("c-1", [said()], after=9)
    with pytest.raises(ConversationBusyError):
        await journal.renew(lease, seconds=30, now=NOON)
    assert await journal.conversations() == []


async def test_the_id_of_an_erased_conversation_may_be_used_for_a_new_one(journal: Journal) -> None:
    lease = await journal.acquire("c-1", holder="h", seconds=30, now=NOON)
    await journal.append("c-1", one_turn("first"), after=0, token=lease.token)
    await journal.erase("c-1", by=ANA, now=NOON)
    again = await journal.acquire("c-1", holder="h", seconds=30, now=NOON)
    assert again.token > lease.token
    await journal.append("c-1", one_turn("second", at=NOON + 100, principal=ANA), after=0, token=again.token)
    (summary,) = await journal.conversations()
    assert (summary.title, summary.created_at, summary.principal) == ("second", NOON + 100, ANA)
    assert await journal.verify("c-1") == []


async def test_an_unfinished_conversation_that_is_erased_is_not_recovered(journal: Journal) -> None:
    await journal.append("c-1", [started(), said()], after=0)
    await journal.erase("c-1", by=ANA, now=NOON)
    assert await journal.unfinished(now=NOON + 1000) == []


async def test_a_conversation_under_a_lease_without_events_is_not_there_to_erase(journal: Journal) -> None:
    await journal.acquire("c-1", holder="h", seconds=30, now=NOON)
    with pytest.raises(UnknownConversationError):
        await journal.erase("c-1", by=ANA, now=NOON)
    assert await journal.erasures() == []


async def test_erased_bytes_are_in_no_file_any_more(tmp_path: Path, opened: Open) -> None:
    journal = await opened(f"sqlite:///{tmp_path}/journal.db")
    secret = "Kreditkarte-4111-1111"
    for name in ("c-1", "c-2", "c-3"):
        text = secret if name == "c-2" else "harmless"
        await journal.append(name, one_turn(text * 300, principal=Principal("customer", f"id-{text}")), after=0)
    assert sum(counts(tmp_path, secret).values()) > 300
    await journal.erase("c-2", by=ANA, now=NOON)
    assert set(counts(tmp_path, secret).values()) == {0}
    assert (await journal.read("c-3")) == one_turn("harmless" * 300, principal=Principal("customer", "id-harmless"))


def counts(folder: Path, text: str) -> dict[str, int]:
    """How often the text stands in each file, as bytes."""
    return {path.name: path.read_bytes().count(text.encode()) for path in folder.iterdir()}
