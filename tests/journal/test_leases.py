"""Leases: one holder at a time, a token that grows with each, appends of a former holder refused."""

from __future__ import annotations

import anyio
import pytest

from tests.journal.samples import NOON, said, started
from turnkeeper.errors import ConversationBusyError
from turnkeeper.journal import Journal, Lease

pytestmark = pytest.mark.anyio


async def test_the_first_comer_gets_the_lease(journal: Journal) -> None:
    lease = await journal.acquire("c-1", holder="host:1", seconds=30, now=NOON)
    assert lease == Lease(conversation_id="c-1", holder="host:1", token=1, since=NOON, expires_at=NOON + 30)


async def test_the_second_comer_is_told_who_has_it_and_until_when(journal: Journal) -> None:
    await journal.acquire("c-1", holder="host:1", seconds=30, now=NOON)
    with pytest.raises(ConversationBusyError, match="driven by host:1 since 2026-11-30 12:00:00 UTC") as refused:
        await journal.acquire("c-1", holder="host:2", seconds=30, now=NOON + 29.9)
    assert (refused.value.holder, refused.value.since, refused.value.until) == ("host:1", NOON, NOON + 30)


async def test_a_holder_extends_its_own_lease_under_the_same_token(journal: Journal) -> None:
    first = await journal.acquire("c-1", holder="h", seconds=30, now=NOON)
    again = await journal.acquire("c-1", holder="h", seconds=30, now=NOON + 10)
    assert again == Lease(conversation_id="c-1", holder="h", token=1, since=NOON, expires_at=NOON + 40)
    renewed = await journal.renew(first, seconds=30, now=NOON + 20)
    assert renewed == Lease(conversation_id="c-1", holder="h", token=1, since=NOON, expires_at=NOON + 50)
    with pytest.raises(ConversationBusyError):
        await journal.acquire("c-1", holder="other", seconds=30, now=NOON + 49)


async def test_a_lease_that_ran_out_is_free_and_the_next_token_is_higher(journal: Journal) -> None:
    await journal.acquire("c-1", holder="a", seconds=30, now=NOON)
    taken = await journal.acquire("c-1", holder="b", seconds=30, now=NOON + 30)
    assert (taken.holder, taken.token, taken.since) == ("b", 2, NOON + 30)


async def test_the_same_holder_gets_a_new_token_after_running_out(journal: Journal) -> None:
    await journal.acquire("c-1", holder="a", seconds=30, now=NOON)
    again = await journal.acquire("c-1", holder="a", seconds=30, now=NOON + 31)
    assert (again.token, again.since) == (2, NOON + 31)


async def test_a_released_lease_is_free_at_once(journal: Journal) -> None:
    lease = await journal.acquire("c-1", holder="a", seconds=30, now=NOON)
    await journal.release(lease)
    assert (await journal.acquire("c-1", holder="b", seconds=30, now=NOON)).token == 2


async def test_a_former_holder_can_neither_renew_nor_release_nor_append(journal: Journal) -> None:
    await journal.append("c-1", [started()], after=0)
    old = await journal.acquire("c-1", holder="a", seconds=30, now=NOON)
    new = await journal.acquire("c-1", holder="b", seconds=30, now=NOON + 31)
    with pytest.raises(ConversationBusyError, match="taken over"):
        await journal.renew(old, seconds=30, now=NOON + 32)
    await journal.release(old)
    with pytest.raises(ConversationBusyError):
        await journal.append("c-1", [said("too late")], after=1, token=old.token)
    assert await journal.append("c-1", [said("in time")], after=1, token=new.token) == 2
    with pytest.raises(ConversationBusyError):
        await journal.acquire("c-1", holder="c", seconds=30, now=NOON + 33)


async def test_a_lease_that_lasts_is_taken_only_from_the_holder_that_is_named(journal: Journal) -> None:
    await journal.append("c-1", [started()], after=0)
    old = await journal.acquire("c-1", holder="a\x00", seconds=300, now=NOON)
    with pytest.raises(ConversationBusyError):
        await journal.acquire("c-1", holder="b", seconds=30, now=NOON + 1, instead_of="d")
    taken = await journal.acquire("c-1", holder="b", seconds=30, now=NOON + 1, instead_of="a\x00")
    assert taken == Lease(conversation_id="c-1", holder="b", token=2, since=NOON + 1, expires_at=NOON + 31)
    with pytest.raises(ConversationBusyError):  # whoever comes too late with the same wish takes nothing from "b"
        await journal.acquire("c-1", holder="c", seconds=30, now=NOON + 2, instead_of="a\x00")
    with pytest.raises(ConversationBusyError):
        await journal.renew(old, seconds=30, now=NOON + 2)
    with pytest.raises(ConversationBusyError):
        await journal.append("c-1", [said("too late")], after=1, token=old.token)
    assert await journal.append("c-1", [said("in time")], after=1, token=taken.token) == 2


async def test_one_who_holds_the_lease_takes_it_from_nobody(journal: Journal) -> None:
    await journal.acquire("c-1", holder="a", seconds=30, now=NOON)
    again = await journal.acquire("c-1", holder="a", seconds=30, now=NOON + 10, instead_of="a")
    assert again == Lease(conversation_id="c-1", holder="a", token=1, since=NOON, expires_at=NOON + 40)


async def test_nobody_renews_what_was_released(journal: Journal) -> None:
    lease = await journal.acquire("c-1", holder="a", seconds=30, now=NOON)
    await journal.release(lease)
    await journal.release(lease)
    with pytest.raises(ConversationBusyError):
        await journal.renew(lease, seconds=30, now=NOON)
    stranger = Lease(conversation_id="never", holder="a", token=1, since=NOON, expires_at=NOON)
    await journal.release(stranger)
    with pytest.raises(ConversationBusyError):
        await journal.renew(stranger, seconds=30, now=NOON)


async def test_the_first_append_may_come_under_a_lease(journal: Journal) -> None:
    lease = await journal.acquire("c-1", holder="a", seconds=30, now=NOON)
    assert await journal.append("c-1", [started(), said()], after=0, token=lease.token) == 2
    (summary,) = await journal.conversations()
    assert summary.principal is not None
    assert summary.title == "Где мой заказ?"


async def test_leases_on_different_conversations_are_apart(journal: Journal) -> None:
    one = await journal.acquire("c-1", holder="a", seconds=30, now=NOON)
    other = await journal.acquire("c-2", holder="b", seconds=30, now=NOON)
    assert (one.token, other.token) == (1, 1)


async def test_a_holders_name_may_be_any_text(journal: Journal) -> None:
    lease = await journal.acquire("c-1", holder="büro\x00-\udc81:7", seconds=30, now=NOON)
    assert lease.holder == "büro\x00-\udc81:7"
    assert (await journal.acquire("c-1", holder="büro\x00-\udc81:7", seconds=30, now=NOON + 1)).token == 1
    await journal.renew(lease, seconds=30, now=NOON + 2)


async def test_of_tasks_that_race_exactly_one_gets_each_lease(journal: Journal) -> None:
    winners: dict[str, list[str]] = {}

    async def race(holder: str) -> None:
        for number in range(8):
            try:
                lease = await journal.acquire(f"c-{number}", holder=holder, seconds=30, now=NOON)
            except ConversationBusyError:
                continue
            assert lease.token == 1
            winners.setdefault(lease.conversation_id, []).append(holder)

    async with anyio.create_task_group() as group:
        for holder in "abcde":
            group.start_soon(race, holder)
    assert {name: len(holders) for name, holders in winners.items()} == {f"c-{n}": 1 for n in range(8)}
