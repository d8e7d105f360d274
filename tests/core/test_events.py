"""Events and their payloads."""

from __future__ import annotations

import json
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnkeeper.core import events as ev
from turnkeeper.core.payloads import from_payload
from turnkeeper.errors import JournalError

SAMPLES: list[ev.Event] = [
    ev.ConversationStarted(at=1.5, principal={"kind": "customer", "id": "Иван", "level": "confirmed"}),
    ev.ConversationStarted(),
    ev.MessagesImported(messages=('{"role":"user", "content":"a"}',)),
    ev.TurnStarted(content='"привет 🙂"'),
    ev.TurnStarted(content=None),
    ev.TurnStarted(content='"go"', tool_choice={"type": "tool", "name": "найти"}, ends_with_call=True),
    ev.ChoiceGuided(role="system", content='[{"type":"text","text":"Вызови `найти`"}]', unmet=1),
    ev.TurnResumed(at=3.0),
    ev.RequestStarted(number=1, attempt=2, model="claude-x", max_tokens=16, tool_choice={"type": "any"}),
    ev.RequestFailed(
        number=1,
        attempt=1,
        kind="stream_cut",
        message="m",
        status=200,
        delay=0.5,
        partial=('{"type":"text","text":"Half"}',),
        usage={"input_tokens": 3},
        cost=Decimal("0.0100"),
    ),
    ev.ReplyReceived(
        number=1,
        blocks=('{"type":"x" , "n":1.50}', '{"type":"tool_use","id":"","name":"f","input":{}}'),
        stop_reason=None,
        usage={"output_tokens": 1},
        action="run_calls",
        kept=True,
        calls=(ev.CallRequest(id="toolu_tk_1_1", name="f", index=1, given_id=""),),
        invalid_inputs={"1": '{"a'},
        fields={"id": "msg_1", "новое": [1]},
        cost=Decimal("0.5"),
    ),
    ev.CallRejected(call_id="a", reason="unknown_tool", content='"нет такого"'),
    ev.CallStarted(call_id="a", tool="f", effect="once", key="c:a"),
    ev.CallFinished(call_id="a", state="failed", content='[{"type":"text","text":"x"}]', is_error=True, error_id="e1"),
    ev.ApprovalRequested(
        approval_id="apr_1",
        call_id="a",
        tool="refund",
        input='{"сумма" : 5}',
        digest="d",
        policy="always",
        expires_at=9.5,
        requester={"kind": "customer", "id": "1", "level": "confirmed"},
    ),
    ev.ApprovalDecided(
        approval_id="apr_1", call_id="a", decision="edited", by={"kind": "staff", "id": "ana"}, input='{"x": 1}'
    ),
    ev.ApprovalDecided(approval_id="apr_1", call_id="a", decision="expired", content='"нет"'),
    ev.CallUnresolved(call_id="a"),
    ev.CallResolved(call_id="a", happened=True, by={"kind": "staff", "id": "ana"}, content='"ok"'),
    ev.TurnParked(status="awaiting_approval"),
    ev.TurnWoken(at=2.0),
    ev.TurnWarned(code="empty_reply", message="m"),
    ev.TurnEnded(status="completed"),
    ev.IdentityChanged(principal={"kind": "customer", "id": "李雷", "level": "confirmed"}, reason="raised"),
]


@pytest.mark.parametrize("event", SAMPLES, ids=lambda event: event.type)
def test_an_event_comes_back_from_its_payload_equal(event: ev.Event) -> None:
    payload = event.to_payload()
    json.loads(payload)
    assert from_payload(event.type, payload, event.at) == event


def test_every_event_type_has_a_sample() -> None:
    assert {event.type for event in SAMPLES} == set(ev.EVENT_TYPES)


def test_raw_text_stands_in_the_payload_as_it_was_received() -> None:
    payload = SAMPLES[10].to_payload()
    assert '"blocks":[{"type":"x" , "n":1.50},' in payload


def test_unknown_members_are_passed_over() -> None:
    assert from_payload("turn_ended", '{"status":"failed","later":[1]}', 0.0) == ev.TurnEnded(status="failed")


@pytest.mark.parametrize(
    ("kind", "payload", "says"),
    [
        ("from_the_future", "{}", "newer Turnkeeper"),
        ("turn_ended", "{", "changed by hand"),
        ("turn_ended", "[]", "changed by hand"),
        ("turn_ended", "{}", "changed by hand"),
        ("reply_received", '{"blocks":5}', "changed by hand"),
        ("request_failed", '{"number":1,"attempt":1,"kind":"k","message":"m","cost":"x"}', "changed by hand"),
    ],
)
def test_a_payload_that_can_not_be_read_is_a_journal_error(kind: str, payload: str, says: str) -> None:
    with pytest.raises(JournalError, match=says):
        from_payload(kind, payload, 0.0)


@given(st.text(), st.text())
def test_any_text_survives_as_utf8(message: str, code: str) -> None:
    event = ev.TurnWarned(code=code, message=message)
    payload = event.to_payload()
    payload.encode()
    again = from_payload(event.type, payload, 0.0)
    assert again.to_payload() == payload


def test_the_format_version_has_a_line_for_each_version() -> None:
    assert list(ev.FORMAT_VERSION_SUMMARIES) == list(range(1, ev.FORMAT_VERSION + 1))
