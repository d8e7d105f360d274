"""The turn machine: a walk through its table, and what it must never do."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from turnkeeper.core import events as ev
from turnkeeper.core.calls import CALL_TABLE, OPEN_STATES, CallState
from turnkeeper.core.history import History
from turnkeeper.core.machine import (
    TURN_TABLE,
    EndTurn,
    Park,
    Phase,
    RunCalls,
    SendRequest,
    State,
    Wait,
    advance,
    decide,
    replay,
)
from turnkeeper.core.payloads import from_payload
from turnkeeper.errors import IllegalEventError
from turnkeeper.types import Limits, TurnStatus

FREE = Limits(requests=None)


def started() -> State:
    return replay([ev.ConversationStarted(), ev.TurnStarted(content='"hi"', at=100.0)])


def request(number: int = 1, attempt: int = 1) -> ev.RequestStarted:
    return ev.RequestStarted(number=number, attempt=attempt, model="m", max_tokens=10)


def replied(
    *ids: str, action: str = "run_calls", status: str | None = None, cost: Decimal | None = None
) -> ev.ReplyReceived:
    return ev.ReplyReceived(
        number=1,
        blocks=tuple(f'{{"type":"tool_use","id":"{one}","name":"f","input":{{}}}}' for one in ids),
        stop_reason="tool_use",
        usage={"input_tokens": 10, "output_tokens": 5},
        action=action,
        kept=action in ("run_calls", "end", "resend"),
        status=status,
        calls=tuple(ev.CallRequest(id=one, name="f", index=index) for index, one in enumerate(ids)),
        cost=cost,
    )


def start(call_id: str) -> ev.CallStarted:
    return ev.CallStarted(call_id=call_id, tool="f", effect="once", key=call_id)


def finish(call_id: str, state: str = "succeeded") -> ev.CallFinished:
    return ev.CallFinished(call_id=call_id, state=state, content='"x"', is_error=state != "succeeded")


def approval(call_id: str, expires_at: float = 9.0) -> ev.ApprovalRequested:
    return ev.ApprovalRequested(
        approval_id=f"apr_{call_id}",
        call_id=call_id,
        tool="f",
        input="{}",
        digest="d",
        policy="always",
        expires_at=expires_at,
    )


def decided(call_id: str, decision: str) -> ev.ApprovalDecided:
    content = None if decision in ("approved", "edited") else '"no"'
    return ev.ApprovalDecided(approval_id=f"apr_{call_id}", call_id=call_id, decision=decision, content=content)


def resolved(call_id: str, *, happened: bool = True) -> ev.CallResolved:
    by = {"kind": "staff", "id": "ana"}
    return ev.CallResolved(call_id=call_id, happened=happened, by=by, content='"x"' if happened else None)


def parked() -> State:
    asked = [request(), replied("a"), approval("a"), ev.TurnParked(status="awaiting_approval", at=110.0)]
    return replay(asked, started())


def test_a_turn_that_waits_for_people_parks_and_goes_on_when_the_last_has_spoken() -> None:
    state = replay([request(), replied("a", "b"), approval("a"), start("b")], started())
    decision = decide(state, FREE, now=100.0)
    assert isinstance(decision, RunCalls)
    assert [call.id for call in decision.calls] == ["b"]
    state = advance(state, ev.CallUnresolved(call_id="b"))
    assert decide(state, FREE, now=100.0) == Park(status=TurnStatus.AWAITING_APPROVAL)
    state = advance(state, ev.TurnParked(status="awaiting_approval", at=110.0))
    assert decide(state, FREE, now=110.0) == Wait()
    state = advance(state, decided("a", "denied"))
    with pytest.raises(IllegalEventError, match="still waits"):
        advance(state, ev.TurnWoken(at=500.0))
    state = replay([resolved("b"), ev.TurnWoken(at=500.0)], state)
    assert isinstance(decide(state, Limits(requests=5, seconds=60), now=510.0), SendRequest)


def test_only_unknown_outcomes_wait_for_a_resolution() -> None:
    state = replay([request(), replied("a"), start("a"), ev.CallUnresolved(call_id="a")], started())
    assert decide(state, FREE, now=100.0) == Park(status=TurnStatus.AWAITING_RESOLUTION)


def test_a_decision_belongs_to_its_own_approval() -> None:
    other = ev.ApprovalDecided(approval_id="apr_other", call_id="a", decision="approved")
    with pytest.raises(IllegalEventError, match="not that of call a"):
        advance(parked(), other)


def test_a_turn_with_a_call_goes_round_and_ends() -> None:
    state = started()
    assert decide(state, FREE, now=100.0) == SendRequest(number=1, attempt=1, max_tokens=None, delay=0.0)
    state = replay([request(), replied("a", "b")], state)
    decision = decide(state, FREE, now=100.0)
    assert isinstance(decision, RunCalls)
    assert [call.id for call in decision.calls] == ["a", "b"]
    state = replay([start("a"), start("b"), finish("b"), finish("a")], state)
    assert decide(state, FREE, now=100.0) == SendRequest(number=2, attempt=1, max_tokens=None, delay=0.0)
    state = replay([request(2), replied(action="end", status="completed")], state)
    assert decide(state, FREE, now=100.0) == EndTurn(status=TurnStatus.COMPLETED)
    state = advance(state, ev.TurnEnded(status="completed"))
    assert decide(state, FREE, now=100.0) == Wait()


def test_a_failed_request_goes_out_again_with_its_number_and_after_its_delay() -> None:
    failed = ev.RequestFailed(number=1, attempt=1, kind="overloaded_error", message="", delay=0.5)
    state = replay([request(), failed], started())
    assert decide(state, FREE, now=100.0) == SendRequest(number=1, attempt=2, max_tokens=None, delay=0.5)
    final = ev.RequestFailed(number=1, attempt=2, kind="overloaded_error", message="")
    state = replay([request(attempt=2), final], state)
    assert decide(state, FREE, now=100.0) == EndTurn(status=TurnStatus.FAILED, reason="overloaded_error")


def test_a_request_that_was_under_way_when_the_program_stopped_goes_out_again() -> None:
    state = advance(started(), request())
    assert decide(state, FREE, now=100.0) == SendRequest(number=1, attempt=2, max_tokens=None, delay=0.0)


@pytest.mark.parametrize(
    ("limits", "now", "reason"),
    [
        (Limits(requests=1), 100.0, "requests"),
        (Limits(requests=None, tokens=15), 100.0, "tokens"),
        (Limits(requests=None, seconds=5), 105.0, "seconds"),
        (Limits(requests=None, usd=0.5), 100.0, "usd"),
    ],
)
def test_a_limit_that_is_met_ends_the_turn_before_the_next_request(limits: Limits, now: float, reason: str) -> None:
    state = replay([request(), replied("a", cost=Decimal("0.5")), start("a"), finish("a")], started())
    assert decide(state, limits, now=now) == EndTurn(status=TurnStatus.LIMIT_REACHED, reason=reason)
    assert isinstance(decide(state, FREE, now=now), SendRequest)


def test_calls_over_the_limit_are_set_apart_and_the_turn_ends_when_all_are_answered() -> None:
    state = replay([request(), replied("a", "b", "c")], started())
    decision = decide(state, Limits(calls=2), now=100.0)
    assert isinstance(decision, RunCalls)
    assert [call.id for call in decision.calls] == ["a", "b"]
    assert [call.id for call in decision.over] == ["c"]
    over = ev.CallRejected(call_id="c", reason="limit_reached", content='"x"')
    state = replay([over, start("a"), start("b"), finish("a"), finish("b")], state)
    assert decide(state, FREE, now=100.0) == EndTurn(status=TurnStatus.LIMIT_REACHED, reason="calls")


def test_usage_and_cost_add_up_and_a_request_without_a_price_makes_the_cost_unknown() -> None:
    state = replay([request(), replied("a", cost=Decimal("0.25")), start("a"), finish("a"), request(2)], started())
    state = advance(state, replied(action="end", status="completed", cost=Decimal("0.5")))
    assert state.turn is not None
    assert (state.turn.cost, state.turn.priced) == (Decimal("0.75"), True)
    assert (state.turn.usage.input_tokens, state.turn.usage.output_tokens, state.turn.usage.requests) == (20, 10, 2)
    unpriced = replay([request(), replied("a")], started())
    assert unpriced.turn is not None
    assert unpriced.turn.priced is False


@pytest.mark.parametrize("phase", list(Phase))
def test_what_is_not_in_the_table_raises_and_changes_nothing(phase: Phase) -> None:
    closing = replay([request(), replied(action="end", status="completed")], started())
    states = {
        Phase.IDLE: State(),
        Phase.READY: started(),
        Phase.REQUESTING: advance(started(), request()),
        Phase.ACTING: replay([request(), replied("a")], started()),
        Phase.CLOSING: closing,
        Phase.PARKED: parked(),
    }
    state = states[phase]
    assert state.phase is phase
    samples = [
        ev.ConversationStarted(),
        ev.MessagesImported(),
        ev.TurnStarted(content='"x"'),
        ev.TurnResumed(),
        guided(),
        request(),
        ev.RequestFailed(number=1, attempt=1, kind="k", message=""),
        replied("z"),
        ev.CallRejected(call_id="a", reason="r", content='"x"'),
        start("a"),
        ev.CallUnresolved(call_id="a"),
        resolved("a"),
        approval("a"),
        decided("a", "approved"),
        ev.TurnParked(status="awaiting_approval"),
        ev.TurnWoken(),
        finish("nobody"),
        ev.TurnEnded(status="completed"),
    ]
    for event in samples:
        if (phase, event.type) not in TURN_TABLE:
            with pytest.raises(IllegalEventError, match=str(phase)):
                advance(state, event)
    assert state == states[phase]


def test_a_turn_does_not_end_while_a_call_has_no_result() -> None:
    state = replay([request(), replied("a")], started())
    with pytest.raises(IllegalEventError):
        advance(state, ev.TurnEnded(status="cancelled"))


def test_a_call_has_one_result_only() -> None:
    state = replay([request(), replied("a", "b"), start("a"), finish("a")], started())
    for event in (finish("a"), start("a"), ev.CallRejected(call_id="a", reason="r", content='""')):
        with pytest.raises(IllegalEventError, match="no open call 'a'"):
            advance(state, event)


def test_every_closed_call_state_is_an_end_and_every_open_one_has_a_way_out() -> None:
    assert {state for state, _ in CALL_TABLE} == OPEN_STATES
    assert set(CALL_TABLE.values()) | {CallState.REQUESTED} == set(CallState)


def guided(unmet: int = 0) -> ev.ChoiceGuided:
    return ev.ChoiceGuided(role="user", content='[{"type":"text","text":"call"}]', unmet=unmet)


def test_a_resumed_turn_counts_anew() -> None:
    state = replay([request(), replied("a"), start("a"), finish("a")], started())
    state = replay([ev.TurnEnded(status="limit_reached"), ev.TurnResumed(at=500.0)], state)
    assert decide(state, Limits(requests=1), now=500.0) == SendRequest(number=1, attempt=1, max_tokens=None, delay=0.0)


class Walk(RuleBasedStateMachine):
    """Random legal walks; at every step the state and the history equal those made afresh from the events."""

    def __init__(self) -> None:
        super().__init__()
        self.events: list[ev.Event] = [ev.ConversationStarted()]
        self.state = replay(self.events)
        self.history = History(self.events)
        self.ids = 0

    def take(self, event: ev.Event) -> None:
        self.state = advance(self.state, event)
        self.history.apply(event)
        self.events.append(event)

    def phase(self, *phases: Phase) -> bool:
        return self.state.phase in phases

    @precondition(lambda self: self.phase(Phase.IDLE))
    @rule(text=st.text(min_size=1))
    def speak(self, text: str) -> None:
        event = ev.TurnWarned(code="", message=text)
        self.take(ev.TurnStarted(content=event.to_payload().partition('"message":')[2][:-1]))

    @precondition(lambda self: self.phase(Phase.READY) and self.history.waits_for_model)
    @rule(role=st.sampled_from(["user", "system"]))
    def say_the_choice_in_words(self, role: str) -> None:
        self.take(replace(guided(), role="system" if self.history.last_role == "system" else role))

    @precondition(lambda self: self.phase(Phase.READY, Phase.REQUESTING))
    @rule()
    def ask(self) -> None:
        decision = decide(self.state, FREE, now=0.0)
        assert isinstance(decision, SendRequest)
        self.take(request(decision.number, decision.attempt))

    @precondition(lambda self: self.phase(Phase.REQUESTING))
    @rule(delay=st.none() | st.just(0.5))
    def fail(self, delay: float | None) -> None:
        assert self.state.turn is not None
        self.take(ev.RequestFailed(number=self.state.turn.requests, attempt=1, kind="k", message="", delay=delay))

    @precondition(lambda self: self.phase(Phase.REQUESTING))
    @rule(count=st.integers(1, 4))
    def reply_with_calls(self, count: int) -> None:
        ids = [f"toolu_{self.ids + n}" for n in range(count)]
        self.ids += count
        self.take(replied(*ids))

    @precondition(lambda self: self.phase(Phase.REQUESTING))
    @rule(action=st.sampled_from(["end", "discard", "resend", "enlarge", "ask_again", "remind"]))
    def reply_without_calls(self, action: str) -> None:
        self.take(replied(action=action, status="completed" if action in ("end", "discard") else None))

    @precondition(lambda self: self.phase(Phase.ACTING))
    @rule(data=st.data())
    def move_a_call(self, data: st.DataObject) -> None:
        assert self.state.turn is not None
        free = [call for call in self.state.turn.open_calls if not call.is_waiting]
        if not free:
            decision = decide(self.state, FREE, now=0.0)
            assert isinstance(decision, Park)
            self.take(ev.TurnParked(status=decision.status))
            return
        call = data.draw(st.sampled_from(free))
        if call.state is CallState.STARTED:
            ends = [finish(call.id, state) for state in ("succeeded", "failed", "timed_out", "cancelled")]
            self.take(data.draw(st.sampled_from([*ends, ev.CallUnresolved(call_id=call.id), start(call.id)])))
            return
        ways = [
            start(call.id),
            ev.CallRejected(call_id=call.id, reason="r", content='"x"'),
            finish(call.id, "cancelled"),
            *([approval(call.id)] if call.state is CallState.REQUESTED else []),
        ]
        self.take(data.draw(st.sampled_from(ways)))

    @precondition(lambda self: self.phase(Phase.PARKED))
    @rule(data=st.data())
    def a_person_speaks(self, data: st.DataObject) -> None:
        assert self.state.turn is not None
        waiting = [call for call in self.state.turn.open_calls if call.is_waiting]
        if not waiting:
            self.take(ev.TurnWoken())
            return
        call = data.draw(st.sampled_from(waiting))
        if call.state is CallState.AWAITING_APPROVAL:
            ways: list[ev.Event] = [decided(call.id, how) for how in ("approved", "edited", "denied", "expired")]
        else:
            ways = [resolved(call.id), resolved(call.id, happened=False)]
        self.take(data.draw(st.sampled_from([*ways, finish(call.id, "cancelled")])))

    @precondition(lambda self: self.phase(Phase.CLOSING))
    @rule()
    def end(self) -> None:
        decision = decide(self.state, FREE, now=0.0)
        assert isinstance(decision, EndTurn)
        self.take(ev.TurnEnded(status=decision.status, reason=decision.reason))

    @invariant()
    def the_same_events_give_the_same_state_and_history(self) -> None:
        again = [from_payload(event.type, event.to_payload(), event.at) for event in self.events]
        assert replay(again) == self.state
        assert History(again).messages_json() == self.history.messages_json()

    @invariant()
    def no_system_message_stands_before_a_users_or_first(self) -> None:
        roles = [message["role"] for message in self.history.messages()]
        after = [next_ for role, next_ in zip(roles, [*roles, None][1:], strict=True) if role == "system"]
        assert set(after) <= {"assistant", None}
        assert roles[:1] != ["system"]

    @invariant()
    def calls_and_results_are_paired(self) -> None:
        waiting: list[str] = []
        messages = self.history.messages()
        for message in messages:
            blocks = message["content"]
            results = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
            assert results == waiting
            waiting = [block["id"] for block in blocks if block["type"] == "tool_use"]
        if not self.phase(Phase.PARKED):
            assert bool(waiting) == self.phase(Phase.ACTING)


TestWalk = Walk.TestCase
TestWalk.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
