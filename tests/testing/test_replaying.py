"""Recorded conversations run again: unchanged they are the same, and what has changed shows at its first difference."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import turnkeeper as tk
from turnkeeper.testing import (
    FixedClock,
    MessagesAPI,
    assert_replays,
    call,
    faults,
    recorded_agent,
    replay,
    reply,
    script,
)

pytestmark = pytest.mark.anyio

OLGA = tk.Principal("customer", "Ольга", "signed_in")
ANA = tk.Principal("staff", "ana")
MODEL = "claude-opus-4-8"


@tk.tool(effect="read")
def stock(item: str) -> str:
    """How many there are.

    Args:
        item: Its name.
    """
    return f"{item}: 12 штук 📦"


@tk.tool(approval="always", effect="idempotent")
def refund(order: str, cents: int) -> str:
    """Pay back.

    Args:
        order: The order.
        cents: How much.
    """
    return "paid"


SYSTEM = "You keep the stock.\nAnswer briefly."


def agent(api: Any = None, **options: Any) -> tk.Agent:
    clock = FixedClock()
    given: dict[str, Any] = {
        "model": MODEL,
        "system": SYSTEM,
        "tools": [stock, refund],
        "clock": clock,
        "sleep": clock.sleep,
    }
    return tk.Agent(client=api or MessagesAPI(), **(given | options))


async def recorded(**options: Any) -> str:
    """Three turns: calls side by side and a retry; a refund that a person approves; words alone."""
    api = MessagesAPI(
        script(
            reply("Let me see.", call("stock", {"item": "болты"}), call("stock", {"item": "гайки"}), call("nothing")),
            faults.overloaded(),
            "12 of each.",
            reply(call("refund", {"order": "A-1", "cents": 700})),
            "Paid back.",
            "Bye!",
        )
    )
    async with agent(api, **options).open() as keeper:
        conversation = await keeper.conversation("c", principal=OLGA)
        await conversation.send("Что есть?")
        await conversation.send("Give me my money back.", key="sms-7")
        [waiting] = await keeper.approvals.list()
        await keeper.approvals.approve(waiting.id, by=ANA)
        await conversation.resume()
        await conversation.send("Thanks")
        return await keeper.journal.export("c")


def test_an_unchanged_agent_replays_the_whole_conversation(tmp_path: Path) -> None:
    import anyio

    export = anyio.run(recorded)
    assert_replays(export, agent())
    path = tmp_path / "c.jsonl"
    path.write_text(export, "utf-8")
    assert_replays(path, agent())


async def events_of(export: str) -> Any:
    async with agent().open() as keeper:
        await keeper.journal.import_(export)
        return await keeper.journal.read("c")


async def first_difference(changed: tk.Agent, **options: Any) -> Any:
    found = await replay("c", await events_of(await recorded()), changed, **options)
    return found.divergence


async def test_the_record_itself_gives_an_agent_to_replay_with() -> None:
    events = await events_of(await recorded())
    found = await replay("c", events, recorded_agent(events))
    assert (found.turns, found.divergence) == (3, None)


async def test_another_prompt_shows_as_a_diff_of_the_prompt() -> None:
    found = await first_difference(agent(system="You keep the stock.\nAnswer at length."))
    assert (found.turn, found.seq, found.what) == (1, 3, "what every request holds is not what it was")
    assert "-Answer briefly.\n+Answer at length." in found.diff
    assert await first_difference(agent(system="Other."), setup=False) is None


async def test_a_tool_that_takes_other_arguments_shows_where_it_refuses_the_recorded_ones() -> None:
    @tk.tool(effect="read", name="stock")
    def narrower(item: str, warehouse: str) -> str:
        """How many there are."""
        return item + warehouse

    found = await first_difference(agent(tools=[narrower, refund]), setup=False)
    assert (found.turn, found.what) == (1, "call started was written down, now it is call rejected")
    assert "warehouse" in found.diff


async def test_a_policy_that_asks_nobody_any_more_shows() -> None:
    @tk.tool(effect="idempotent", name="refund")
    def freely(order: str, cents: int) -> str:
        """Pay back."""
        return "paid"

    found = await first_difference(agent(tools=[stock, freely]), setup=False)
    assert (found.turn, found.what) == (2, "approval requested was written down, now it is call started")


async def test_tools_are_run_for_real_only_when_named() -> None:
    ran: list[str] = []

    @tk.tool(effect="read", name="stock")
    def other(item: str) -> str:
        """How many there are.

        Args:
            item: Its name.
        """
        ran.append(item)
        return f"{item}: 13 штук 📦"

    changed = agent(tools=[other, refund])
    assert await first_difference(changed) is None
    assert ran == []
    found = await first_difference(changed, run=["stock"])
    assert (found.turn, found.what) == (1, "call finished was written down, now it is call finished")
    assert '-  "content": "болты: 12 штук 📦",\n+  "content": "болты: 13 штук 📦",' in found.diff
    assert sorted(ran) == ["болты", "гайки"]
    assert (await first_difference(changed, run=["*"])).turn == 1


async def test_a_difference_fails_a_test_with_what_differs() -> None:
    export = await recorded()
    with pytest.raises(AssertionError, match=r"(?s)conversation c is not what it was.*turn 1, event 3.*\+Other\."):
        await_less(export)


def await_less(export: str) -> None:
    import threading

    raised: list[BaseException] = []

    def work() -> None:
        try:
            assert_replays(export, agent(system="Other."))
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    raise raised[0]


@pytest.mark.parametrize(
    "limits",
    [tk.Limits(requests=1)],
)
async def test_a_turn_that_met_a_limit_is_no_divergence(limits: tk.Limits) -> None:
    api = MessagesAPI(script(reply(call("stock", {"item": "x"})), "ok"))
    async with agent(api, limits=limits).open() as keeper:
        conversation = await keeper.conversation("c")
        await conversation.send("go")
        await conversation.send("on")
        events = await keeper.journal.read("c")
    assert (await replay("c", events, agent())).divergence is None


async def test_an_imported_conversation_is_replayed_too() -> None:
    api = MessagesAPI(script("done"))
    given: list[dict[str, Any]] = [
        {"role": "user", "content": "How many?"},
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "toolu_1", "name": "stock", "input": {"item": "x"}}],
        },
    ]
    async with agent(api, accept=["calls"]).open() as keeper:
        conversation = await keeper.conversation("c")
        await conversation.answer(given)
        events = await keeper.journal.read("c")
    assert (await replay("c", events, agent(accept=["calls"]))).divergence is None
