"""A turn under a tool choice that is stopped, failed or taken over: the choice is in the journal, not in memory."""

from __future__ import annotations

from typing import Any

import pytest

import turnkeeper as tk
from tests.driver.conftest import agent_over, sent
from tests.driver.test_tool_choice import CALLS, lookup, other
from turnkeeper.core.events import ReplyReceived, TurnStarted
from turnkeeper.journal import MemoryJournal
from turnkeeper.testing import MessagesAPI, script

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("model", ["claude-opus-4-8", "claude-fable-5-1", "claude-opus-5-5"])
async def test_stopped_after_any_event_the_turn_goes_on_under_the_same_choice(model: str) -> None:
    """The choice is in the journal: whoever goes on with the turn keeps to it, though another choice is their own."""
    whole = MemoryJournal()
    replies = ["I'd rather not.", CALLS, "Done."]
    async with agent_over(MessagesAPI(script(*replies)), model=model, tools=[lookup], tool_choice="lookup").open(
        whole
    ) as keeper:
        expected = (await (await keeper.conversation("c")).send("go")).messages
    events = await whole.read("c")
    for cut in range(2, len(events)):
        journal = MemoryJournal()
        await journal.append("c", events[:cut], after=0)
        left = replies[sum(isinstance(event, ReplyReceived) for event in events[:cut]) :]
        api = MessagesAPI(script(*left))
        async with agent_over(api, model=model, tools=[lookup, other], tool_choice="none").open(journal) as keeper:
            found = await (await keeper.conversation("c")).resume()
            assert (found.status, found.text) == ("completed", "Done."), cut
            assert _without_ids(found.messages) == _without_ids(expected), cut
        api.assert_all_accepted()


async def test_a_turn_that_failed_for_its_choice_is_resumed_under_it_and_told_as_failed_again() -> None:
    journal = MemoryJournal()
    api = MessagesAPI(script("no", "no", "no", CALLS, "Done."))
    async with agent_over(api, tools=[lookup], tool_choice="lookup").open(journal) as keeper:
        with pytest.raises(tk.errors.ToolChoiceUnmet):
            await (await keeper.conversation("c")).send("go")
    events = await journal.read("c")
    # stopped between the last reply and the end of the turn: whoever goes on is told so as well
    early = MemoryJournal()
    await early.append("c", events[:-1], after=0)
    async with agent_over(MessagesAPI(script()), tools=[lookup]).open(early) as keeper:
        with pytest.raises(tk.errors.ToolChoiceUnmet, match="in 3 replies; the last one was text: 'no'"):
            await (await keeper.conversation("c")).resume()
    async with agent_over(api, tools=[lookup]).open(journal) as keeper:
        found = await (await keeper.conversation("c")).resume()
    assert (found.text, len(found.calls)) == ("Done.", 1)
    assert sent(api, 3)["tool_choice"] == {"type": "tool", "name": "lookup"}
    api.assert_all_accepted()


async def test_a_conversation_goes_on_with_a_model_that_takes_no_system_messages() -> None:
    journal = MemoryJournal()
    api = MessagesAPI(script(CALLS, "Done.", CALLS, "Done."))
    async with agent_over(api, model="claude-fable-5-1", tools=[lookup], tool_choice="any").open(journal) as keeper:
        await (await keeper.conversation("c")).send("go")
    async with agent_over(api, model="claude-sonnet-5", tools=[lookup], tool_choice="any").open(journal) as keeper:
        assert (await (await keeper.conversation("c")).send("again")).text == "Done."
    assert [message["role"] for message in sent(api, 2)["messages"]] == [
        *("user", "user", "assistant", "user", "assistant", "user"),
    ]
    api.assert_all_accepted()


async def test_the_choice_of_a_turn_is_written_down_with_its_beginning() -> None:
    journal = MemoryJournal()
    async with agent_over(MessagesAPI(script("a", "b")), tools=[lookup], tool_choice="none").open(journal) as keeper:
        await (await keeper.conversation("c")).send("go")
    async with agent_over(MessagesAPI(script("b")), tools=[lookup]).open(journal) as keeper:
        await (await keeper.conversation("c")).send("go")
    begun = [event for event in await journal.read("c") if isinstance(event, TurnStarted)]
    assert [event.tool_choice for event in begun] == [{"type": "none"}, None]
    assert '"tool_choice"' not in begun[1].to_payload()


def _without_ids(messages: list[dict[str, Any]]) -> list[Any]:
    hidden = ("id", "tool_use_id")
    return [
        [message["role"], [{k: v for k, v in block.items() if k not in hidden} for block in message["content"]]]
        for message in messages
    ]


async def test_whoever_goes_on_brings_the_tool_that_the_turn_must_call() -> None:
    journal = MemoryJournal()
    async with agent_over(MessagesAPI(script(CALLS, "Done.")), tools=[lookup], tool_choice="lookup").open(journal) as k:
        await (await k.conversation("c")).send("go")
    early = MemoryJournal()
    await early.append("c", (await journal.read("c"))[:2], after=0)
    async with agent_over(MessagesAPI(script()), tools=[other]).open(early) as keeper:
        conversation = await keeper.conversation("c")
        with pytest.raises(tk.errors.ConfigurationError, match="tool_choice 'lookup', and there is no such tool"):
            await conversation.resume()
        assert len(await early.read("c")) == 2


async def test_a_choice_of_what_may_not_be_used_any_more_does_not_hold_and_that_is_said() -> None:
    """A session may end in the middle of a turn: nothing could keep such a choice."""
    megan, visitor = tk.Principal("customer", "1", "confirmed"), tk.Principal("visitor", "v")
    standing = [megan]

    @tk.tool(requires="confirmed")
    def pay(amount: int) -> str:
        """Pay."""
        raise AssertionError

    def answer(request: dict[str, Any]) -> str:
        standing[0] = visitor
        return "They have gone."

    for choice in ("pay", "any"):
        standing[0] = megan
        api = MessagesAPI(answer)
        agent = agent_over(api, tools=[pay], tool_choice=choice, identity=lambda *_: standing[0])
        async with agent.open() as keeper:
            conversation = await keeper.conversation("c", principal=visitor)
            found = await conversation.send("pay")
        said = f"tool_choice {choice!r} does not hold: whoever is talking may use no such tool"
        assert (found.status, found.warnings[-1], len(api.requests)) == ("completed", said, 2)
