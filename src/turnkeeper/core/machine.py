"""The turn machine: `advance(state, event) -> state`, `decide(state, …) -> action`. The whole of it is this table.

Laws
1. What is not in `TURN_TABLE` is illegal: it raises IllegalEventError and changes nothing.
2. A turn ends only when each call has its result.
3. The state is what the events say, and nothing else: the same events give the same state.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from turnkeeper.core.calls import Call, CallEvent, CallState, asked_for, moved
from turnkeeper.core.changing import changed
from turnkeeper.core.compacting import WINDOW_FULL
from turnkeeper.core.decisions import Decision, EndTurn, Park, RunCalls, SendRequest, Wait
from turnkeeper.core.events import (
    CallFinished,
    CallRejected,
    ChoiceGuided,
    ConversationStarted,
    Event,
    IdentityChanged,
    MessagesImported,
    ReplyReceived,
    RequestFailed,
    RequestStarted,
    TurnEnded,
    TurnParked,
    TurnStarted,
)
from turnkeeper.core.identity import is_proven
from turnkeeper.core.limits import reached
from turnkeeper.core.money import NOTHING, Money, spent
from turnkeeper.core.replies import Action
from turnkeeper.core.tool_choice import MET, UNMET
from turnkeeper.core.trust import imported_source, outside_in, read_before
from turnkeeper.errors import IllegalEventError
from turnkeeper.types import Limits, Principal, TurnStatus, Usage

__all__ = (
    "TIME_IS_UP",
    "TURN_TABLE",
    "EndTurn",
    "Park",
    "Phase",
    "RunCalls",
    "SendRequest",
    "State",
    "Turn",
    "Wait",
    "advance",
    "decide",
    "replay",
)

TIME_IS_UP = "time_is_up"
"""The kind of a RequestFailed that ran into the limit on seconds."""


class Phase(enum.StrEnum):
    """Where a conversation stands between two events."""

    IDLE = "idle"
    READY = "ready"
    REQUESTING = "requesting"
    ACTING = "acting"
    PARKED = "parked"
    CLOSING = "closing"


_P = Phase
TURN_TABLE: dict[tuple[Phase, str], tuple[Phase, ...]] = {
    (_P.IDLE, "conversation_started"): (_P.IDLE,),
    (_P.IDLE, "messages_imported"): (_P.IDLE,),
    (_P.IDLE, "turn_started"): (_P.READY,),
    (_P.IDLE, "turn_resumed"): (_P.READY,),
    (_P.READY, "choice_guided"): (_P.READY,),
    (_P.READY, "request_started"): (_P.REQUESTING,),
    (_P.READY, "reply_received"): (_P.ACTING,),
    (_P.READY, "turn_ended"): (_P.IDLE,),
    (_P.REQUESTING, "request_started"): (_P.REQUESTING,),
    (_P.REQUESTING, "request_failed"): (_P.READY, _P.CLOSING),
    (_P.REQUESTING, "reply_received"): (_P.ACTING, _P.READY, _P.CLOSING),
    (_P.REQUESTING, "turn_ended"): (_P.IDLE,),
    (_P.ACTING, "call_rejected"): (_P.ACTING, _P.READY, _P.CLOSING),
    (_P.ACTING, "call_started"): (_P.ACTING,),
    (_P.ACTING, "call_finished"): (_P.ACTING, _P.READY, _P.CLOSING),
    (_P.ACTING, "call_unresolved"): (_P.ACTING,),
    (_P.ACTING, "approval_requested"): (_P.ACTING,),
    (_P.ACTING, "turn_parked"): (_P.PARKED,),
    (_P.PARKED, "approval_decided"): (_P.PARKED,),
    (_P.PARKED, "call_resolved"): (_P.PARKED,),
    (_P.PARKED, "call_finished"): (_P.PARKED,),
    (_P.PARKED, "turn_woken"): (_P.ACTING, _P.READY, _P.CLOSING),
    (_P.CLOSING, "turn_ended"): (_P.IDLE,),
} | {(phase, event): (phase,) for event in ("turn_warned", "identity_changed") for phase in _P}
"""(phase, event) → the phases it may lead to. `reply_received` in `ready` is an imported reply with open calls."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """What the current (or last) turn has come to. Counts start again when a turn is resumed.

    `choice` is its tool choice (None: `auto`) and `choice_met` says that a reply has kept to it; `choice_refused` that
    the endpoint doesn't take it; `unmet` counts the replies that broke it, and `guided` is what that count was when the
    choice was last said in words (None: it was not). `ends_with_call`: once it was kept, its calls end the turn.
    `places` says where in `calls` a call's id is, and `left` how many of them have no result: so that an event costs
    the same however many calls a reply has.
    """

    number: int
    started_at: float
    key: str | None = None
    requests: int = 0
    attempt: int = 0
    choice: dict[str, Any] | None = None
    choice_met: bool = False
    choice_refused: bool = False
    unmet: int = 0
    guided: int | None = None
    ends_with_call: bool = False
    calls_run: int = 0
    usage: Usage = field(default_factory=Usage)
    cost: Decimal = Decimal(0)
    priced: bool = True
    asked_again: int = 0
    enlarged: int = 0
    resent: int = 0
    max_tokens: int | None = None
    delay: float = 0.0
    calls: tuple[Call, ...] = ()
    places: Mapping[str, int] = field(default_factory=dict, repr=False)
    left: int = 0
    over_limit: bool = False
    parked_at: float | None = None
    waits_for: TurnStatus | None = None
    status: TurnStatus | None = None
    reason: str = ""

    @property
    def used(self) -> dict[Action, int]:
        """How often each bounded way of asking again has been taken."""
        return {
            Action.ASK_AGAIN: self.asked_again,
            Action.ENLARGE: self.enlarged,
            Action.RESEND: self.resent,
        }

    @property
    def choice_in_force(self) -> bool:
        """The next reply is held against the choice: `none` holds to the end, a forced one until it was kept."""
        if self.choice is None or self.choice["type"] == "auto":
            return False
        return self.choice["type"] == "none" or not self.choice_met

    @property
    def open_calls(self) -> tuple[Call, ...]:
        """The calls without a result, in the model's order."""
        return tuple(call for call in self.calls if call.is_open)


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """The state of a conversation: its phase, its last turn, how many turns and replies there were.

    `who` is talking, as last written down; `holder` is who last held the conversation with proof of who they are;
    `untrusted` names the first source of untrusted text that is in the history.
    """

    phase: Phase = Phase.IDLE
    turn: Turn | None = None
    turns: int = 0
    replies: int = 0
    money: Money = NOTHING
    who: Principal | None = None
    holder: Principal | None = None
    untrusted: str | None = None


