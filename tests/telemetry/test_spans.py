"""The spans of a turn: names, kinds, parents and attributes, as the conventions have them."""

from __future__ import annotations

import subprocess
import sys

import pytest
from opentelemetry import trace
from opentelemetry.trace import SpanKind, StatusCode

import turnkeeper as tk
from tests.telemetry.conftest import MODEL, Kept, id_of
from turnkeeper.errors import APIError, ConfigurationError
from turnkeeper.telemetry import Telemetry
from turnkeeper.testing import call, faults, reply, script, thinking

pytestmark = pytest.mark.anyio


@tk.tool(effect="read")
def order_status(order: str) -> str:
    """Say where an order is."""
    return f"{order}: отправлен"


@tk.tool(effect="read")
async def weather(city: str) -> str:
    """The weather."""
    return f"{city}: rain"


async def test_a_turn_is_a_span_with_its_requests_and_calls_below_it(kept: Kept) -> None:
    asks = reply(
        call("order_status", {"order": "24601"}, id="toolu_1"),
        call("weather", {"city": "北京"}, id="toolu_2"),
        usage={"input_tokens": 100, "output_tokens": 20, "cache_read_input_tokens": 30},
    )
    api = kept.api(script(asks, reply("On its way.", usage={"input_tokens": 160, "output_tokens": 5})))
    agent = kept.agent(api, tools=[order_status, weather], extra={"stop_sequences": ["КОНЕЦ"]})
    async with agent.open() as keeper:
        await (await keeper.conversation("c-1")).send("Where is it?")
    assert kept.tree() == [
        ("invoke_agent desk", [f"chat {MODEL}", "execute_tool order_status", "execute_tool weather", f"chat {MODEL}"])
    ]
    turn = kept.only("invoke_agent desk")
    assert (turn.kind, turn.status.status_code, turn.parent, list(turn.links)) == (
        SpanKind.INTERNAL,
        StatusCode.UNSET,
        None,
        [],
    )
    cost = turn.attributes["turnkeeper.cost.usd"] if turn.attributes else None
    assert dict(turn.attributes or {}) == {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.provider.name": "anthropic",
        "gen_ai.conversation.id": "c-1",
        "gen_ai.agent.name": "desk",
        "gen_ai.request.model": MODEL,
        "session.id": "c-1",
        "turnkeeper.turn.resumed": False,
        "turnkeeper.turn.status": "completed",
        "gen_ai.usage.input_tokens": 290,
        "gen_ai.usage.output_tokens": 25,
        "turnkeeper.cost.usd": cost,
    }
    assert isinstance(cost, float)
    assert cost > 0
    first, second = kept.named(f"chat {MODEL}")
    assert first.kind is SpanKind.CLIENT
    assert dict(first.attributes or {}) == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "anthropic",
        "gen_ai.conversation.id": "c-1",
        "gen_ai.request.model": MODEL,
        "gen_ai.request.max_tokens": 1000,
        "gen_ai.request.stream": True,
        "gen_ai.request.stop_sequences": ("КОНЕЦ",),
        "gen_ai.response.id": api.replies[0]["id"],
        "gen_ai.response.model": MODEL,
        "gen_ai.response.finish_reasons": ("tool_use",),
        "gen_ai.response.time_to_first_chunk": 0.0,
        "gen_ai.usage.input_tokens": 130,
        "gen_ai.usage.output_tokens": 20,
        "gen_ai.usage.cache_read.input_tokens": 30,
        "gen_ai.usage.cache_creation.input_tokens": 0,
        "turnkeeper.request.number": 1,
        "turnkeeper.request.attempt": 1,
        "turnkeeper.request.id": (first.attributes or {})["turnkeeper.request.id"],
        "turnkeeper.cost.usd": (first.attributes or {})["turnkeeper.cost.usd"],
    }
    assert (second.attributes or {})["gen_ai.response.finish_reasons"] == ("end_turn",)
    called = kept.only("execute_tool order_status")
    assert called.kind is SpanKind.INTERNAL
    assert dict(called.attributes or {}) == {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "order_status",
        "gen_ai.tool.type": "function",
        "gen_ai.tool.call.id": "toolu_1",
        "gen_ai.agent.name": "desk",
        "gen_ai.conversation.id": "c-1",
        "turnkeeper.call.effect": "read",
        "turnkeeper.call.outcome": "succeeded",
        "turnkeeper.call.attempts": 1,
    }


