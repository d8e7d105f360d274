"""Assurance levels at work: what is offered, what runs, and what the journal says of a change."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

import turnkeeper as tk
from tests.driver.conftest import agent_over, sent
from turnkeeper.core.events import CallRejected, IdentityChanged, TurnStarted
from turnkeeper.errors import ConfigurationError, UnconfirmedError, UnknownConversationError
from turnkeeper.journal import MemoryJournal
from turnkeeper.testing import FixedClock, MessagesAPI, call, reply, script

pytestmark = pytest.mark.anyio

VISITOR = tk.Principal("visitor", "v-1")
MEGAN = tk.Principal("customer", "8259147", "confirmed")
ANA = tk.Principal("staff", "ana")


class World:
    """Who the visitor is, as a session store would say, and what the tools did."""

    def __init__(self) -> None:
        self.who = VISITOR
        self.asked: list[tuple[tk.Principal, str, float]] = []
        self.cancelled: list[tuple[str, tk.Principal | None]] = []

    def identity(self, given: tk.Principal, conversation_id: str, at: float) -> tk.Principal:
        self.asked.append((given, conversation_id, at))
        return self.who

    def tools(self) -> list[tk.Tool]:
        @tk.tool(effect="read")
        def opening_hours() -> str:
            """When the shop is open."""
            return "9 to 17"

        @tk.tool(requires="confirmed")
        def cancel(ctx: tk.ToolContext, order_id: str) -> str:
            """Cancel an order."""
            self.cancelled.append((order_id, ctx.principal))
            return "cancelled"

        @tk.tool(effect="read", requires="claimed")
        def prove(how: str = "code") -> str:
            """Becomes somebody, and stops being so, in the middle of a reply."""
            self.who = MEGAN if how == "code" else VISITOR
            return "done"

        return [opening_hours, cancel, prove]


def offered(api: MessagesAPI, number: int) -> list[str]:
    return [tool["name"] for tool in sent(api, number).get("tools", [])]


def told(api: MessagesAPI, number: int) -> list[Any]:
    return [block["content"] for block in sent(api, number)["messages"][-1]["content"] if "tool_use_id" in block]


async def changes(journal: MemoryJournal) -> list[tuple[str, str, str]]:
    events = await journal.read("c")
    return [(e.principal["kind"], e.principal["level"], e.reason) for e in events if isinstance(e, IdentityChanged)]


@pytest.mark.parametrize(
    ("level", "names"),
    [
        ("anonymous", ["opening_hours"]),
        ("claimed", ["opening_hours", "prove"]),
        ("confirmed", ["opening_hours", "cancel", "prove"]),
        ("step_up", ["opening_hours", "cancel", "prove"]),
        ("root", ["opening_hours"]),
    ],
)
async def test_the_model_is_offered_what_the_level_reaches(level: str, names: list[str]) -> None:
    api = MessagesAPI(script("Hello."))
    async with agent_over(api, tools=World().tools()).open() as keeper:
        await (await keeper.conversation("c", principal=tk.Principal("customer", "1", level))).send("hi")
    assert offered(api, 0) == names
    api.assert_all_accepted()


async def test_nobody_is_offered_the_ungated_only_and_staff_everything() -> None:
    for who, count in ((None, 1), (ANA, 3)):
        api = MessagesAPI(script("Hello."))
        async with agent_over(api, tools=World().tools()).open() as keeper:
            await (await keeper.conversation("c", principal=who)).send("hi")
        assert len(offered(api, 0)) == count


async def test_a_hidden_tool_that_is_called_by_name_is_refused_and_an_unknown_one_names_no_hidden_ones() -> None:
    world = World()
    api = MessagesAPI(script(reply(call("cancel", {"order_id": "1"}), call("nothing", {})), "Sorry."))
    async with agent_over(api, tools=world.tools()).open() as keeper:
        found = await (await keeper.conversation("c", principal=VISITOR)).send("Cancel 1 取消")
    assert [one.outcome for one in found.calls] == ["rejected", "rejected"]
    assert told(api, 1) == [
        "Not run: this is not available to the person you are talking with.",
        "There is no tool named 'nothing'. Available tools: opening_hours.",
    ]
    assert world.cancelled == []


async def test_a_level_is_raised_in_the_middle_and_the_journal_says_so() -> None:
    world, journal = World(), MemoryJournal()
    api = MessagesAPI(script("Who are you?", reply(call("cancel", {"order_id": "1"})), "Done."))
    async with agent_over(api, tools=world.tools(), identity=world.identity).open(journal) as keeper:
        conversation = await keeper.conversation("c", principal=VISITOR)
        await conversation.send("hi")
        world.who = MEGAN
        await conversation.send("now cancel 1")
        assert conversation.who == MEGAN
    assert (offered(api, 0), "cancel" in offered(api, 1)) == (["opening_hours"], True)
    assert world.cancelled == [("1", MEGAN)]
    assert await changes(journal) == [("customer", "confirmed", "raised")]
    turns = [event for event in await journal.read("c") if isinstance(event, TurnStarted)]
    assert {turn.principal and turn.principal["kind"] for turn in turns} == {"visitor"}
    assert world.asked[0][:2] == (VISITOR, "c")


async def test_a_level_that_is_gone_between_proposal_and_call_stops_the_call() -> None:
    world, journal = World(), MemoryJournal()
    world.who = MEGAN
    late = call("cancel", {"order_id": "2"})
    api = MessagesAPI(
        script(reply(call("prove", {"how": "leave"}), late), reply(call("cancel", {"order_id": "3"})), "x")
    )
    async with agent_over(api, tools=world.tools(), identity=world.identity, most_calls_at_once=1).open(journal) as k:
        found = await (await k.conversation("c", principal=VISITOR)).send("cancel them")
    assert [one.outcome for one in found.calls] == ["succeeded", "rejected", "rejected"]
    assert (world.cancelled, offered(api, 1)) == ([], ["opening_hours"])
    assert await changes(journal) == [("customer", "confirmed", "raised"), ("visitor", "anonymous", "lowered")]
    assert [e.reason for e in await journal.read("c") if isinstance(e, CallRejected)] == ["not_allowed"] * 2


async def test_what_was_proven_once_goes_on_only_with_proof() -> None:
    world, journal = World(), MemoryJournal()
    world.who = MEGAN
    api = MessagesAPI(script("Your order is on its way.", "Again."))
    agent = agent_over(api, tools=world.tools(), identity=world.identity)
    async with agent.open(journal) as keeper:
        conversation = await keeper.conversation("c", principal=VISITOR)
        await conversation.send("Where is it?", key="first")
        kept = len(await journal.read("c"))
        for who in (VISITOR, dataclasses.replace(MEGAN, level="claimed"), tk.Principal("customer", "1", "confirmed")):
            world.who = who
            with pytest.raises(UnconfirmedError, match="prove it again, or begin a new conversation"):
                await conversation.send("Repeat what you said")
            with pytest.raises(UnconfirmedError):
                await conversation.send("1", key="first")
            with pytest.raises(UnconfirmedError):
                await conversation.resume()
            with pytest.raises(UnconfirmedError):
                await keeper.conversation("c", principal=VISITOR)
        assert len(await journal.read("c")) == kept
        with pytest.raises(UnknownConversationError):
            await keeper.conversation("c", principal=tk.Principal("visitor", "v-2"))
        world.who = MEGAN
        assert (await conversation.send("Repeat it")).text == "Again."


async def test_a_message_that_waited_until_its_sender_had_no_proof_any_more_is_dropped() -> None:
    world = World()
    world.who = MEGAN
    api = MessagesAPI(script("First."))
    async with agent_over(api, tools=world.tools(), identity=world.identity).open() as keeper:
        await keeper.post("c", "one", key="1", principal=VISITOR)
        assert [one.text for one in (await keeper.work_off("c")).replies] == ["First."]
        await keeper.post("c", "two", key="2", principal=VISITOR)
        world.who = VISITOR
        done = await keeper.work_off("c")
    assert (done.replies, done.left) == ((), "nothing")


async def test_an_application_that_cant_say_who_somebody_is_has_nobody_proven() -> None:
    world = World()

    def broken(given: tk.Principal, conversation_id: str, at: float) -> tk.Principal:
        raise OSError("the session store is gone: redis://:S3cr3t@db")

    async def nobody(given: tk.Principal, conversation_id: str, at: float) -> Any:
        return None

    for identity in (broken, nobody):
        api = MessagesAPI(script(reply(call("cancel", {"order_id": "1"})), "x"))
        async with agent_over(api, tools=world.tools(), identity=identity).open() as keeper:
            found = await (await keeper.conversation("c", principal=MEGAN)).send("cancel")
        assert (found.calls[0].outcome, offered(api, 0)) == ("rejected", ["opening_hours"])
        assert "S3cr3t" not in str(sent(api, 1))


async def test_where_every_tool_is_hidden_after_some_were_used_the_request_is_still_sound() -> None:
    world = World()
    world.who = MEGAN
    tools = [tool for tool in world.tools() if tool.name != "opening_hours"]
    api = MessagesAPI(script(reply(call("prove", {"how": "leave"})), "Goodbye."))
    async with agent_over(api, tools=tools, identity=world.identity).open() as keeper:
        assert (await (await keeper.conversation("c", principal=VISITOR)).send("log me out")).text == "Goodbye."
    assert (offered(api, 1), sent(api, 1)["tool_choice"]) == (["no_tool"], {"type": "none"})
    api.assert_all_accepted()


async def test_a_forced_choice_of_a_hidden_tool_is_refused_before_anything_is_stored() -> None:
    journal = MemoryJournal()
    api = MessagesAPI(script("x"))
    agent = agent_over(api, tools=World().tools(), tool_choice="cancel", thinking={"type": "disabled"})
    async with agent.open(journal) as keeper:
        conversation = await keeper.conversation("c", principal=VISITOR)
        with pytest.raises(ConfigurationError, match="'cancel' is a tool that this principal may not use"):
            await conversation.send("cancel")
    assert (await journal.read("c"), api.requests) == ([], [])


async def test_what_another_person_approved_runs_for_whoever_asked_even_if_their_session_idled_meanwhile() -> None:
    clock = FixedClock()
    ends = {"idle": clock() + 1800, "revoked": float("inf")}
    done: list[tk.Principal | None] = []

    def identity(given: tk.Principal, conversation_id: str, at: float) -> tk.Principal:
        return MEGAN if at < ends["idle"] and clock() < ends["revoked"] else VISITOR

    @tk.tool(requires="confirmed", approval="always")
    def refund(ctx: tk.ToolContext) -> str:
        """Pay back."""
        done.append(ctx.principal)
        return "refunded"

    for revoked, outcome in ((False, "succeeded"), (True, "rejected")):
        api = MessagesAPI(script(reply(call("refund", {})), "It is settled."))
        ends.update(idle=clock() + 1800, revoked=float("inf"))
        async with agent_over(api, tools=[refund], identity=identity, clock=clock).open() as keeper:
            conversation = await keeper.conversation("c", principal=VISITOR)
            assert (await conversation.send("refund")).status is tk.TurnStatus.AWAITING_APPROVAL
            (waiting,) = await keeper.approvals.list()
            assert waiting.requester == MEGAN
            clock.advance(7200)
            await keeper.approvals.approve(waiting.id, by=ANA)
            ends["revoked"] = clock() if revoked else float("inf")
            (found,) = await keeper.recover()
        assert [one.outcome for one in found.calls] == [outcome]
    assert done == [MEGAN]


@pytest.mark.parametrize("lost", [True, False])
async def test_reading_on_in_a_large_result_takes_the_level_of_the_tool_it_came_from(lost: bool) -> None:
    world = World()
    world.who = MEGAN

    @tk.tool(effect="read", requires="confirmed")
    def records() -> str:
        """Long ones."""
        return "Ж" * 300 + "SECRET-TAIL"

    reads = reply(call("read_result", {"call_id": "toolu_1", "offset": 200}, id="toolu_3"))
    leaves = reply(call("prove", {"how": "no" if lost else "code"}, id="toolu_2"))
    api = MessagesAPI(script(reply(call("records", {}, id="toolu_1")), leaves, reads, "Over."))
    tools = [records, *world.tools()]
    async with agent_over(api, tools=tools, identity=world.identity, result_head=200).open() as keeper:
        found = await (await keeper.conversation("c", principal=VISITOR)).send("go")
    assert [one.outcome for one in found.calls] == ["succeeded", "succeeded", "failed" if lost else "succeeded"]
    refused = "Not run: this is not available to the person you are talking with."
    assert told(api, 3) == [refused if lost else "Ж" * 100 + "SECRET-TAIL"]
