"""Trace context: in from requests, out to the API, and through the journal to whoever goes on with a turn."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.trace import get_current_span

import turnkeeper as tk
from tests.telemetry.conftest import MODEL, Kept, id_of
from turnkeeper.telemetry import TraceContextMiddleware, continuing
from turnkeeper.testing import MessagesAPI, call, reply, script

pytestmark = pytest.mark.anyio

TRACE = "0af7651916cd43dd8448eb211c80319c"
PARENT = f"00-{TRACE}-b7ad6b7169203331-01"
ANA, JOHN = tk.Principal("staff", "ana"), tk.Principal("customer", "1213210")


@tk.tool(approval="always")
def refund(order: str) -> str:
    """Refund an order."""
    return f"{order}: 退款"


def traces(events: Any) -> dict[str, str | None]:
    return {event.type: event.trace for event in events if hasattr(event, "trace")}


def traceparent(span: Any) -> str:
    return f"00-{span.context.trace_id:032x}-{span.context.span_id:016x}-{int(span.context.trace_flags):02x}"


async def test_a_request_carries_the_trace_of_its_own_span(kept: Kept) -> None:
    api = kept.api(script("Hi."))
    agent = kept.agent(api, headers={"x-team": "desk"})
    with continuing({"traceparent": PARENT, "tracestate": "vendor=1"}):
        await agent.run("Hello")
    asked, turn = kept.only(f"chat {MODEL}"), kept.only("invoke_agent desk")
    assert api.requests[0].headers["traceparent"] == traceparent(asked)
    assert api.requests[0].headers["tracestate"] == "vendor=1"
    assert api.requests[0].headers["x-team"] == "desk"
    assert turn.parent is not None
    assert (f"{turn.parent.trace_id:032x}", f"{turn.parent.span_id:016x}") == (TRACE, "b7ad6b7169203331")
    assert asked.parent is not None
    assert asked.parent.span_id == id_of(turn)


async def test_a_turn_of_the_synchronous_door_belongs_to_the_callers_span(kept: Kept) -> None:
    tracer = trace.get_tracer("shop", tracer_provider=kept.tracers)
    with tracer.start_as_current_span("GET /orders"):
        kept.agent(kept.api(script("Hi."))).run_sync("Hello")
    assert kept.tree() == [("GET /orders", [("invoke_agent desk", [f"chat {MODEL}"])])]


async def test_a_message_worked_off_later_belongs_to_whoever_works_it_off(kept: Kept) -> None:
    tracer = trace.get_tracer("shop", tracer_provider=kept.tracers)
    async with kept.agent(kept.api(script("Hi."))).open() as keeper:
        with tracer.start_as_current_span("POST /messages"):
            await keeper.post("c-1", "Hello", key="m1")
        with tracer.start_as_current_span("worker"):
            await keeper.work_off("c-1")
    assert kept.tree() == ["POST /messages", ("worker", [("invoke_agent desk", [f"chat {MODEL}"])])]


@pytest.mark.parametrize("found", [{}, {"traceparent": "00-zz"}, {"traceparent": "00-" + "0" * 32 + "-" + "0" * 16}])
async def test_headers_that_say_nothing_leave_the_turn_a_trace_of_its_own(kept: Kept, found: dict[str, str]) -> None:
    with continuing(found):
        await kept.agent(kept.api(script("Hi."))).run("Hello")
    assert kept.only("invoke_agent desk").parent is None


async def test_a_request_that_comes_in_over_the_web_names_the_trace(kept: Kept) -> None:
    agent = kept.agent(kept.api(script("Hi.")))
    seen: list[Any] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        seen.append(get_current_span().get_span_context())
        await agent.run("Hello")

    wrapped = TraceContextMiddleware(app)
    await wrapped({"type": "http", "headers": [(b"traceparent", PARENT.encode()), (b"x", b"\xff")]}, None, None)  # type: ignore[arg-type]
    turn = kept.only("invoke_agent desk")
    assert turn.parent is not None
    assert f"{turn.parent.trace_id:032x}" == TRACE
    assert f"{seen[0].trace_id:032x}" == TRACE
    assert not get_current_span().get_span_context().is_valid


async def waiting(kept: Kept, url: str) -> MessagesAPI:
    api = kept.api(script(reply(call("refund", {"order": "24601"}, id="toolu_r")), "Done."))
    async with kept.agent(api, tools=[refund]).open(url) as keeper:
        found = await (await keeper.conversation("c-1", principal=JOHN)).send("My money back")
    assert found.status is tk.TurnStatus.AWAITING_APPROVAL
    return api


async def test_a_turn_that_parks_ends_its_span_and_whoever_goes_on_links_to_it(kept: Kept, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/journal.db"
    api = await waiting(kept, url)
    first = kept.only("invoke_agent desk")
    assert (first.attributes or {})["turnkeeper.turn.status"] == "awaiting_approval"
    assert [(event.name, dict(event.attributes or {})) for event in first.events] == [
        (
            "turnkeeper.approval_requested",
            {
                "turnkeeper.approval.id": "toolu_r@c-1",
                "gen_ai.tool.name": "refund",
                "gen_ai.tool.call.id": "toolu_r",
            },
        )
    ]
    async with kept.agent(api, tools=[refund]).open(url) as keeper:
        assert traces(await keeper.journal.read("c-1")) == {
            "turn_started": traceparent(first),
            "turn_parked": traceparent(first),
        }
        (approval,) = await keeper.approvals.list()
        await keeper.approvals.approve(approval.id, by=ANA)
        (found,) = await keeper.recover()
    assert found.text == "Done."
    _, second = kept.named("invoke_agent desk")
    assert second.parent is None
    assert second.context is not None
    assert first.context is not None
    assert second.context.trace_id != first.context.trace_id
    (link,) = second.links
    assert (link.context.trace_id, link.context.span_id) == (first.context.trace_id, first.context.span_id)
    assert dict(link.attributes or {}) == {"turnkeeper.link": "earlier_stretch"}
    assert (second.attributes or {})["turnkeeper.turn.resumed"] is True
    assert kept.tree()[1] == ("invoke_agent desk", ["execute_tool refund", f"chat {MODEL}"])


async def test_a_third_stretch_links_to_the_first_and_the_last(kept: Kept, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/journal.db"
    again = reply(call("refund", {"order": "13579"}, id="toolu_s"))
    api = kept.api(script(reply(call("refund", {"order": "24601"}, id="toolu_r")), again, "Done."))
    for _ in range(3):
        async with kept.agent(api, tools=[refund]).open(url) as keeper:
            conversation = await keeper.conversation("c-1", principal=JOHN)
            for approval in await keeper.approvals.list():
                await keeper.approvals.approve(approval.id, by=ANA)
            found = await (conversation.resume() if conversation.is_open else conversation.send("My money back"))
    assert found.text == "Done."
    first, second, third = kept.named("invoke_agent desk")
    assert [link.context.span_id for link in second.links] == [id_of(first)]
    assert [link.context.span_id for link in third.links] == [id_of(first), id_of(second)]


async def test_an_interrupted_turn_is_linked_to_when_it_is_resumed_and_the_next_turn_is_not(
    kept: Kept, tmp_path: Path
) -> None:
    url = f"sqlite:///{tmp_path}/journal.db"
    api = kept.api(script("never heard", "Heard.", "And more."))
    async with kept.agent(api).open(url) as keeper:
        async for update in (await keeper.conversation("c-1")).send("Hello"):
            if update.type == "text":
                break
    interrupted = kept.only("invoke_agent desk")
    assert (interrupted.attributes or {})["turnkeeper.turn.status"] == "interrupted"
    assert (kept.only(f"chat {MODEL}").attributes or {})["error.type"] == "interrupted"
    async with kept.agent(api).open(url) as keeper:
        conversation = await keeper.conversation("c-1")
        assert (await conversation.resume()).text == "Heard."
        assert (await conversation.send("More")).text == "And more."
    _, resumed, new = kept.named("invoke_agent desk")
    assert [link.context.span_id for link in resumed.links] == [id_of(interrupted)]
    assert list(new.links) == []


async def test_the_middleware_leaves_other_scopes_alone() -> None:
    seen: list[str] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        seen.append(scope["type"])

    await TraceContextMiddleware(app)({"type": "lifespan"}, None, None)  # type: ignore[arg-type]
    assert seen == ["lifespan"]