async def test_thinking_is_counted_apart(kept: Kept) -> None:
    said = reply(thinking("hm"), "Yes.", usage={"output_tokens": 9, "output_tokens_details": {"thinking_tokens": 4}})
    agent = kept.agent(kept.api(script(said)), thinking={"type": "adaptive"}, stream=False)
    await agent.run("Really?")
    attributes = kept.only(f"chat {MODEL}").attributes or {}
    assert attributes["gen_ai.usage.reasoning.output_tokens"] == 4
    assert attributes["gen_ai.request.stream"] is False
    assert "gen_ai.response.time_to_first_chunk" not in attributes


async def test_each_try_of_a_request_is_a_span_and_the_wait_an_event(kept: Kept) -> None:
    api = kept.api(script("Fine."), faults=[faults.overloaded(), faults.overloaded()])
    await kept.agent(api).run("Go on")
    tries = kept.named(f"chat {MODEL}")
    assert [(one.attributes or {})["turnkeeper.request.attempt"] for one in tries] == [1, 2, 3]
    assert [(one.attributes or {}).get("error.type") for one in tries] == ["overloaded_error", "overloaded_error", None]
    assert [(one.attributes or {}).get("http.response.status_code") for one in tries] == [529, 529, None]
    assert [one.status.status_code for one in tries] == [StatusCode.ERROR, StatusCode.ERROR, StatusCode.UNSET]
    turn = kept.only("invoke_agent desk")
    assert turn.status.status_code is StatusCode.UNSET
    assert [(one.name, dict(one.attributes or {})) for one in turn.events] == [
        (
            "turnkeeper.retry",
            {"error.type": "overloaded_error", "turnkeeper.retry.delay": delay, "turnkeeper.request.attempt": attempt},
        )
        for delay, attempt in zip(kept.clock.slept, (2, 3), strict=True)
    ]


async def test_a_turn_that_fails_says_why_in_a_word_and_not_in_the_words_of_the_endpoint(kept: Kept) -> None:
    api = kept.api(script("never"), faults={1: faults.bad_request("messages.0: 'секрет клиента' is not allowed")})
    with pytest.raises(APIError, match="секрет"):
        await kept.agent(api).run("Go on")
    asked, turn = kept.only(f"chat {MODEL}"), kept.only("invoke_agent desk")
    for span in (asked, turn):
        assert span.status.status_code is StatusCode.ERROR
        assert span.status.description is None
        assert (span.attributes or {})["error.type"] == "invalid_request_error"
        assert "секрет" not in span.to_json()
    assert (turn.attributes or {})["turnkeeper.turn.status"] == "failed"


async def test_a_stream_that_breaks_is_an_error_with_what_it_cost(kept: Kept) -> None:
    api = kept.api(script(faults.cut(reply("All of it", usage={"input_tokens": 50}), after=3), "All of it."))
    await kept.agent(api).run("Go on")
    broken, whole = kept.named(f"chat {MODEL}")
    assert (broken.attributes or {})["error.type"] == "stream_cut"
    assert (broken.attributes or {})["gen_ai.usage.input_tokens"] == 50
    assert "error.type" not in (whole.attributes or {})


async def test_a_call_that_fails_is_an_error_that_links_to_the_log(kept: Kept) -> None:
    @tk.tool(effect="read", retries=1)
    def flaky() -> str:
        """Fail."""
        raise RuntimeError("postgresql://desk:hunter2@db/desk")

    agent = kept.agent(kept.api(script(call("flaky"), "Sorry.")), tools=[flaky])
    found = await agent.run("Go on")
    span = kept.only("execute_tool flaky")
    attributes = dict(span.attributes or {})
    assert span.status.status_code is StatusCode.ERROR
    assert attributes["error.type"] == attributes["turnkeeper.call.outcome"] == "failed"
    assert attributes["turnkeeper.call.attempts"] == 2
    assert str(attributes["turnkeeper.error.id"]) in str(found.calls[0].content)
    assert not any("hunter2" in one.to_json() for one in kept.spans)


async def test_a_call_that_is_refused_is_an_event_of_the_turn(kept: Kept) -> None:
    agent = kept.agent(kept.api(script(call("nothing", {"a": 1}, id="toolu_x"), "Sorry.")), tools=[weather])
    await agent.run("Go on")
    assert [one.name for one in kept.spans if one.name.startswith("execute")] == []
    (event,) = kept.only("invoke_agent desk").events
    assert (event.name, dict(event.attributes or {})) == (
        "turnkeeper.call_rejected",
        {"turnkeeper.reason": "unknown_tool", "gen_ai.tool.call.id": "toolu_x"},
    )


