"""Measurements: names, attributes and exact values over a clock that stands still."""

from __future__ import annotations

import pytest

import turnkeeper as tk
from tests.telemetry.conftest import MODEL, Kept
from turnkeeper.errors import APIError
from turnkeeper.telemetry import CONVENTIONS, NEWEST
from turnkeeper.testing import call, faults, reply, script

pytestmark = pytest.mark.anyio

CHAT = {"gen_ai.operation.name": "chat", "gen_ai.provider.name": "anthropic", "gen_ai.request.model": MODEL}


def key(**attributes: object) -> tuple[tuple[str, object], ...]:
    return tuple(sorted(attributes.items()))


async def test_a_streamed_reply_has_its_times_and_counts(kept: Kept) -> None:
    @tk.tool(effect="read")
    async def wait() -> str:
        """Take two seconds."""
        await kept.clock.sleep(2.0)
        return "waited"

    said = reply("abcdef", chunk=2, usage={"input_tokens": 10, "output_tokens": 7})
    asks = reply(call("wait"), usage={"input_tokens": 4, "output_tokens": 3})
    api = kept.api(script(asks, faults.slow(said, first=0.5, between=0.25)))
    found = await kept.agent(api, tools=[wait]).run("Go on")
    answered = {**CHAT, "gen_ai.response.model": MODEL}
    (chat,) = kept.named(f"chat {MODEL}")[1:]
    first = (chat.attributes or {})["gen_ai.response.time_to_first_chunk"]
    assert isinstance(first, float)
    assert first >= 0.5
    assert kept.points("gen_ai.client.operation.time_to_first_chunk") == {key(**CHAT): (2, round(first, 9))}
    count, seconds = kept.points("gen_ai.client.operation.time_per_output_chunk")[key(**CHAT)]
    assert (count, seconds) == (2, 0.5)
    total = kept.points("gen_ai.client.operation.duration")[key(**answered)]
    assert total == (2, kept.points("gen_ai.invoke_agent.duration")[agent_key()][1] - 2.0)
    assert kept.points("gen_ai.client.token.usage") == {
        key(**CHAT, **{"gen_ai.token.type": "input"}): (2, 14),
        key(**CHAT, **{"gen_ai.token.type": "output"}): (2, 10),
    }
    assert kept.points("gen_ai.execute_tool.duration") == {
        key(**{"gen_ai.tool.name": "wait", "gen_ai.tool.type": "function", "gen_ai.agent.name": "desk"}): (1, 2.0)
    }
    assert found.cost is not None
    assert kept.points("turnkeeper.cost") == {key(**{"gen_ai.request.model": MODEL}): pytest.approx(float(found.cost))}


def agent_key(**more: object) -> tuple[tuple[str, object], ...]:
    return key(**{"gen_ai.agent.name": "desk", "gen_ai.request.model": MODEL, **more})


async def test_failures_are_counted_by_their_kind(kept: Kept) -> None:
    api = kept.api(script("never"), faults=[faults.overloaded(), faults.unauthenticated()])
    with pytest.raises(APIError):
        await kept.agent(api).run("Go on")
    durations = kept.points("gen_ai.client.operation.duration")
    assert {dict(one)["error.type"]: points[0] for one, points in durations.items()} == {
        "overloaded_error": 1,
        "authentication_error": 1,
    }
    assert list(kept.points("gen_ai.invoke_agent.duration")) == [agent_key(**{"error.type": "authentication_error"})]


async def test_buckets_are_those_of_the_convention(kept: Kept) -> None:
    await kept.agent(kept.api(script("Hi."))).run("Hello")
    data = kept.reader.get_metrics_data()
    assert data is not None
    bounds = {
        metric.name: tuple(getattr(point, "explicit_bounds", ()))
        for resource in data.resource_metrics
        for scope in resource.scope_metrics
        for metric in scope.metrics
        for point in metric.data.data_points
    }
    names = CONVENTIONS[NEWEST]
    assert bounds["gen_ai.client.token.usage"] == tuple(4**power for power in range(14))
    assert bounds[names.request_duration.name] == tuple(round(0.01 * 2**n, 2) for n in range(14))
    assert bounds[names.agent_duration.name] == tuple(round(0.1 * 2**n, 1) for n in range(13))
