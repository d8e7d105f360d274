"""Whose a conversation is, who an approval was for, and what the application bound: kept over every way to go on."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

import turnkeeper as tk
from tests.driver.conftest import agent_over
from turnkeeper.core.approvals import digest_of
from turnkeeper.core.events import CallRejected
from turnkeeper.errors import ConfigurationError, UnknownConversationError
from turnkeeper.journal import Journal, MemoryJournal, open_journal
from turnkeeper.testing import MessagesAPI, call, faults, reply, script

pytestmark = pytest.mark.anyio

MARIA = tk.Principal("customer", "мария", "signed_in")
JOHN = tk.Principal("customer", "john", "signed_in")
STAFF = tk.Principal("staff", "ana")


@pytest.fixture(params=["memory", "sqlite"])
async def journal(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Journal]:
    opened = MemoryJournal() if request.param == "memory" else await open_journal(f"sqlite:///{tmp_path}/j.db")
    yield opened
    await opened.aclose()


async def test_without_a_principal_nobodys_conversation_opens_and_no_other(journal: Journal) -> None:
    api = MessagesAPI(script("hers", "nobody's", "more"))
    async with agent_over(api).open(journal) as keeper:
        await (await keeper.conversation("hers", principal=MARIA)).send("мой заказ")
        await (await keeper.conversation("free")).send("hello")
        for who in (None, JOHN):
            with pytest.raises(UnknownConversationError, match="no conversation 'hers' in this journal"):
                await keeper.conversation("hers", principal=who)
        assert (await keeper.conversation("free")).status is tk.TurnStatus.COMPLETED
        early = await keeper.conversation("later")  # opened while it was nobody's
        await (await keeper.conversation("later", principal=MARIA)).send("secret")
        for turn in (early.send("x"), early.resume()):
            with pytest.raises(UnknownConversationError):
                await turn
        assert early.messages == []


async def test_a_handle_of_an_erased_conversation_does_not_read_the_next_owners(journal: Journal) -> None:
    """The clock stands still and the two conversations have the same events, but for whose they are."""
    api = MessagesAPI(script("one", "two", "three"))
    async with agent_over(api).open(journal) as keeper:
        old = await keeper.conversation("c", principal=MARIA)
        await old.send("hello")
        await keeper.journal.erase("c", by=STAFF, now=0.0)
        new = await keeper.conversation("c", principal=JOHN)
        await new.send("hello")
        await new.send("my card is 4000-0000")
        for turn in (old.send("what did I say?"), old.resume()):
            with pytest.raises(UnknownConversationError, match="was erased after it was opened here; open it again"):
                await turn
        assert [message["role"] for message in old.messages] == ["user", "assistant"]
        assert "4000" not in str(old.messages)
        assert len(api.requests) == 3


async def test_a_handle_of_an_erased_conversation_does_not_end_the_next_owners_turn(journal: Journal) -> None:
    async with agent_over(MessagesAPI(script("one", "two"))).open(journal) as keeper:
        old = await keeper.conversation("c", principal=MARIA)
        async with old.send("hello") as turn:
            await anext(turn)
        await keeper.journal.erase("c", by=STAFF, now=0.0)
        new = await keeper.conversation("c", principal=JOHN)
        async with new.send("hello") as turn:
            await anext(turn)
        assert (old.is_open, new.is_open) == (True, True)
        with pytest.raises(UnknownConversationError, match="was erased"):
            await old.cancel()
        assert (await new.resume()).status is tk.TurnStatus.COMPLETED


async def test_a_handle_of_an_erased_conversation_does_not_begin_it_anew(journal: Journal) -> None:
    async with agent_over(MessagesAPI(script("one", "two"))).open(journal) as keeper:
        old = await keeper.conversation("c", principal=MARIA)
        await old.send("hello")
        await keeper.journal.erase("c", by=STAFF, now=0.0)
        with pytest.raises(UnknownConversationError, match="was erased"):
            await old.send("again")
        assert await keeper.journal.read("c") == []
        assert (await (await keeper.conversation("c", principal=MARIA)).send("again")).text == "two"


@tk.tool(effect="once", approval="always")
def pay(amount: int) -> str:
    """Pay."""
    return f"paid {amount}"


async def test_an_approval_holds_for_the_person_who_asked_and_for_nobody_else(journal: Journal) -> None:
    given = '{"amount":5}'
    digests = {digest_of("c", "toolu_1", "pay", given, who) for who in (None, MARIA, JOHN, STAFF)}
    assert len(digests) == 4
    higher = tk.Principal("customer", "мария", "step_up")
    assert digest_of("c", "toolu_1", "pay", given, higher) == digest_of("c", "toolu_1", "pay", given, MARIA)

    api = MessagesAPI(script(reply(call("pay", {"amount": 5}, id="toolu_1")), "done"))
    async with agent_over(api, tools=[pay]).open(journal) as keeper:
        conversation = await keeper.conversation("c", principal=None)
        await conversation.send("pay")
        (waiting,) = await keeper.approvals.list()
        assert waiting.digest == digest_of("c", "toolu_1", "pay", given, None)
        await keeper.approvals.approve(waiting.id, by=STAFF)
        # a conversation of nobody's can be taken up by anyone: the approval was not given for them
        other = await keeper.conversation("c", principal=JOHN)
        ended = await other.resume()
        rejected = [event for event in await keeper.journal.read("c") if isinstance(event, CallRejected)]
    assert [(event.call_id, event.reason) for event in rejected] == [("toolu_1", "not_allowed")]
    assert "the person for whom it would run" in rejected[0].content
    assert ended.text == "done"


SEEN: list[str | None] = []


@tk.tool(effect="read")
def orders(owner: tk.Injected[str | None] = None) -> str:
    """Orders: of everybody where no owner is bound."""
    SEEN.append(owner)
    return "…"


async def left_open(journal: Journal, **options: Any) -> None:
    """A turn that was begun with an owner bound and interrupted before its call ran."""
    SEEN.clear()
    api = MessagesAPI(script(reply(call("orders"))))
    async with agent_over(api, tools=[orders]).open(journal) as keeper:
        conversation = await keeper.conversation("c", principal=MARIA, injected={"owner": "мария", "unused": 1})
        async with conversation.send("my orders?", **options) as turn:
            async for update in turn:
                if update.type == "reply":
                    break
    assert SEEN == []


async def test_a_turn_that_was_begun_with_bound_values_goes_on_with_them_or_not_at_all(journal: Journal) -> None:
    await left_open(journal, key="k")
    said = "was begun with values for the tools' parameters owner, and goes on only with them"
    async with agent_over(MessagesAPI(script("done")), tools=[orders]).open(journal) as keeper:
        before = await keeper.journal.read("c")
        mine = await keeper.conversation("c", principal=MARIA)
        for step in (
            keeper.recover,
            lambda: keeper.work_off("c"),
            lambda: keeper.recover(inject=lambda name, who: {"other": 1}),
            mine.resume,
            lambda: mine.send("my orders?", key="k"),
        ):
            with pytest.raises(ConfigurationError, match=said):
                await step()
        assert await keeper.journal.read("c") == before
        assert SEEN == []
        (ended,) = await keeper.recover(inject=lambda name, who: {"owner": who and who.id})
    assert (ended.text, SEEN) == ("done", ["мария"])


async def test_a_turn_that_failed_is_sent_again_only_with_what_was_bound(journal: Journal) -> None:
    SEEN.clear()
    api = MessagesAPI(script(reply(call("orders")), "done"), faults={1: faults.bad_request("no")})
    async with agent_over(api, tools=[orders]).open(journal) as keeper:
        bound = await keeper.conversation("c", principal=MARIA, injected={"owner": "мария"})
        with pytest.raises(tk.APIError):
            await bound.send("my orders?", key="k")
        bare = await keeper.conversation("c", principal=MARIA)
        for step in (bare.resume, lambda: bare.send("my orders?", key="k")):
            with pytest.raises(ConfigurationError, match="parameters owner"):
                await step()
        assert (await bound.resume()).text == "done"
    assert SEEN == ["мария"]


async def test_a_turn_that_had_nothing_bound_needs_nothing(journal: Journal) -> None:
    SEEN.clear()
    api = MessagesAPI(script(reply(call("orders")), "done"))
    async with agent_over(api, tools=[orders]).open(journal) as keeper:
        conversation = await keeper.conversation("c")
        async with conversation.send("orders?") as turn:
            async for update in turn:
                if update.type == "reply":
                    break
        (ended,) = await keeper.recover()
    assert (ended.text, SEEN) == ("done", [None])
