"""Messages that come while a turn runs: kept, run one after another in order, once, whoever drives."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
import pytest

import turnkeeper as tk
from tests.driver.conftest import Make, sent
from turnkeeper.errors import InputError, UnknownConversationError
from turnkeeper.journal import Journal, open_journal
from turnkeeper.testing import FixedClock, MessagesAPI, call, faults, reply, script

pytestmark = pytest.mark.anyio

JOHN = tk.Principal("customer", "1213210", "verified")
GUEST = tk.Principal("customer", "1213210", "anonymous")
ANA = tk.Principal("staff", "ana")
DONE = tk.TurnStatus.COMPLETED


@pytest.fixture(params=["memory", "sqlite"])
async def journal(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Journal]:
    url = "memory:" if request.param == "memory" else f"sqlite:///{tmp_path}/journal.db"
    opened = await open_journal(url)
    yield opened
    await opened.aclose()


def questions(api: MessagesAPI) -> list[str]:
    """What the user said, by the last request."""
    said = [message["content"] for message in sent(api, len(api.requests) - 1)["messages"] if message["role"] == "user"]
    blocks = [block for content in said if isinstance(content, list) for block in content]
    texts = [block["text"] for block in blocks if block["type"] == "text"]
    return [content for content in said if isinstance(content, str)] + texts


async def test_posted_messages_become_turns_in_their_order(make: Make, journal: Journal) -> None:
    api = MessagesAPI(script("один", "два", "три"))
    async with make(api).open(journal) as keeper:
        for number, text in enumerate(["one", "two", "three"]):
            assert await keeper.post("c", text, key=f"sms-{number}", principal=JOHN) == "queued"
        assert len(api.requests) == 0
        done = await keeper.work_off("c")
        assert ([one.text for one in done.replies], done.left) == (["один", "два", "три"], "nothing")
        assert (await keeper.conversation("c", principal=JOHN)).status is DONE
        assert await keeper.work_off("c") == type(done)(conversation_id="c", replies=(), left="nothing")
    assert questions(api) == ["one", "two", "three"]
    api.assert_all_accepted()


async def test_the_same_message_posted_again_is_a_duplicate_however_late(make: Make, journal: Journal) -> None:
    api = MessagesAPI(script("Привет.", "Ещё."))
    async with make(api).open(journal) as keeper:
        assert await keeper.post("c", "hi", key="sms-1") == "queued"
        assert await keeper.post("c", "hi", key="sms-1") == "duplicate"
        await keeper.work_off("c")
        assert await keeper.post("c", "hi", key="sms-1") == "duplicate"
        await (await keeper.conversation("c")).send("more", key="sms-2")
        assert await keeper.post("c", "more", key="sms-2") == "duplicate"
        assert (await keeper.work_off("c")).replies == ()
    assert len(api.requests) == 2


async def test_a_message_that_comes_while_a_turn_runs_waits_for_its_end(make: Make, journal: Journal) -> None:
    answers = ["first", "second"]
    agent: tk.Agent

    @tk.tool(effect="read")
    async def look() -> str:
        """Look."""
        await posts()
        return "seen"

    api = MessagesAPI(script(reply(call("look", {})), *answers))
    agent = make(api, tools=[look])
    async with agent.open(journal) as keeper:

        async def posts() -> None:
            assert await keeper.post("c", "and this?", key="k-2") == "queued"
            assert (await keeper.work_off("c")).left == "busy"

        await keeper.post("c", "look", key="k-1")
        done = await keeper.work_off("c")
    assert [one.text for one in done.replies] == answers
    api.assert_all_accepted()


async def test_a_message_that_can_not_be_kept_is_refused_at_once(make: Make, journal: Journal) -> None:
    async with make(MessagesAPI(script("…"))).open(journal) as keeper:
        for content, key, name in [(" ", "k", "c"), ("hi", "", "c"), ("hi", "a\nb", "c"), ("hi", "k", "c\n")]:
            with pytest.raises(InputError):
                await keeper.post(name, content, key=key)
        await keeper.post("c", "mine", key="k", principal=JOHN)
        with pytest.raises(UnknownConversationError, match="no conversation 'c'"):
            await keeper.post("c", "mine too?", key="k-2", principal=tk.Principal("customer", "9603481"))
        assert [one.content for one in await journal.queued("c")] == ['"mine"']


class Slow:
    """A read-only tool whose first run never ends: whoever drives it is interrupted."""

    def __init__(self) -> None:
        self.began = anyio.Event()
        self.seen: list[Any] = []

    def tool(self) -> tk.Tool:
        @tk.tool(effect="idempotent")
        async def look(ctx: tk.ToolContext) -> str:
            """Look."""
            self.seen.append(ctx.principal)
            if len(self.seen) == 1:
                self.began.set()
                await anyio.sleep_forever()
            return "seen"

        return look

    async def interrupted(self, keeper: tk.Keeper) -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(keeper.work_off, "c")
            await self.began.wait()
            group.cancel_scope.cancel()


def careful(runs: list[Any]) -> tk.Tool:
    @tk.tool(approval="always")
    def refund(ctx: tk.ToolContext, amount: int) -> str:
        """Refund."""
        runs.append((ctx.principal, amount))
        return "refunded"

    return refund


async def test_messages_wait_behind_a_turn_that_waits_for_a_person_and_go_on_after_the_decision(
    make: Make, journal: Journal
) -> None:
    runs: list[Any] = []
    api = MessagesAPI(script(reply(call("refund", {"amount": 500})), "Refunded.", "You are welcome."))
    async with make(api, tools=[careful(runs)]).open(journal) as keeper:
        await keeper.post("c", "refund 500", key="k-1", principal=JOHN)
        await keeper.post("c", "thanks", key="k-2", principal=JOHN)
        done = await keeper.work_off("c")
        assert ([one.status for one in done.replies], done.left) == ([tk.TurnStatus.AWAITING_APPROVAL], "person")
        assert await keeper.recoverable() == ()
        assert (await keeper.work_off("c")).left == "person"
        (waiting,) = await keeper.approvals.list()
        await keeper.approvals.approve(waiting.id, by=ANA)
        assert await keeper.recoverable() == ("c",)
        assert [one.text for one in (await keeper.work_off("c")).replies] == ["Refunded.", "You are welcome."]
    assert runs == [(JOHN, 500)]
    api.assert_all_accepted()


async def test_messages_go_on_when_the_time_to_decide_is_over(make: Make, journal: Journal) -> None:
    clock, runs = FixedClock(), list[Any]()
    api = MessagesAPI(script(reply(call("refund", {"amount": 500})), "Nobody decided.", "Bye."))
    async with make(api, tools=[careful(runs)], clock=clock, approval_seconds=60).open(journal) as keeper:
        await keeper.post("c", "refund 500", key="k-1")
        await keeper.post("c", "bye", key="k-2")
        assert len(await keeper.recover()) == 1
        clock.advance(59)
        assert await keeper.recover() == ()
        clock.advance(1)
        assert await keeper.recoverable() == ("c",)
        assert [one.text for one in await keeper.recover()] == ["Nobody decided.", "Bye."]
    assert runs == []


async def test_a_turn_left_open_is_taken_up_first_in_the_name_of_who_sent_its_message(
    make: Make, journal: Journal
) -> None:
    """The conversation's owner had proved more when it began than who sent this message."""
    slow = Slow()
    api = MessagesAPI(script("Hello.", reply(call("look", {})), "Noted.", "Last."))
    async with make(api, tools=[slow.tool()]).open(journal) as keeper:
        await (await keeper.conversation("c", principal=JOHN)).send("hello")
        await keeper.post("c", "note this", key="k-1", principal=GUEST)
        await keeper.post("c", "and bye", key="k-2", principal=JOHN)
        await slow.interrupted(keeper)
        assert await keeper.recoverable() == ("c",)
        assert [one.text for one in await keeper.recover()] == ["Noted.", "Last."]
    assert slow.seen == [GUEST, GUEST]
    assert questions(api) == ["hello", "note this", "and bye"]


