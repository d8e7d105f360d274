"""Limits and money."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import anyio
import pytest

import turnkeeper as tk
from tests.driver.conftest import Make, agent_over, sent
from turnkeeper.errors import ConfigurationError, LimitError
from turnkeeper.testing import FixedClock, MessagesAPI, call, faults, reply, script

pytestmark = pytest.mark.anyio


def step() -> str:
    """One step."""
    return "ok"


def endless() -> MessagesAPI:
    return MessagesAPI(lambda request: reply(call("step")) if request.get("tools") else reply("no"))


@pytest.mark.parametrize(
    ("limits", "reason", "requests"),
    [
        (tk.Limits(requests=3), "requests", 3),
        (tk.Limits(requests=None, calls=2), "calls", 3),
        (tk.Limits(requests=None, tokens=1), "tokens", 1),
        (tk.Limits(requests=None, usd=Decimal("0.000001")), "usd", 0),
        (tk.Limits(requests=None, usd=Decimal("0.03")), "usd", 14),
    ],
)
async def test_an_endless_conversation_stops_at_its_limit_with_a_sound_history(
    make: Make, limits: tk.Limits, reason: str, requests: int
) -> None:
    api = endless()
    async with make(api, tools=[step], limits=limits).open() as keeper:
        conversation = await keeper.conversation("c")
        found = await conversation.send("go")
        assert (found.status, found.reason, len(api.requests)) == (tk.TurnStatus.LIMIT_REACHED, reason, requests)
        assert conversation.messages[-1]["role"] == "user"
        await conversation.send("and again")
    api.assert_all_accepted()


async def test_by_default_a_model_that_repeats_the_same_bad_call_is_stopped_after_fifty_requests(make: Make) -> None:
    """Report B17-null-for-optional.

    https://github.com/ZenRows/zenrows-mcp/pull/23
    """
    api = MessagesAPI(lambda request: reply(call("nothing_like_it", {"q": None})))
    found = await make(api, tools=[step]).run("go")
    assert (found.status, found.reason, len(api.requests)) == (tk.TurnStatus.LIMIT_REACHED, "requests", 50)


async def test_calls_beyond_the_limit_are_answered_not_run(make: Make) -> None:
    ran: list[int] = []

    def count(n: int) -> str:
        """Count."""
        ran.append(n)
        return "ok"

    api = MessagesAPI(script(reply(*(call("count", {"n": n}) for n in range(4))), "fine"))
    async with make(api, tools=[count], limits=tk.Limits(calls=2), most_calls_at_once=1).open() as keeper:
        conversation = await keeper.conversation("c")
        found = await conversation.send("go")
        assert (found.status, found.reason, ran) == (tk.TurnStatus.LIMIT_REACHED, "calls", [0, 1])
        assert {record.outcome for record in found.calls} == {"succeeded", "rejected"}
        assert (await conversation.send("go on")).text == "fine"
    assert len(sent(api, 1)["messages"][2]["content"]) == 5
    api.assert_all_accepted()


async def test_time_ends_a_turn_also_in_the_middle_of_a_request_and_between_retries() -> None:
    slept: list[float] = []

    async def wait(seconds: float) -> None:
        slept.append(seconds)
        await anyio.sleep_forever()

    api = MessagesAPI(script(faults.slow("late", first=30)), sleep=wait)
    found = await agent_over(api, limits=tk.Limits(seconds=0.05)).run("go")
    assert (found.status, found.reason, slept) == (tk.TurnStatus.LIMIT_REACHED, "seconds", [30])
    clock = FixedClock()
    api = MessagesAPI(script(*[faults.rate_limited(50)] * 4))
    found = await agent_over(api, clock=clock, limits=tk.Limits(seconds=90)).run("go")
    assert (found.status, found.reason, clock.slept) == (tk.TurnStatus.LIMIT_REACHED, "seconds", (50.0, 40.0))


async def test_a_resumed_turn_has_its_limits_anew(make: Make) -> None:
    api = MessagesAPI(script(reply(call("step")), reply(call("step")), "done"))
    async with make(api, tools=[step], limits=tk.Limits(requests=2)).open() as keeper:
        conversation = await keeper.conversation("c")
        assert (await conversation.send("go")).status is tk.TurnStatus.LIMIT_REACHED
        assert (await conversation.resume()).text == "done"


async def test_cost_counts_cache_writes_and_reads_at_their_own_rates(make: Make) -> None:
    usage = {
        "input_tokens": 1_000,
        "output_tokens": 2_000,
        "cache_read_input_tokens": 100_000,
        "cache_creation_input_tokens": 30_000,
        "cache_creation": {"ephemeral_5m_input_tokens": 20_000, "ephemeral_1h_input_tokens": 10_000},
    }
    api = MessagesAPI(script(reply("ok", usage=usage)))
    found = await make(api, model="claude-opus-4-8").run("hi")
    # 5 and 25 USD a million; reads 0.1, writes 1.25 and 2 times the input price.
    assert found.cost == Decimal("0.005") + Decimal("0.05") + Decimal("0.05") + Decimal("0.125") + Decimal("0.1")
    assert found.usage == tk.Usage(
        input_tokens=1_000,
        output_tokens=2_000,
        cache_read_input_tokens=100_000,
        cache_write_5m_input_tokens=20_000,
        cache_write_1h_input_tokens=10_000,
        requests=1,
    )


async def test_usage_of_a_turn_is_the_sum_of_its_replies(make: Make) -> None:
    """Report A35-cache-usage-doubled-in-stream.

    https://github.com/langchain-ai/langchainjs/issues/10249
    """
    first = {"input_tokens": 2, "cache_creation_input_tokens": 100, "cache_read_input_tokens": 0, "output_tokens": 64}
    second = {"input_tokens": 10, "cache_creation_input_tokens": 5, "cache_read_input_tokens": 100, "output_tokens": 20}
    api = MessagesAPI(script(reply(call("step"), usage=first), reply("ok", usage=second)))
    found = (await make(api, tools=[step]).run("go")).usage
    assert (found.input_tokens, found.cache_creation_input_tokens) == (12, 105)
    assert (found.cache_read_input_tokens, found.output_tokens, found.requests) == (100, 84, 2)


async def test_a_stream_repeats_cumulative_counts_and_they_are_not_added_twice() -> None:
    """Report A35-cache-usage-doubled-in-stream.

    https://github.com/langchain-ai/langchainjs/issues/10249
    """
    start = {"input_tokens": 2, "cache_creation_input_tokens": 100, "cache_read_input_tokens": 0, "output_tokens": 4}
    said = reply("ok", start_usage=start, delta_usage=start | {"output_tokens": 64})
    found = (await agent_over(MessagesAPI(script(said))).run("go")).usage
    assert (found.input_tokens, found.cache_creation_input_tokens, found.output_tokens) == (2, 100, 64)


def test_a_money_limit_on_a_model_without_a_price_is_refused() -> None:
    with pytest.raises(LimitError, match="my-local-model has none"):
        tk.Agent(model="my-local-model", limits=tk.Limits(usd=1))


@pytest.mark.parametrize(
    "limits",
    [{"requests": 0}, {"calls": -1}, {"seconds": float("nan")}, {"usd": float("inf")}, {"tokens": "viele"}],
)
def test_a_limit_that_is_no_number_is_refused(limits: dict[str, Any]) -> None:
    with pytest.raises(LimitError, match=f"the limit on {next(iter(limits))} must be"):
        tk.Agent(limits=tk.Limits(**limits))


async def test_an_unpriced_model_has_no_cost(make: Make) -> None:
    api = MessagesAPI(script("ok"), imitation="ollama")
    assert (await make(api, model="qwen3").run("hi")).cost is None


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"max_tokens": 0}, "positive number"),
        ({"max_tokens": 10_000_000}, "more than claude-opus-4-8 can write"),
        ({"tool_choice": "any"}, "needs tools"),
        ({"tools": [step], "tool_choice": "other"}, "not among the tools: step"),
        (
            {"tools": [step], "tool_choice": "any", "model": "claude-opus-5-5", "guide_tool_choice": False},
            "tool_choice 'any': the model claude-opus-5-5 refuses a forced choice",
        ),
        ({"tool_choice_asks": -1}, "tool_choice_asks must be 0 or more"),
        ({"most_calls_at_once": 0}, "1 or more"),
        ({"extra": {"messages": []}}, "has an argument of its own"),
        ({"extra": {"metadata": object()}}, "must be JSON values"),
    ],
)
def test_what_can_not_work_is_refused_before_anything_is_sent(options: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigurationError, match=says):
        tk.Agent(**{"model": "claude-opus-4-8"} | options)


async def test_counts_that_are_no_counts_give_nothing_back() -> None:
    """An endpoint that says less than nothing would make room in a limit."""
    false = {"input_tokens": -1_000_000, "output_tokens": 10, "cache_read_input_tokens": -5}
    api = MessagesAPI(script(reply(call("look"), usage=false), reply(call("look"), usage=false), "never"), strict=False)

    def look() -> str:
        """Look."""
        return "…"

    found = await agent_over(api, tools=[look], limits=tk.Limits(tokens=20)).run("go")
    assert (found.status, found.reason) == (tk.TurnStatus.LIMIT_REACHED, "tokens")
    assert (found.usage.total_tokens, found.usage.input_tokens, found.usage.output_tokens) == (20, 0, 20)
    assert found.cost is not None
    assert found.cost > 0
