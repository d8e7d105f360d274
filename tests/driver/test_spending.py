"""What conversations have cost: each step at the price of the model that served it; by tool, model and day."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

import turnkeeper as tk
from tests.driver.conftest import agent_over
from turnkeeper.driver.spending import ANSWERING, spending, totals
from turnkeeper.testing import FixedClock, MessagesAPI, call, reply, script

pytestmark = pytest.mark.anyio


def look() -> str:
    """Look."""
    return "seen"


def ship() -> str:
    """Ship."""
    return "sent"


def used(tokens: int, **more: Any) -> dict[str, Any]:
    return {"input_tokens": tokens, "output_tokens": 0, **more}


async def test_a_compaction_and_a_fallback_cost_what_the_models_that_served_them_charge() -> None:
    """The counts beside `iterations` leave the compaction and the model that declined out."""
    usage = {
        "input_tokens": 2_000,
        "output_tokens": 100,
        "iterations": [
            {"type": "compaction", "input_tokens": 100_000, "output_tokens": 1_000},
            {"type": "message", "model": "claude-opus-4-8", "input_tokens": 1_000, "output_tokens": 10},
            {"type": "fallback_message", "model": "claude-haiku-4-5", "input_tokens": 2_000, "output_tokens": 100},
        ],
    }
    found = await agent_over(MessagesAPI(script(reply("ok", usage=usage)))).run("hi")
    # 5 and 25 USD a million for Opus 4.8, 1 and 5 for Haiku 4.5
    assert found.cost == Decimal("0.5") + Decimal("0.025") + Decimal("0.005") + Decimal("0.00025") + Decimal(
        "0.002"
    ) + Decimal("0.0005")


async def test_a_reply_that_names_another_model_costs_what_that_one_charges() -> None:
    api = MessagesAPI(script(reply("ok", usage=used(1_000_000), model="claude-haiku-4-5-20251001")))
    assert (await agent_over(api).run("hi")).cost == Decimal(1)


async def test_a_refusal_before_any_output_costs_nothing() -> None:
    api = MessagesAPI(script(reply(stop_reason="refusal")))
    found = await agent_over(api).run("hi")
    assert (found.status, found.cost) == (tk.TurnStatus.REFUSED, Decimal(0))
    assert api.cost() == Decimal(0)


async def test_requests_are_shared_among_the_tools_whose_results_they_brought() -> None:
    clock = FixedClock()
    api = MessagesAPI(
        script(
            reply(call("look"), call("look"), call("ship"), usage=used(300)),
            reply(call("ship"), usage=used(3_000)),
            reply("done", usage=used(1_000)),
            reply("again", usage=used(700)),
        )
    )
    async with agent_over(api, clock=clock, tools=[look, ship]).open() as keeper:
        conversation = await keeper.conversation("c")
        await conversation.send("go")
        clock.advance(24 * 3600)
        await conversation.send("and?")
        entries = spending("c", await keeper.journal.read("c"))
    by_tool = {one.name: (int(one.tokens["input_tokens"]), one.usd) for one in totals(entries, "tool")}
    assert by_tool == {
        "ship": (2_000, Decimal("0.01")),  # a third of 3,000, and 1,000
        "look": (2_000, Decimal("0.01")),
        ANSWERING: (1_000, Decimal("0.005")),
    }
    days = totals(entries, "day")
    assert [one.tokens["input_tokens"] for one in days] == [4_300, 700]
    assert sum(one.requests for one in days) == 4
    assert [one.name for one in totals(entries, "model")] == ["claude-opus-4-8"]


async def test_the_journal_agrees_with_the_simulators_ledger_to_the_last_fraction() -> None:
    def answer(request: Any) -> Any:
        last = request["messages"][-1]["content"][-1]
        return reply("Done.") if last["type"] == "tool_result" else reply(call("look"), call("ship"))

    api = MessagesAPI(answer)
    async with agent_over(api, system="Be careful. " * 900, tools=[look, ship]).open() as keeper:
        for name in ("a", "b"):
            conversation = await keeper.conversation(name)
            for number in range(4):
                await conversation.send(f"Сообщение {number} 📦")
        entries = [one for name in ("a", "b") for one in spending(name, await keeper.journal.read(name))]
    assert sum(one.usd for one in totals(entries, "conversation")) == api.cost()
    assert sum(one.usd for one in totals(entries, "tool")) == api.cost()