async def test_one_that_had_nobody_named_is_taken_up_in_nobodys_name(make: Make, journal: Journal) -> None:
    slow = Slow()
    api = MessagesAPI(script("Hello.", reply(call("look", {})), "Seen."))
    async with make(api, tools=[slow.tool()]).open(journal) as keeper:
        await (await keeper.conversation("c", principal=JOHN)).send("hello")
        await keeper.post("c", "a reminder of the system's", key="k-1")
        await slow.interrupted(keeper)
        assert [one.text for one in await keeper.recover()] == ["Seen."]
    assert slow.seen == [None, None]


async def test_a_turn_that_fails_is_among_the_replies_and_the_next_message_is_taken(
    make: Make, journal: Journal
) -> None:
    api = MessagesAPI(script("Better."), faults={1: faults.bad_request("no")})
    async with make(api).open(journal) as keeper:
        await keeper.post("c", "fails", key="k-1")
        await keeper.post("c", "works", key="k-2")
        done = await keeper.work_off("c")
    assert [(one.status, one.text) for one in done.replies] == [(tk.TurnStatus.FAILED, ""), (DONE, "Better.")]


async def test_a_message_of_another_principal_than_began_the_conversation_is_dropped(
    make: Make, journal: Journal, caplog: pytest.LogCaptureFixture
) -> None:
    """It was posted before the conversation began, when nobody could tell whose it would be."""
    api = MessagesAPI(script("Hello.", "Yes."))
    async with make(api).open(journal) as keeper:
        await keeper.post("c", "of another", key="k-1", principal=ANA)
        await (await keeper.conversation("c", principal=JOHN)).send("hello")
        await keeper.post("c", "of mine", key="k-2", principal=JOHN)
        assert [one.text for one in (await keeper.work_off("c")).replies] == ["Yes."]
        assert await journal.queued("c") == []
    assert caplog.messages == ["message 'k-1' of conversation c was dropped: it is another principal's"]


