"""The call table: the states of one tool call, and the events that move it."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from turnkeeper.core.events import CallFinished, CallRejected, CallStarted
from turnkeeper.errors import IllegalEventError

__all__ = ("CALL_TABLE", "OPEN_STATES", "Call", "CallState", "moved")


class CallState(enum.StrEnum):
    """Where a call stands. Every path ends in exactly one result for the call's id."""

    REQUESTED = "requested"
    REJECTED = "rejected"
    STARTED = "started"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    TIMED_OUT = "timed_out"
    CANCELLED = "cancelled"
    OUTCOME_UNKNOWN = "outcome_unknown"


OPEN_STATES = frozenset({CallState.REQUESTED, CallState.STARTED})

_S = CallState
CALL_TABLE: dict[tuple[CallState, str], CallState] = {
    (_S.REQUESTED, "call_rejected"): _S.REJECTED,
    (_S.REQUESTED, "call_started"): _S.STARTED,
    (_S.REQUESTED, "call_finished:cancelled"): _S.CANCELLED,
    (_S.STARTED, "call_started"): _S.STARTED,
    (_S.STARTED, "call_finished:succeeded"): _S.SUCCEEDED,
    (_S.STARTED, "call_finished:failed"): _S.FAILED,
    (_S.STARTED, "call_finished:timed_out"): _S.TIMED_OUT,
    (_S.STARTED, "call_finished:cancelled"): _S.CANCELLED,
    (_S.STARTED, "call_finished:outcome_unknown"): _S.OUTCOME_UNKNOWN,
}
"""What is not here is illegal. A started call may start again only where its effect allows it (`recovery`)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call of the reply that is being answered. `starts` counts how often it was started."""

    id: str
    name: str
    index: int
    state: CallState = CallState.REQUESTED
    effect: str | None = None
    starts: int = 0
    invalid_input: str | None = None

    @property
    def is_open(self) -> bool:
        """It has no result yet."""
        return self.state in OPEN_STATES


def moved(call: Call, event: CallRejected | CallStarted | CallFinished) -> Call:
    """The call after the event. Raises IllegalEventError, and nothing has changed, where the table has no row."""
    word = f"{event.type}:{event.state}" if isinstance(event, CallFinished) else event.type
    state = CALL_TABLE.get((call.state, word))
    if state is None:
        raise IllegalEventError(f"call {call.id} is {call.state}: {word} is not possible")
    started = isinstance(event, CallStarted)
    return Call(
        id=call.id,
        name=call.name,
        index=call.index,
        state=state,
        effect=event.effect if isinstance(event, CallStarted) else call.effect,
        starts=call.starts + started,
        invalid_input=call.invalid_input,
    )