def advance(state: State, event: Event) -> State:
    """The state after the event. Raises IllegalEventError, and nothing has changed, where the table has no row."""
    allowed = TURN_TABLE.get((state.phase, event.type))
    if allowed is None:
        raise IllegalEventError(f"{event.type} is not possible while the conversation is {state.phase}")
    after = _after(state, event)
    if (money := spent(state.money, event)) is not state.money:
        after = changed(after, money=money)
    if after.phase not in allowed:
        raise IllegalEventError(f"{event.type} may not lead from {state.phase} to {after.phase}")
    return after


def replay(events: Iterable[Event], state: State | None = None) -> State:
    """The state that the events lead to."""
    current = state or State()
    for event in events:
        current = advance(current, event)
    return current


def _after(state: State, event: Event) -> State:
    if isinstance(event, TurnStarted):
        number = state.turns + 1
        turn = Turn(number=number, started_at=event.at, key=event.key, choice=event.tool_choice)
        turn = changed(turn, ends_with_call=event.ends_with_call is True)
        return changed(state, phase=Phase.READY, turns=number, turn=turn)
    if isinstance(event, ConversationStarted | IdentityChanged):
        return _known(state, event)
    if isinstance(event, MessagesImported):
        return changed(state, untrusted=state.untrusted or imported_source(event.messages))
    change = _CHANGES.get(event.type)
    if change is None:
        return state
    if state.turn is None:
        raise IllegalEventError("there is no turn yet")
    return change(state, state.turn, event)