async def test_injected_parameters_are_asked_for_by_conversation_and_principal(make: Make, journal: Journal) -> None:
    seen: list[str] = []

    @tk.tool(effect="read")
    def mine(account: tk.Injected[str]) -> str:
        """My account."""
        seen.append(account)
        return "…"

    api = MessagesAPI(script(reply(call("mine", {})), "OK"))
    async with make(api, tools=[mine]).open(journal) as keeper:
        await keeper.post("c", "mine?", key="k", principal=JOHN)
        await keeper.work_off("c", inject=lambda name, who: {"account": f"{name}/{who and who.id}"})
    assert seen == ["c/1213210"]


async def test_whoever_works_off_at_the_same_time_each_message_is_run_once_and_in_order(
    make: Make, journal: Journal
) -> None:
    api = MessagesAPI(lambda body: f"answer {len(body['messages'])}")
    agent = make(api)
    texts: list[str] = []
    async with agent.open(journal) as keeper:
        for number in range(6):
            await keeper.post("c", f"message {number}", key=f"k-{number}")

        async def work() -> None:
            while (done := await keeper.work_off("c", turns=1)).left != "nothing":
                texts.extend(one.text for one in done.replies)
                await anyio.lowlevel.checkpoint()
            texts.extend(one.text for one in done.replies)

        async with anyio.create_task_group() as group:
            for _ in range(4):
                group.start_soon(work)
    assert texts == [f"answer {number}" for number in (1, 3, 5, 7, 9, 11)]
    assert questions(api) == [f"message {number}" for number in range(6)]
    assert len(api.requests) == 6


async def test_a_key_that_comes_again_with_another_message_is_refused(make: Make, journal: Journal) -> None:
    """The second message would never be answered, and its sender would take the first one's answer for it."""
    said = "the key 'k' came to conversation 'c' before, with another message"
    async with make(MessagesAPI(script("первый", "second"))).open(journal) as keeper:
        conversation = await keeper.conversation("c")
        assert (await conversation.send("раз", key="k")).text == "первый"
        with pytest.raises(InputError, match=said):
            await conversation.send("два", key="k")
        assert (await conversation.send([{"type": "text", "text": "раз"}], key="k")).text == "первый"
        with pytest.raises(InputError, match=said):
            await keeper.post("c", "два", key="k")
        assert await keeper.post("c", "раз", key="k") == "duplicate"
        await keeper.post("c", "waits", key="k-2")
        assert await keeper.post("c", "waits", key="k-2") == "duplicate"
        with pytest.raises(InputError, match="the key 'k-2' came"):
            await keeper.post("c", "waits no more", key="k-2")
        assert [one.text for one in (await keeper.work_off("c")).replies] == ["second"]
        with pytest.raises(InputError, match="the key 'k-2' came"):
            await keeper.post("c", "waits no more", key="k-2")
