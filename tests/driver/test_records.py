"""From the events of a turn to updates: calls that people settled while the turn waited."""

from __future__ import annotations

from typing import Any

import pytest

import turnkeeper as tk
from tests.driver.conftest import Make
from turnkeeper.core.events import (
    ApprovalDecided,
    ApprovalRequested,
    CallFinished,
    CallRequest,
    CallResolved,
    Event,
    ReplyReceived,
    RequestStarted,
    TurnParked,
    TurnStarted,
    TurnWoken,
)
from turnkeeper.driver.records import settled
from turnkeeper.testing import FixedClock, MessagesAPI, call, reply, script
from turnkeeper.updates import CallFinished as CallFinishedUpdate

REPLY = ReplyReceived(
    number=1,
    blocks=("{}", "{}", "{}"),
    stop_reason="tool_use",
    usage={},
    action="run_calls",
    kept=True,
    calls=tuple(CallRequest(id=f"toolu_{n}", name=name, index=n) for n, name in enumerate(("look", "pay", "mail"))),
)
LOOKED = CallFinished(call_id="toolu_0", state="succeeded", content='"seen"', is_error=False, seconds=0.5)
ASKED = ApprovalRequested(
    approval_id="toolu_1@c", call_id="toolu_1", tool="pay", input="{}", digest="d", policy="always", expires_at=9.0
)
PARKED: list[Event] = [TurnStarted(content='"x"'), REPLY, LOOKED, ASKED, TurnParked(status="awaiting_approval")]


def decided(decision: str, content: str | None = None) -> ApprovalDecided:
    return ApprovalDecided(approval_id="toolu_1@c", call_id="toolu_1", decision=decision, content=content)


DENIED = decided("denied", '"Not run: нет"')
RESOLVED = CallResolved(call_id="toolu_2", happened=True, by={}, content='[{"type":"text","text":"went out"}]')
WOKEN = TurnWoken()


def told(name: str, call_id: str, outcome: str, content: Any, *, is_error: bool) -> CallFinishedUpdate:
    return CallFinishedUpdate(
        call_id=call_id, name=name, outcome=outcome, is_error=is_error, content=content, seconds=0.0
    )


DENIAL = told("pay", "toolu_1", "denied", "Not run: нет", is_error=True)
RESOLUTION = told("mail", "toolu_2", "resolved", [{"type": "text", "text": "went out"}], is_error=False)
EXPIRY = told("pay", "toolu_1", "expired", "late", is_error=True)


@pytest.mark.parametrize(
    ("since", "updates"),
    [
        ([], ()),
        ([DENIED, WOKEN], (DENIAL,)),
        ([RESOLVED, DENIED, WOKEN], (RESOLUTION, DENIAL)),
        ([DENIED], (DENIAL,)),
        ([decided("expired", '"late"'), WOKEN], (EXPIRY,)),
        ([decided("approved"), WOKEN], ()),
        ([decided("edited"), RESOLVED, WOKEN], (RESOLUTION,)),
        ([CallResolved(call_id="toolu_2", happened=False, by={}), WOKEN], ()),
        ([DENIED, WOKEN, RequestStarted(number=2, attempt=1, model="m", max_tokens=1)], ()),
        ([DENIED, WOKEN, LOOKED, TurnParked(status="awaiting_resolution"), RESOLVED, WOKEN], (RESOLUTION,)),
    ],
)
def test_whoever_goes_on_is_told_what_was_settled_while_the_turn_waited(
    since: list[Event], updates: tuple[CallFinishedUpdate, ...]
) -> None:
    assert settled([*PARKED, *since]) == updates


def test_a_turn_that_did_not_wait_has_nothing_to_tell() -> None:
    assert settled([]) == ()
    assert settled(PARKED[:3]) == ()


@pytest.mark.anyio
async def test_a_denied_call_is_told_when_the_turn_goes_on(make: Make) -> None:
    @tk.tool(approval="always")
    def pay() -> str:
        """Pay."""
        return "paid"

    api = MessagesAPI(script(reply(call("pay", id="toolu_1")), "Sorry."))
    async with make(api, tools=[pay]).open() as keeper:
        conversation = await keeper.conversation("c")
        await conversation.send("pay")
        (waiting,) = await keeper.approvals.list()
        await keeper.approvals.deny(waiting.id, by=tk.Principal("staff", "ana"), reason="нет")
        updates = [update async for update in conversation.resume()]
    assert updates[0] == told(
        "pay", "toolu_1", "denied", "Not run: a person refused this call. Reason: нет", is_error=True
    )
    assert sum(isinstance(update, CallFinishedUpdate) for update in updates) == 1


@pytest.mark.anyio
async def test_a_call_that_nobody_decided_on_in_time_is_told_as_expired(make: Make) -> None:
    @tk.tool(approval="always")
    def pay() -> str:
        """Pay."""
        return "paid"

    clock = FixedClock()
    api = MessagesAPI(script(reply(call("pay", id="toolu_1")), "Too late."))
    async with make(api, tools=[pay], clock=clock).open() as keeper:
        conversation = await keeper.conversation("c")
        await conversation.send("pay")
        clock.advance(25 * 3600)
        updates = [update async for update in conversation.resume()]
    (finished,) = [update for update in updates if isinstance(update, CallFinishedUpdate)]
    assert (finished.call_id, finished.name, finished.outcome, finished.is_error) == ("toolu_1", "pay", "expired", True)
    assert finished.content == "Not run: this call needed a person's approval and got none in time."
