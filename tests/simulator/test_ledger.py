"""The ledger: what is kept of each request, and what it all cost."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

from tests.simulator.asking import REQUEST, ask, ask_raw
from turnkeeper.simulator import Exchange, Options
from turnkeeper.simulator.ledger import Ledger
from turnkeeper.simulator.scripts import Script
from turnkeeper.testing import FixedClock, MessagesAPI, faults, reply, script
from turnkeeper.types import Usage


def test_a_record_holds_request_and_answer() -> None:
    api = MessagesAPI("Ja", clock=FixedClock(5))
    raw = json.dumps(REQUEST, ensure_ascii=False, indent=1).encode()
    ask_raw(api, raw)
    (record,) = api.requests
    assert (record.number, record.time, record.method, record.path) == (1, 5, "POST", "/v1/messages")
    assert record.raw == raw
    assert record.body == REQUEST
    assert record.headers["x-api-key"] == "sk-ant-test"
    assert (record.status, record.outcome, record.refusal, record.error) == (200, "complete", None, None)
    assert record.message is not None
    assert record.message["content"] == [{"type": "text", "text": "Ja"}]
    assert record.response_headers["request-id"] == "req_000001"
    assert record.usage == Usage(input_tokens=7, output_tokens=2, requests=1)


def test_requests_are_messages_and_records_are_everything() -> None:
    api = MessagesAPI("Ja")
    ask_raw(api, method="GET", path="/v1/models")
    ask(api, path="/v1/messages/count_tokens")
    ask(api)
    assert [record.path for record in api.requests] == ["/v1/messages"]
    assert [record.path for record in api.ledger.records] == ["/v1/models", "/v1/messages/count_tokens", "/v1/messages"]


def test_cost_follows_the_stated_usage_and_the_catalogue() -> None:
    usage: dict[str, Any] = {
        "input_tokens": 1_000,
        "output_tokens": 2_000,
        "cache_read_input_tokens": 10_000,
        "cache_creation_input_tokens": 700,
        "cache_creation": {"ephemeral_5m_input_tokens": 400, "ephemeral_1h_input_tokens": 300},
    }
    api = MessagesAPI(script(reply("x", usage=usage), then="last"))
    ask(api, model="claude-opus-5")
    # $5 in, $25 out a million; reads 0.1, writes 1.25 and 2 times the input price
    per_request = Decimal("0.005") + Decimal("0.05") + Decimal("0.005") + Decimal("0.0025") + Decimal("0.003")
    assert api.cost() == per_request
    ask(api, model="claude-opus-5", stream=True)
    assert api.cost() == api.ledger.cost() == 2 * per_request
    assert api.ledger.usage == Usage(
        input_tokens=2_000,
        output_tokens=4_000,
        cache_read_input_tokens=20_000,
        cache_write_5m_input_tokens=800,
        cache_write_1h_input_tokens=600,
        requests=2,
    )


def test_nothing_is_charged_for_errors_and_for_refusals_without_output() -> None:
    api = MessagesAPI([faults.overloaded(), reply(stop_reason="refusal"), faults.reset()])
    ask(api)
    ask(api)
    assert api.cost() == 0


def test_a_reply_that_is_cut_is_charged() -> None:
    api = MessagesAPI([faults.cut(reply("x", usage={"input_tokens": 10, "output_tokens": 10}), after=1, clean=True)])
    ask(api, stream=True, model="claude-opus-5")
    assert api.cost() == Decimal("0.0003")


def test_the_cost_of_an_unknown_model_is_unknown() -> None:
    api = MessagesAPI(["a", "b"], strict=False)
    ask(api, model="claude-opus-5")
    ask(api, model="llama-4")
    assert api.cost() is None


def test_a_bounded_ledger_keeps_the_last_requests_and_all_totals() -> None:
    api = MessagesAPI(script("x", then="last"), keep=3)
    for _ in range(10):
        ask(api)
    assert [record.number for record in api.requests] == [8, 9, 10]
    assert api.ledger.count == 10
    assert api.ledger.usage.requests == 10
    assert api.cost() == 10 * Decimal("0.000068")  # 7 tokens at $4 and 2 at $20 the million


def test_options_default_to_real_time_and_random_ids() -> None:
    exchange = Exchange(Script([]), Options())
    assert exchange.options.ids("toolu") != exchange.options.ids("toolu")
    assert exchange.options.ids("toolu").startswith("toolu_01")
    assert len(exchange.options.ids("msg")) == len("msg_01") + 22


def test_bodies_are_kept_up_to_a_size_and_totals_for_ever() -> None:
    ledger = Ledger(keep_bytes=25)
    records = [
        ledger.open(time=0.0, method="POST", path="/", headers={}, raw=b"0123456789", body={"n": n}) for n in range(4)
    ]
    assert [len(record.raw) for record in records] == [0, 0, 10, 10]
    assert [record.body for record in records] == [None, None, {"n": 2}, {"n": 3}]
    assert ([record.number for record in ledger.records], ledger.count) == ([1, 2, 3, 4], 4)
    large = ledger.open(time=0.0, method="POST", path="/", headers={}, raw=b"x" * 100)
    assert [len(record.raw) for record in ledger.records] == [0, 0, 0, 0, 100]
    assert large.raw  # the newest is always whole
    few = Ledger(keep=1, keep_bytes=25)
    kept = [few.open(time=0.0, method="POST", path="/", headers={}, raw=b"0123456789") for _ in range(9)]
    assert [len(record.raw) for record in kept] == [10] * 9  # others may still hold them
