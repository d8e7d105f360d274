"""Replies with more calls than anyone means: what they cost, and where it ends."""

from __future__ import annotations

import pytest

from turnkeeper.core import events as ev
from turnkeeper.core.checking import check_messages
from turnkeeper.core.machine import Phase, RunCalls, advance, decide, replay
from turnkeeper.core.replies import MOST_CALLS, Action, Shape, judge
from turnkeeper.errors import HistoryError
from turnkeeper.types import Limits, TurnStatus

MANY = 1000
COMPARED: list[str] = []


class Id(str):
    """An id that notes when it is compared: looking through all calls at each event would do so a million times."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        COMPARED.append(self)
        return str.__eq__(self, other)

    __hash__ = str.__hash__


def test_an_event_of_a_call_costs_the_same_however_many_calls_the_reply_has() -> None:
    COMPARED.clear()
    reply = ev.ReplyReceived(
        number=1,
        blocks=tuple(f'{{"type":"tool_use","id":"t{n}","name":"f","input":{{}}}}' for n in range(MANY)),
        stop_reason="tool_use",
        usage={},
        action="run_calls",
        kept=True,
        calls=tuple(ev.CallRequest(id=Id(f"t{n}"), name="f", index=n) for n in range(MANY)),
    )
    request = ev.RequestStarted(number=1, attempt=1, model="m", max_tokens=10)
    state = replay([ev.ConversationStarted(), ev.TurnStarted(content='"привет"'), request, reply])
    decision = decide(state, Limits(calls=MANY - 100), now=0.0)
    assert isinstance(decision, RunCalls)
    assert (len(decision.calls), len(decision.over)) == (MANY - 100, 100)
    for n in range(MANY):
        state = advance(state, ev.CallRejected(call_id=f"t{n}", reason="unknown_tool", content='"no"'))
    assert state.phase is Phase.READY
    assert len(COMPARED) <= 5 * MANY


def test_checking_a_list_looks_at_each_of_its_calls_once() -> None:
    COMPARED.clear()
    calls = [{"type": "tool_use", "id": Id(f"t{n}"), "name": "f", "input": {}} for n in range(MANY)]
    results = [{"type": "tool_result", "tool_use_id": Id(f"t{n}"), "content": "ok"} for n in range(MANY)]
    given = [
        {"role": "user", "content": "привет"},
        {"role": "assistant", "content": calls},
        {"role": "user", "content": results},
    ]
    assert len(check_messages(given)) == 3
    assert len(COMPARED) <= 5 * MANY


def test_a_reply_may_have_a_thousand_calls_and_not_one_more() -> None:
    bounds = {"used": {}, "max_tokens": 10, "most_tokens": None}
    assert MOST_CALLS == MANY
    assert judge("tool_use", Shape.CALLS, calls=MANY, **bounds).action is Action.RUN_CALLS  # type: ignore[arg-type]
    verdict = judge("tool_use", Shape.CALLS, calls=MANY + 1, **bounds)  # type: ignore[arg-type]
    assert (verdict.action, verdict.kept, verdict.status, verdict.reason) == (
        Action.DISCARD,
        False,
        TurnStatus.FAILED,
        "too_many_calls",
    )
    calls = [{"type": "tool_use", "id": f"t{n}", "name": "f", "input": {}} for n in range(MANY + 1)]
    with pytest.raises(HistoryError, match=r"messages\.1: the message holds 1001 calls, and 1000 are the most"):
        check_messages([{"role": "user", "content": "x"}, {"role": "assistant", "content": calls}], accept=["calls"])


@pytest.mark.parametrize("given", [{}, {"a": 1}, 7, None, ["t"]])
def test_an_id_that_is_no_text_is_named(given: object) -> None:
    block = {"type": "tool_use", "id": given, "name": "f", "input": {}}
    with pytest.raises(HistoryError, match=r"messages\.1: a tool_use block has no id"):
        check_messages([{"role": "user", "content": "x"}, {"role": "assistant", "content": [block]}], accept=["calls"])
