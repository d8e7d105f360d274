"""The call table: the states of one tool call, and the events that move it."""

from __future__ import annotations

import enum
from dataclasses import dataclass, replace

from turnkeeper.core.events import (
    ApprovalDecided,
    ApprovalRequested,
    CallFinished,
    CallRejected,
    CallResolved,
    CallStarted,
    CallUnresolved,
    ReplyReceived,
)
from turnkeeper.core.trust import read_before
from turnkeeper.errors import IllegalEventError

__all__ = (
    "CALL_TABLE",
    "OPEN_STATES",
    "WAITING_STATES",
    "Call",
    "CallEvent",
    "CallState",
    "asked_for",
    "moved",
    "word_of",
)


class CallState(enum.StrEnum):
    """Where a call stands. Every path ends in exactly one result for the call's id."""

    REQUESTED = "requested"
    REJECTED = "rejected"
    AWAITING_APPROVAL = "awaiting_approval"
    APPROVED = "approved"
    EDITED = "edited"
    DENIED = "denied"
    EXPIRED = "expired"
    STARTED = "started"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    TIMED_OUT = "timed_out"
    CANCELLED = "cancelled"
    OUTCOME_UNKNOWN = "outcome_unknown"
    RESOLVED = "resolved"


_S = CallState
WAITING_STATES = frozenset({_S.AWAITING_APPROVAL, _S.OUTCOME_UNKNOWN})
"""A person has to say something before such a call can go on."""
OPEN_STATES = frozenset({_S.REQUESTED, _S.APPROVED, _S.EDITED, _S.STARTED}) | WAITING_STATES
"""The call has no result yet."""

CALL_TABLE: dict[tuple[CallState, str], CallState] = {
    (_S.REQUESTED, "call_rejected"): _S.REJECTED,
    (_S.REQUESTED, "approval_requested"): _S.AWAITING_APPROVAL,
    (_S.REQUESTED, "call_started"): _S.STARTED,
    (_S.REQUESTED, "call_finished:cancelled"): _S.CANCELLED,
    (_S.AWAITING_APPROVAL, "approval_decided:approved"): _S.APPROVED,
    (_S.AWAITING_APPROVAL, "approval_decided:edited"): _S.EDITED,
    (_S.AWAITING_APPROVAL, "approval_decided:denied"): _S.DENIED,
    (_S.AWAITING_APPROVAL, "approval_decided:expired"): _S.EXPIRED,
    (_S.AWAITING_APPROVAL, "call_finished:cancelled"): _S.CANCELLED,
    (_S.APPROVED, "call_rejected"): _S.REJECTED,
    (_S.APPROVED, "call_started"): _S.STARTED,
    (_S.APPROVED, "call_finished:cancelled"): _S.CANCELLED,
    (_S.EDITED, "call_rejected"): _S.REJECTED,
    (_S.EDITED, "call_started"): _S.STARTED,
    (_S.EDITED, "call_finished:cancelled"): _S.CANCELLED,
    (_S.STARTED, "call_started"): _S.STARTED,
    (_S.STARTED, "call_finished:succeeded"): _S.SUCCEEDED,
    (_S.STARTED, "call_finished:failed"): _S.FAILED,
    (_S.STARTED, "call_finished:timed_out"): _S.TIMED_OUT,
    (_S.STARTED, "call_finished:cancelled"): _S.CANCELLED,
    (_S.STARTED, "call_unresolved"): _S.OUTCOME_UNKNOWN,
    (_S.OUTCOME_UNKNOWN, "call_resolved:happened"): _S.RESOLVED,
    (_S.OUTCOME_UNKNOWN, "call_resolved:did_not_happen"): _S.APPROVED,
    (_S.OUTCOME_UNKNOWN, "call_finished:cancelled"): _S.CANCELLED,
}
"""What is not here is illegal. A started call may start again only where its effect allows it."""

CallEvent = (
    ApprovalDecided | ApprovalRequested | CallFinished | CallRejected | CallResolved | CallStarted | CallUnresolved
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call of the reply that is being answered. `starts` counts how often it was started.

    `approval_id`, `digest`, `requested_at` and `expires_at` are those of its approval, where one was asked for;
    `edited_input` is the JSON text of the arguments that a person put in place of the model's, `decided_by` who did.
    `untrusted` names the source of untrusted text that the model had read when it wrote the call.
    """

    id: str
    name: str
    index: int
    state: CallState = CallState.REQUESTED
    effect: str | None = None
    starts: int = 0
    invalid_input: str | None = None
    approval_id: str | None = None
    digest: str | None = None
    requested_at: float | None = None
    expires_at: float | None = None
    edited_input: str | None = None
    decided_by: dict[str, str] | None = None
    untrusted: str | None = None

    @property
    def is_open(self) -> bool:
        """It has no result yet."""
        return self.state in OPEN_STATES

    @property
    def is_waiting(self) -> bool:
        """A person has to say something first."""
        return self.state in WAITING_STATES


def word_of(event: CallEvent) -> str:
    """The event as the table names it."""
    if isinstance(event, CallFinished):
        return f"{event.type}:{event.state}"
    if isinstance(event, ApprovalDecided):
        return f"{event.type}:{event.decision}"
    if isinstance(event, CallResolved):
        return f"{event.type}:{'happened' if event.happened else 'did_not_happen'}"
    return event.type


def asked_for(event: ReplyReceived, source: str | None, found: tuple[int, str] | None) -> tuple[Call, ...]:
    """The calls of a reply; `source` and `found` as in `trust.read_before`."""
    return tuple(
        Call(
            id=c.id,
            name=c.name,
            index=c.index,
            invalid_input=event.invalid_inputs.get(str(c.index)),
            untrusted=read_before(c.index, source, found),
        )
        for c in event.calls
    )


def moved(call: Call, event: CallEvent) -> Call:
    """The call after the event. Raises IllegalEventError, and nothing has changed, where the table has no row."""
    word = word_of(event)
    state = CALL_TABLE.get((call.state, word))
    if state is None:
        raise IllegalEventError(f"call {call.id} is {call.state}: {word} is not possible")
    after = replace(call, state=state)
    if isinstance(event, CallStarted):
        return replace(after, effect=event.effect, starts=call.starts + 1)
    if isinstance(event, ApprovalRequested):
        after = replace(after, approval_id=event.approval_id, digest=event.digest)
        return replace(after, requested_at=event.at, expires_at=event.expires_at)
    if isinstance(event, ApprovalDecided):
        if event.approval_id != call.approval_id:
            raise IllegalEventError(f"approval {event.approval_id} is not that of call {call.id}")
        return replace(after, digest=event.digest or call.digest, edited_input=event.input, decided_by=event.by)
    return after