def _known(state: State, event: ConversationStarted | IdentityChanged) -> State:
    if event.principal is None:
        return state
    who = Principal(**event.principal)
    return changed(state, who=who, holder=who if is_proven(who) else state.holder)


def _resumed(state: State, turn: Turn, event: Event) -> State:
    # Budgets begin anew. A forced tool choice that was kept is not forced again: its effect has happened. What was said
    # of it in words is in the history still.
    anew = Turn(number=turn.number, started_at=event.at, key=turn.key, choice=turn.choice, choice_met=turn.choice_met)
    anew = changed(anew, choice_refused=turn.choice_refused, guided=None if turn.guided is None else 0)
    anew = changed(anew, ends_with_call=turn.ends_with_call)
    return changed(state, phase=Phase.READY, turn=anew)


def _guided(state: State, turn: Turn, event: ChoiceGuided) -> State:
    return changed(state, turn=changed(turn, guided=event.unmet))


def _requested(state: State, turn: Turn, event: RequestStarted) -> State:
    turn = changed(turn, requests=event.number, attempt=event.attempt, delay=0.0)
    return changed(state, phase=Phase.REQUESTING, turn=turn)


def _parked(state: State, turn: Turn, event: TurnParked) -> State:
    turn = changed(turn, parked_at=event.at, waits_for=TurnStatus(event.status))
    return changed(state, phase=Phase.PARKED, turn=turn)


def _ended(state: State, turn: Turn, event: TurnEnded) -> State:
    if turn.left:
        raise IllegalEventError(f"the turn can't end: {turn.open_calls[0].id} has no result")
    turn = changed(turn, status=TurnStatus(event.status), reason=event.reason)
    return changed(state, phase=Phase.IDLE, turn=turn)


def _spent(turn: Turn, usage: dict[str, Any], cost: Decimal | None) -> Turn:
    if not usage and cost is None:
        return turn
    return changed(
        turn,
        usage=turn.usage + Usage.of(usage),
        cost=turn.cost + (cost or 0),
        priced=turn.priced and cost is not None,
    )


def _failed(state: State, turn: Turn, event: RequestFailed) -> State:
    turn = _spent(turn, event.usage, event.cost)
    turn = changed(turn, choice_refused=turn.choice_refused or event.choice_refused is True)
    if event.delay is not None:
        return changed(state, phase=Phase.READY, turn=changed(turn, delay=event.delay))
    if event.kind in (TIME_IS_UP, WINDOW_FULL):
        reason = "seconds" if event.kind == TIME_IS_UP else WINDOW_FULL
        turn = changed(turn, status=TurnStatus.LIMIT_REACHED, reason=reason)
    else:
        turn = changed(turn, status=TurnStatus.FAILED, reason=event.kind)
    return changed(state, phase=Phase.CLOSING, turn=turn)


def _replied(state: State, turn: Turn, event: ReplyReceived) -> State:
    action = Action(event.action)
    turn = changed(
        _spent(turn, event.usage, event.cost),
        attempt=0,
        delay=0.0,
        choice_met=turn.choice_met or event.choice == MET,
        unmet=turn.unmet + (event.choice == UNMET),
        asked_again=turn.asked_again + (action is Action.ASK_AGAIN),
        enlarged=turn.enlarged + (action is Action.ENLARGE),
        resent=turn.resent + 1 if action is Action.RESEND else 0,
        max_tokens=event.max_tokens if event.max_tokens is not None else turn.max_tokens,
        calls=(),
        places={},
        left=0,
    )
    found, before = outside_in(event.blocks) if event.kept else None, state.untrusted
    state = changed(state, replies=state.replies + 1, untrusted=read_before(len(event.blocks), before, found))
    if action is Action.RUN_CALLS:
        calls = asked_for(event, before, found)
        places = {call.id: place for place, call in enumerate(calls)}
        turn = changed(turn, calls=calls, places=places, left=len(calls))
        return changed(state, phase=Phase.ACTING, turn=turn)
    if event.status is None:
        return changed(state, phase=Phase.READY, turn=turn)
    turn = changed(turn, status=TurnStatus(event.status), reason=event.reason)
    return changed(state, phase=Phase.CLOSING, turn=turn)


