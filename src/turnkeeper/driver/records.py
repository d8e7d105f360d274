"""From the events of a turn to what its caller gets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from turnkeeper.core.events import (
    ApprovalDecided,
    CallFinished,
    CallRejected,
    CallRequest,
    CallResolved,
    Event,
    ReplyReceived,
    TurnParked,
    TurnWarned,
    TurnWoken,
)
from turnkeeper.core.machine import Phase
from turnkeeper.driver.loop import final_text
from turnkeeper.driver.recorder import Recorder
from turnkeeper.driver.reply import CallRecord, Reply
from turnkeeper.types import TurnStatus
from turnkeeper.updates import CallFinished as CallFinishedUpdate
from turnkeeper.wire.json import decode

__all__ = ("reply_of", "settled", "update_of")

_End: TypeAlias = CallFinished | CallRejected | CallResolved | ApprovalDecided


def reply_of(recorder: Recorder, conversation_id: str) -> Reply:
    """The Reply of the last turn, as it stands."""
    turn = recorder.state.turn
    assert turn is not None
    events = recorder.turn_events
    last = next((event for event in reversed(events) if isinstance(event, ReplyReceived)), None)
    details = last.fields.get("stop_details") if last is not None else None
    status = turn.waits_for if recorder.state.phase is Phase.PARKED else turn.status
    return Reply(
        text=final_text(recorder),
        status=status or TurnStatus.FAILED,
        reason=turn.reason,
        usage=turn.usage,
        cost=turn.cost if turn.priced else None,
        model=str(last.fields.get("model", "")) if last is not None else "",
        calls=_records(events),
        stop_reason=last.stop_reason if last is not None else None,
        stop_details=details if isinstance(details, dict) else None,
        warnings=tuple(event.message for event in events if isinstance(event, TurnWarned)),
        conversation_id=conversation_id,
        _encoded=recorder.history.messages_json(),
    )


_WHILE_WAITING: TypeAlias = ApprovalDecided | CallResolved | TurnWoken | TurnWarned


def settled(events: Sequence[Event]) -> tuple[CallFinishedUpdate, ...]:
    """What whoever goes on with a waiting turn is to be told first: the calls that got their result while it waited.

    `events` are those of the turn. Where it has gone on since, that was told, and there is nothing.
    """
    names = {call.id: call.name for event in events if isinstance(event, ReplyReceived) for call in event.calls}
    found: list[CallFinishedUpdate] = []
    for event in reversed(events):
        if isinstance(event, TurnParked):
            return tuple(reversed(found))
        if not isinstance(event, _WHILE_WAITING):
            break
        if isinstance(event, ApprovalDecided | CallResolved) and event.content is not None:
            found.append(update_of(event, names[event.call_id]))
    return ()


def update_of(event: ApprovalDecided | CallResolved, name: str) -> CallFinishedUpdate:
    """What is told of a call that got its result from a person, or by waiting too long for one; `name` is its tool's.

    Only where the event brings a result: a call that may run now has none yet.
    """
    return CallFinishedUpdate(call_id=event.call_id, name=name, **_ending(event))


def _records(events: Sequence[Event]) -> tuple[CallRecord, ...]:
    asked: dict[str, tuple[CallRequest, str]] = {}
    records: list[CallRecord] = []
    for event in events:
        if isinstance(event, ReplyReceived):
            asked |= {call.id: (call, event.blocks[call.index]) for call in event.calls}
        elif isinstance(event, _End) and event.content is not None:
            call, block = asked[event.call_id]
            records.append(CallRecord(id=call.id, name=call.name, input=decode(block).get("input"), **_ending(event)))
    return tuple(records)


def _ending(event: _End) -> dict[str, Any]:
    """How a call ended, as records and updates say it."""
    if isinstance(event, CallFinished):
        outcome = event.state
    elif isinstance(event, ApprovalDecided):
        outcome = event.decision
    else:
        outcome = "rejected" if isinstance(event, CallRejected) else "resolved"
    return {
        "outcome": outcome,
        "is_error": event.is_error if isinstance(event, CallFinished) else not isinstance(event, CallResolved),
        "content": None if event.content is None else decode(event.content),
        "seconds": event.seconds if isinstance(event, CallFinished) else 0.0,
    }
