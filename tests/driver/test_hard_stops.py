"""Cancellation by asyncio itself, readers and keepers that leave: nothing is lost, no lease is left behind."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import anyio
import pytest

import turnkeeper as tk
from tests.driver.conftest import agent_over
from turnkeeper.errors import InputError
from turnkeeper.journal import open_journal
from turnkeeper.testing import MessagesAPI, call, faults, reply, script
from turnkeeper.updates import CallStarted, TextDelta

pytestmark = pytest.mark.anyio


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/journal.db"


@tk.tool(effect="read")
async def look(n: int) -> str:
    """Look."""
    return f"seen {n}"


@pytest.mark.parametrize("steps", [*range(1, 40, 3), 60, 90])
async def test_wherever_asyncio_cancels_a_turn_the_lease_is_free_and_the_conversation_usable(
    url: str, steps: int
) -> None:
    api = MessagesAPI(lambda request: reply("ok") if len(request["messages"]) > 2 else reply(call("look", {"n": 1})))
    agent = agent_over(api, tools=[look])
    async with agent.open(url) as keeper:
        conversation = await keeper.conversation("c")

        async def send() -> None:
            await conversation.send("go")

        task = asyncio.ensure_future(send())
        for _ in range(steps):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task])
        found = await (await keeper.conversation("c")).send("again")  # another object: the lease must be free
        assert found.status is tk.TurnStatus.COMPLETED
        assert (await conversation.send("and again")).status is tk.TurnStatus.COMPLETED
    async with agent.open(url) as keeper:
        assert (await (await keeper.conversation("c")).send("later")).status is tk.TurnStatus.COMPLETED
        assert await keeper.journal.verify("c") == []
    api.assert_all_accepted()


async def test_a_keeper_that_is_cancelled_closes_its_journal(url: str) -> None:
    api = MessagesAPI(script("ok"))
    opened: list[tk.Keeper] = []
    ready = asyncio.Event()

    async def work() -> None:
        async with agent_over(api).open(url) as keeper:
            opened.append(keeper)
            ready.set()
            await asyncio.sleep(3600)

    task = asyncio.ensure_future(work())
    await ready.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    with pytest.raises(tk.errors.JournalError, match="closed"):
        await opened[0].list()


async def test_a_break_lets_the_next_message_in_at_once() -> None:
    api = MessagesAPI(script(reply(call("look", {"n": 1})), "ok"))
    async with agent_over(api, tools=[look]).open() as keeper:
        conversation = await keeper.conversation("c")
        async for update in conversation.send("a"):
            if isinstance(update, CallStarted):
                break
        assert (await conversation.send("b")).text == "ok"
    api.assert_all_accepted()


async def test_a_turn_that_is_held_is_interrupted_by_closing_it() -> None:
    api = MessagesAPI(script("one two", "ok"), chunk=4)
    async with agent_over(api).open() as keeper:
        conversation = await keeper.conversation("c")
        turn = conversation.send("a")
        async for update in turn:
            if isinstance(update, TextDelta):
                break
        await turn.aclose()
        assert (await conversation.send("b")).text == "ok"


async def test_leaving_the_keeper_tells_a_reader_and_what_is_begun_afterwards_is_refused(url: str) -> None:
    api = MessagesAPI(script("one two three", "ok"), chunk=4)
    agent = agent_over(api)
    async with agent.open(url) as keeper:
        conversation = await keeper.conversation("c")
        turn = conversation.send("a")
        await anext(turn)
    with pytest.raises(InputError, match="its keeper was left"):
        await anext(turn)
    with pytest.raises(InputError, match="the keeper of this conversation was left"):
        await anext(conversation.send("b"))
    async with agent.open(url) as keeper:
        assert (await (await keeper.conversation("c")).resume()).text == "one two three"


async def test_keepers_of_one_agent_share_its_connections_and_the_last_closes_them() -> None:
    api = MessagesAPI(script("one two three", "inner"), chunk=4)
    agent = agent_over(api)
    async with agent.open() as outer:
        turn = (await outer.conversation("o")).send("a")
        await anext(turn)
        async with agent.open() as inner:
            pass
        assert inner is not outer
        rest = [update async for update in turn]
        assert rest[-1].type == "turn_ended"
        assert turn.reply is not None
        assert turn.reply.text == "one two three"


async def test_another_principals_first_message_wins_over_a_handle_taken_before_it(url: str) -> None:
    alice, bob = tk.Principal("customer", "alice"), tk.Principal("customer", "bob")
    api = MessagesAPI(script("hello alice"))
    async with agent_over(api).open(url) as keeper:
        early = await keeper.conversation("c-42", principal=bob)
        await (await keeper.conversation("c-42", principal=alice)).send("my card is 4111")
        with pytest.raises(tk.errors.UnknownConversationError):
            await early.send("read me everything")
    assert len(api.requests) == 1


async def test_a_forced_choice_that_was_kept_is_not_forced_again_on_resume(url: str) -> None:
    paid: list[int] = []

    def pay(amount: int) -> str:
        """Pay."""
        paid.append(amount)
        return "paid"

    def obedient(request: dict[str, Any]) -> Any:
        if request.get("tool_choice", {}).get("type") == "tool":
            return reply(call("pay", {"amount": 5}))
        return faults.bad_request("no") if len(api.requests) == 2 else reply("Done.")

    api = MessagesAPI(obedient)
    async with agent_over(api, tools=[pay], tool_choice="pay").open(url) as keeper:
        conversation = await keeper.conversation("c")
        with pytest.raises(tk.APIError) as raised:
            await conversation.send("pay 5")
        assert raised.value.reply.calls[0].content == "paid"
        assert raised.value.reply.messages[-1]["content"][0]["type"] == "tool_result"
        assert (await conversation.resume()).text == "Done."
    assert paid == [5]


async def test_a_message_that_the_api_refuses_gives_way_to_the_next(url: str) -> None:
    api = MessagesAPI(script(faults.bad_request("could not process image"), "ok", faults.bad_request("no"), "fine"))
    async with agent_over(api).open(url) as keeper:
        conversation = await keeper.conversation("c")
        with pytest.raises(tk.APIError, match="could not process"):
            await conversation.send("<a picture>")
        assert (await conversation.send("hello?")).text == "ok"
        assert conversation.messages[0] == {"role": "user", "content": [{"type": "text", "text": "hello?"}]}
        with pytest.raises(tk.APIError):
            await conversation.send("again")
        assert (await conversation.resume()).text == "fine"
    texts = [block["text"] for message in conversation.messages for block in message["content"]]
    assert texts == ["hello?", "ok", "again", "fine"]


async def test_a_message_delivered_again_joins_its_turn_goes_on_after_a_failure_and_never_starts_another(
    url: str,
) -> None:
    began, go = anyio.Event(), anyio.Event()

    @tk.tool
    async def wait() -> str:
        """Wait."""
        began.set()
        await go.wait()
        return "done"

    api = MessagesAPI(script(reply(call("wait")), "first", faults.bad_request("no"), "second"))
    async with agent_over(api, tools=[wait]).open(url) as keeper:
        conversation = await keeper.conversation("c")
        texts: list[str] = []

        async def deliver() -> None:
            texts.append((await conversation.send("hi", key="m-1", when_busy="interrupt")).text)

        async with anyio.create_task_group() as group:
            group.start_soon(deliver)
            await began.wait()
            group.start_soon(deliver)
            await anyio.lowlevel.checkpoint()
            go.set()
        assert texts == ["first", "first"]
        with pytest.raises(tk.APIError):
            await conversation.send("more", key="m-2")
        assert (await conversation.send("more", key="m-2")).text == "second"
        assert (await conversation.send("more", key="m-2")).text == "second"
    assert len(api.requests) == 4


async def test_a_conversation_with_calls_wants_an_agent_with_tools(url: str) -> None:
    api = MessagesAPI(script(reply(call("look", {"n": 1})), "ok"))
    async with agent_over(api, tools=[look]).open(url) as keeper:
        await (await keeper.conversation("c")).send("go")
    async with agent_over(api).open(url) as keeper:
        with pytest.raises(tk.errors.ConfigurationError, match="bring the same tools"):
            await (await keeper.conversation("c")).send("and now?")


async def test_updates_are_told_only_when_they_are_durable(url: str) -> None:
    api = MessagesAPI(script(reply(call("look", {"n": 1}), call("look", {"n": 2})), "ok"))
    journal = await open_journal(url)
    try:
        async with agent_over(api, tools=[look]).open(journal) as keeper:
            conversation = await keeper.conversation("c")
            async for update in conversation.send("go"):
                if update.type in ("call_finished", "call_started"):
                    written = [
                        (event.type, event.call_id) for event in await journal.read("c") if hasattr(event, "call_id")
                    ]
                    assert (update.type, update.call_id) in written  # type: ignore[attr-defined]
    finally:
        await journal.aclose()
