"""The turn machine under a tool choice: how long it is in force, and what is counted."""

from __future__ import annotations

from dataclasses import replace

from tests.core.test_machine import FREE, finish, guided, replied, request, start, started
from turnkeeper.core import events as ev
from turnkeeper.core.machine import EndTurn, Phase, SendRequest, State, decide, replay
from turnkeeper.types import TurnStatus


def choosing(kind: str = "any") -> State:
    return replay([ev.ConversationStarted(), ev.TurnStarted(content='"hi"', at=100.0, tool_choice={"type": kind})])


def broke() -> ev.ReplyReceived:
    return replace(replied(action="remind"), choice="unmet")


def test_a_forced_choice_is_in_force_until_a_reply_has_kept_to_it_and_none_to_the_end() -> None:
    for kind, after in (("any", False), ("none", True)):
        state = choosing(kind)
        assert state.turn is not None
        assert state.turn.choice_in_force
        kept = replace(replied("a"), choice="met")
        state = replay([request(), kept, start("a"), finish("a")], state)
        assert state.turn is not None
        assert state.turn.choice_in_force is after
    plain = started().turn
    assert plain is not None
    assert not plain.choice_in_force


def test_replies_that_break_the_choice_are_counted_and_asked_for_again() -> None:
    state = replay([guided(), request(), broke(), guided(1), request(2), broke()], choosing())
    assert state.turn is not None
    assert (state.turn.unmet, state.turn.guided, state.phase) == (2, 1, Phase.READY)
    assert decide(state, FREE, now=100.0) == SendRequest(number=3, attempt=1, max_tokens=None, delay=0.0)


def test_a_resumed_turn_keeps_its_choice_and_what_the_endpoint_said_of_it_and_counts_anew() -> None:
    refused = ev.RequestFailed(number=1, attempt=1, kind="k", message="", delay=0.0, choice_refused=True)
    failed = replace(broke(), action="discard", status="failed", reason="tool_choice_unmet")
    asked = [request(), refused, guided(), request(1, 2), failed]
    state = replay([*asked, ev.TurnEnded(status="failed", reason="tool_choice_unmet"), ev.TurnResumed()], choosing())
    turn = state.turn
    assert turn is not None
    assert (turn.choice, turn.choice_refused, turn.choice_in_force) == ({"type": "any"}, True, True)
    assert (turn.unmet, turn.guided) == (0, 0)


def test_a_turn_that_ends_with_its_call_is_over_when_that_has_its_result() -> None:
    begun = ev.TurnStarted(content='"hi"', tool_choice={"type": "any"}, ends_with_call=True)
    state = replay([begun, request(), broke(), request(2)])
    met = replace(replied("a", "b"), choice="met")
    state = replay([met, start("a"), start("b"), finish("a", "failed")], state)
    assert state.phase is Phase.ACTING
    state = replay([finish("b")], state)
    assert decide(state, FREE, now=100.0) == EndTurn(status=TurnStatus.COMPLETED)