def _woken(state: State, turn: Turn, event: Event) -> State:
    if any(call.is_waiting for call in turn.calls):
        raise IllegalEventError("the turn can't go on: a call still waits for a person")
    asleep = 0.0 if turn.parked_at is None else event.at - turn.parked_at
    turn = changed(turn, started_at=turn.started_at + asleep, parked_at=None, waits_for=None)
    return _settled(changed(state, phase=Phase.ACTING), turn)


def _called(state: State, turn: Turn, event: CallEvent) -> State:
    position = turn.places.get(event.call_id)
    if position is None or not turn.calls[position].is_open:
        raise IllegalEventError(f"no open call {event.call_id!r} in this turn")
    call = turn.calls[position]
    after = moved(call, event)
    turn = changed(
        turn,
        calls=(*turn.calls[:position], after, *turn.calls[position + 1 :]),
        left=turn.left - (not after.is_open),
        calls_run=turn.calls_run + (after.starts == 1 and call.starts == 0),
        over_limit=turn.over_limit or (isinstance(event, CallRejected) and event.reason == "limit_reached"),
    )
    if isinstance(event, CallFinished) and state.untrusted is None:
        state = changed(state, untrusted=event.untrusted)
    return changed(state, turn=turn) if state.phase is Phase.PARKED else _settled(state, turn)


def _settled(state: State, turn: Turn) -> State:
    """Where the calls lead: on while one is open, else to the next request or to the end."""
    if turn.left:
        return changed(state, turn=turn)
    if turn.over_limit:
        turn = changed(turn, status=TurnStatus.LIMIT_REACHED, reason="calls")
        return changed(state, phase=Phase.CLOSING, turn=turn)
    if turn.ends_with_call and turn.choice_met:
        return changed(state, phase=Phase.CLOSING, turn=changed(turn, status=TurnStatus.COMPLETED))
    return changed(state, phase=Phase.READY, turn=turn)


_CHANGES: dict[str, Callable[[State, Turn, Any], State]] = {
    "turn_resumed": _resumed,
    "choice_guided": _guided,
    "request_started": _requested,
    "request_failed": _failed,
    "reply_received": _replied,
    **dict.fromkeys(("call_rejected", "call_started", "call_finished", "call_unresolved", "call_resolved"), _called),
    **dict.fromkeys(("approval_requested", "approval_decided"), _called),
    "turn_parked": _parked,
    "turn_woken": _woken,
    "turn_ended": _ended,
}
"""What each event changes; an event that is not here changes nothing but the journal."""


def decide(state: State, limits: Limits, *, now: float) -> Decision:
    """What to do next; `now` is the driver's clock in seconds since 1970, for the limit on time."""
    turn = state.turn
    if turn is None or state.phase in (Phase.IDLE, Phase.PARKED):
        return Wait()
    if state.phase is Phase.CLOSING:
        return EndTurn(status=turn.status or TurnStatus.FAILED, reason=turn.reason)
    if state.phase is Phase.ACTING:
        runnable = [call for call in turn.open_calls if not call.is_waiting]
        if not runnable:
            asked = any(call.state is CallState.AWAITING_APPROVAL for call in turn.open_calls)
            return Park(status=TurnStatus.AWAITING_APPROVAL if asked else TurnStatus.AWAITING_RESOLUTION)
        room = len(runnable) if limits.calls is None else max(limits.calls - turn.calls_run, 0)
        fresh = [call for call in runnable if call.starts == 0]
        over = tuple(fresh[room:])
        refused = {call.id for call in over}
        return RunCalls(calls=tuple(call for call in runnable if call.id not in refused), over=over)
    again = state.phase is Phase.REQUESTING or turn.attempt > 0
    counted = 0 if again else turn.requests
    if limit := reached(counted, turn.usage, state.money, now - turn.started_at, limits):
        return EndTurn(status=TurnStatus.LIMIT_REACHED, reason=limit)
    return SendRequest(
        number=turn.requests if again else turn.requests + 1,
        attempt=turn.attempt + 1 if again else 1,
        max_tokens=turn.max_tokens,
        delay=turn.delay,
    )
