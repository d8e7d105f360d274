"""What waits for a person: the calls, as they are shown, and the rules on who may decide."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from turnkeeper.core.approvals import approval_id, digest_of
from turnkeeper.core.calls import Call
from turnkeeper.core.events import ApprovalRequested, CallStarted, Event, ReplyReceived
from turnkeeper.driver.recorder import Recorder
from turnkeeper.types import Principal
from turnkeeper.wire.json import decode, encode

__all__ = ("Approval", "UnknownOutcome", "approval_of", "as_dict", "may_decide", "unknown_of")


@dataclass(frozen=True, slots=True, kw_only=True)
class Approval:
    """A call that waits for a decision. `input` is what the model gave; times are seconds since 1970.

    `requester` is the principal for whom the call would run, None where nobody was named; `requester_level` the level
    at which they may confirm or withdraw it themself, None if only another person may decide. `policy_version` is that
    of the policy when it asked.
    """

    id: str
    conversation_id: str
    call_id: str
    tool: str
    input: Any
    digest: str
    policy: str
    requested_at: float
    expires_at: float
    requester: Principal | None
    requester_level: str | None = None
    policy_version: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnknownOutcome:
    """A call that was under way when its program stopped. `started_at` in seconds since 1970.

    `input` is what it ran with: what the model gave, or a person in its place; `requester` the principal for whom it
    ran, None where nobody was named.
    """

    conversation_id: str
    call_id: str
    tool: str
    key: str
    started_at: float
    input: Any
    requester: Principal | None

    def as_approval(self) -> Approval:
        """The form in which the rule on who may decide is asked."""
        given = encode(self.input)
        return Approval(
            id=approval_id(self.conversation_id, self.call_id),
            conversation_id=self.conversation_id,
            call_id=self.call_id,
            tool=self.tool,
            input=self.input,
            digest=digest_of(self.conversation_id, self.call_id, self.tool, given, self.requester),
            policy="outcome unknown",
            requested_at=self.started_at,
            expires_at=math.inf,
            requester=self.requester,
        )


def may_decide(who: Principal, approval: Approval) -> bool:
    """The rule where an agent brings none: staff decides."""
    del approval
    return who.kind == "staff"


def approval_of(conversation_id: str, event: ApprovalRequested) -> Approval:
    """The approval that an event asks for."""
    return Approval(
        id=event.approval_id,
        conversation_id=conversation_id,
        call_id=event.call_id,
        tool=event.tool,
        input=decode(event.input),
        digest=event.digest,
        policy=event.policy,
        requested_at=event.at,
        expires_at=event.expires_at,
        requester=Principal(**event.requester) if event.requester else None,
        requester_level=event.requester_level,
        policy_version=event.policy_version,
    )


def unknown_of(conversation_id: str, recorder: Recorder, call: Call) -> UnknownOutcome:
    """What there is to know of a call whose outcome nobody knows."""
    events = recorder.turn_events
    started = next(e for e in reversed(events) if isinstance(e, CallStarted) and e.call_id == call.id)
    return UnknownOutcome(
        conversation_id=conversation_id,
        call_id=call.id,
        tool=call.name,
        key=started.key,
        started_at=started.at,
        input=_input_of(events, call),
        requester=_asker(recorder, call),
    )


def _input_of(events: list[Event], call: Call) -> Any:
    """What a call ran with."""
    if call.edited_input is not None:
        return decode(call.edited_input)
    asked = next(e for e in events if isinstance(e, ReplyReceived) and any(one.id == call.id for one in e.calls))
    return decode(asked.blocks[call.index]).get("input")


def _asker(recorder: Recorder, call: Call) -> Principal | None:
    """For whom a call ran: as its approval says, else who was talking, else who began the turn, else the owner."""
    for event in recorder.turn_events:
        if isinstance(event, ApprovalRequested) and event.call_id == call.id and event.requester:
            return Principal(**event.requester)
    if recorder.state.who is not None:
        return recorder.state.who
    begun = recorder.begun
    return Principal(**begun.principal) if begun is not None and begun.principal else recorder.owner


def as_dict(who: Principal) -> dict[str, str]:
    """A principal as events hold it."""
    return {"kind": who.kind, "id": who.id, "level": who.level}