async def test_what_a_tool_does_belongs_to_its_span_in_threads_too(kept: Kept) -> None:
    tracer = trace.get_tracer("shop", tracer_provider=kept.tracers)

    @tk.tool(effect="read")
    def in_a_thread() -> str:
        """Look it up."""
        with tracer.start_as_current_span("SELECT orders"):
            return "one"

    @tk.tool(effect="read")
    async def on_the_loop() -> str:
        """Look it up."""
        with tracer.start_as_current_span("GET /orders"):
            return "one"

    asks = reply(call("in_a_thread"), call("on_the_loop"))
    await kept.agent(kept.api(script(asks, "Done.")), tools=[in_a_thread, on_the_loop]).run("Go on")
    ((_, below),) = kept.tree()
    assert sorted(one for one in below if isinstance(one, tuple)) == [
        ("execute_tool in_a_thread", ["SELECT orders"]),
        ("execute_tool on_the_loop", ["GET /orders"]),
    ]


async def test_a_cancelled_turn_is_no_error(kept: Kept) -> None:
    agent = kept.agent(kept.api(script(call("weather", {"city": "Oslo"}), "never")), tools=[weather])
    async with agent.open() as keeper:
        conversation = await keeper.conversation("c-1")
        async for update in (turn := conversation.send("Go on")):
            if update.type == "call_started":
                await conversation.cancel()
    assert turn.reply is not None
    assert turn.reply.status is tk.TurnStatus.CANCELLED
    span = kept.only("invoke_agent desk")
    assert (span.attributes or {})["turnkeeper.turn.status"] == "cancelled"
    assert (span.attributes or {})["turnkeeper.turn.reason"] == "cancelled"
    assert span.status.status_code is StatusCode.UNSET
    assert len(kept.spans) == len({id_of(one) for one in kept.spans})


async def test_who_is_talking_is_a_keyed_hash_or_nobody(kept: Kept) -> None:
    john = tk.Principal("customer", "+49 170 1234567")
    for key in (None, "ключ"):
        agent = kept.agent(kept.api(script("Hi.")), telemetry=kept.telemetry(user_key=key))
        async with agent.open() as keeper:
            await (await keeper.conversation("c-1", principal=john)).send("Hello")
    nobody, somebody = kept.named("invoke_agent desk")
    assert "user.id" not in (nobody.attributes or {})
    assert (somebody.attributes or {})["user.id"] == "b0e4c094d823e6aceb10548ae229f590"
    assert not any("1234567" in span.to_json() for span in kept.spans)


def test_an_unknown_version_of_the_conventions_is_refused() -> None:
    with pytest.raises(ConfigurationError, match=r"semconv is one of v0\.1\.0, not 'v9'"):
        Telemetry(semconv="v9")


async def test_an_agent_without_a_name_has_a_span_without_one(kept: Kept) -> None:
    await kept.agent(kept.api(script("Hi.")), name="").run("Hello")
    assert "gen_ai.agent.name" not in (kept.only("invoke_agent").attributes or {})


def test_without_an_sdk_nothing_is_recorded_sent_or_kept() -> None:
    """In a process of its own: OpenTelemetry's providers are global."""
    program = """
import anyio, turnkeeper as tk, sys
from turnkeeper.testing import MessagesAPI, script
assert "opentelemetry" not in sys.modules
from turnkeeper.telemetry import Telemetry
assert "opentelemetry.sdk" not in sys.modules
api = MessagesAPI(script("Hi."))
agent = tk.Agent(client=api, observer=Telemetry())
async def main():
    async with agent.open() as keeper:
        await (await keeper.conversation("c")).send("Hello")
        return await keeper.journal.read("c")
events = anyio.run(main)
assert [getattr(event, "trace", None) for event in events] == [None] * len(events), events
assert "traceparent" not in api.requests[0].headers
print("nothing")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=60)
    assert (done.stdout, done.stderr) == ("nothing\n", "")


async def test_words_of_the_endpoints_own_are_short_and_can_be_written(kept: Kept) -> None:
    asks = reply(call("weather", {"city": "Oslo"}, id="toolu_\ud800" + "x" * 500))
    api = kept.api(script(asks, "Rain."), strict=False)
    await kept.agent(api, tools=[weather]).run("Go on")
    name = (kept.only("execute_tool weather").attributes or {})["gen_ai.tool.call.id"]
    assert name == "toolu_\ufffd" + "x" * 193
