"""What a scripted reply becomes on the wire: every stop reason and block, verbatim, with only the gaps filled."""

from __future__ import annotations

from typing import Any

import pytest

from tests.simulator.asking import REQUEST, ask
from turnkeeper.testing import MessagesAPI, call, reply, text, thinking

USAGE = {
    "input_tokens": 7,
    "cache_creation_input_tokens": 0,
    "cache_read_input_tokens": 0,
    "cache_creation": {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 0},
}


def sent(entry: Any, **fields: Any) -> Any:
    answer = ask(MessagesAPI([entry]), **fields)
    assert answer.status == 200, answer.raw
    return answer.json


def test_a_text_becomes_a_whole_message() -> None:
    assert sent("Здравствуйте!") == {
        "id": "msg_000001",
        "type": "message",
        "role": "assistant",
        "model": "claude-opus-5-5",
        "content": [{"type": "text", "text": "Здравствуйте!"}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {**USAGE, "output_tokens": 7, "service_tier": "standard"},
    }


def test_calls_get_ids_of_their_kind_in_order() -> None:
    message = sent(
        reply(
            "Ich sehe nach.",
            call("lookup", {"stadt": "Köln"}),
            call("lookup", {"город": "Тверь"}),
            {"type": "server_tool_use", "name": "web_search", "input": {"query": "天气"}},
            {"type": "web_search_tool_result", "content": []},
        )
    )
    assert message["content"] == [
        {"type": "text", "text": "Ich sehe nach."},
        {"type": "tool_use", "id": "toolu_000001", "name": "lookup", "input": {"stadt": "Köln"}},
        {"type": "tool_use", "id": "toolu_000002", "name": "lookup", "input": {"город": "Тверь"}},
        {"type": "server_tool_use", "id": "srvtoolu_000001", "name": "web_search", "input": {"query": "天气"}},
        {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_000001", "content": []},
    ]
    assert message["stop_reason"] == "tool_use"


@pytest.mark.parametrize("id_", ["", "toolu_own", "functions.lookup:0", "вызов-1"])
def test_an_id_that_the_script_gives_is_sent_as_it_is(id_: str) -> None:
    assert sent(reply(call("f", id=id_), call("f", id=id_)))["content"] == [
        {"type": "tool_use", "id": id_, "name": "f", "input": {}},
        {"type": "tool_use", "id": id_, "name": "f", "input": {}},
    ]


def test_a_null_id_is_sent_as_null() -> None:
    assert sent({"content": [{"type": "tool_use", "id": None, "name": "f"}]})["content"][0]["id"] is None


def test_counting_ids_pass_over_those_that_the_history_holds() -> None:
    tools = [{"name": "f", "input_schema": {"type": "object"}}]
    history = [
        *REQUEST["messages"],
        {"role": "assistant", "content": [{"type": "tool_use", "id": "toolu_000001", "name": "f", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_000001", "content": "1"}]},
    ]
    message = sent(reply(call("f")), messages=history, tools=tools)
    assert message["content"][0]["id"] == "toolu_000002"


@pytest.mark.parametrize(
    "reason",
    [
        "end_turn",
        "max_tokens",
        "stop_sequence",
        "tool_use",
        "pause_turn",
        "refusal",
        "model_context_window_exceeded",
        "compaction",
        "a_reason_of_tomorrow",
        None,
    ],
)
def test_any_stop_reason_goes_with_any_content(reason: str | None) -> None:
    message = sent(reply(stop_reason=reason))
    assert (message["content"], message["stop_reason"]) == ([], reason)


def test_a_refusal_carries_its_details() -> None:
    details = {"type": "refusal", "category": "cyber", "explanation": "Nein."}
    message = sent(reply(stop_reason="refusal", stop_details=details))
    assert message["stop_details"] == details


def test_a_stop_sequence_is_named() -> None:
    message = sent(reply("до", stop_reason="stop_sequence", stop_sequence="КОНЕЦ"), stop_sequences=["КОНЕЦ"])
    assert message["stop_sequence"] == "КОНЕЦ"


@pytest.mark.parametrize("blank", ["", " ", "\n\n", "\u200b"])
def test_blank_text_blocks_are_sent_as_they_are(blank: str) -> None:
    assert sent(reply(text(blank)))["content"] == [{"type": "text", "text": blank}]


def test_unknown_blocks_and_fields_are_sent_as_they_are() -> None:
    block = {"type": "hologram", "z": 1, "a": {"щ": [None, True, 1.5]}}
    message = sent(reply(block, text("x", citations=None), extra={"new_field": {"b": 1}}))
    assert message["content"] == [block, {"type": "text", "text": "x", "citations": None}]
    assert message["new_field"] == {"b": 1}


@pytest.mark.parametrize("content", [None, "text", 5, ["text", {"type": "tool_use"}]])
def test_extra_fields_come_last_and_may_be_anything(content: Any) -> None:
    api = MessagesAPI([reply("x", extra={"content": content})] * 2)
    assert ask(api).json["content"] == content
    assert ask(api, stream=True).status == 200


@pytest.mark.parametrize(
    ("raw", "value"),
    [('{"a": "b', {}), ("", {}), ('{"a": 1}', {"a": 1}), ('"{}"', "{}"), ("null", None), ("[1]", [1])],
)
def test_raw_input_is_parsed_where_it_is_json(raw: str, value: Any) -> None:
    block = sent(reply(call("f", raw_input=raw), stop_reason="max_tokens"))["content"][0]
    assert block == {"type": "tool_use", "id": "toolu_000001", "name": "f", "input": value}


def test_input_may_be_a_string() -> None:
    assert sent({"content": [{"type": "tool_use", "name": "f", "input": '{"a": 1}'}]})["content"][0]["input"] == (
        '{"a": 1}'
    )


def test_an_unpaired_surrogate_arrives_as_an_escape() -> None:
    answer = ask(MessagesAPI([reply("ok \ud83d")]))
    assert rb'"ok \ud83d"' in answer.raw
    assert answer.json["content"][0]["text"] == "ok \ud83d"


def test_usage_is_the_script_s_when_it_states_one() -> None:
    assert sent(reply("x", usage={"input_tokens": 1000, "output_tokens": 50}))["usage"] == {
        "input_tokens": 1000,
        "output_tokens": 50,
    }
    assert sent(reply("x", usage=None))["usage"] is None


def test_thinking_is_signed_and_counted() -> None:
    message = sent(reply(thinking("подумаем…"), {"type": "redacted_thinking"}, "да"))
    first, second, third = message["content"]
    assert (first["thinking"], third["text"]) == ("подумаем…", "да")
    assert len(first["signature"]) > 40
    assert len(second["data"]) > 40
    assert first["signature"] != second["data"]
    assert message["usage"]["output_tokens_details"] == {"thinking_tokens": 5}
    assert message["usage"]["output_tokens"] == 6


def test_a_signature_that_the_script_gives_is_sent_as_it_is() -> None:
    assert sent(reply(thinking(signature="sig"), "x"))["content"][0] == {
        "type": "thinking",
        "thinking": "",
        "signature": "sig",
    }


def test_max_tokens_zero_warms_the_cache_and_asks_no_model() -> None:
    api = MessagesAPI("unused")
    message = ask(api, max_tokens=0).json
    assert (message["content"], message["stop_reason"]) == ([], "max_tokens")
    assert message["usage"]["output_tokens"] == 0
    assert api.unused_replies == 1


def test_the_same_run_gives_the_same_bytes() -> None:
    entries = [reply(thinking("hm"), "a", call("f", {"x": 1})), "b"]
    first, second = MessagesAPI(entries), MessagesAPI(entries)
    assert [ask(first).raw, ask(first, stream=True).raw] == [ask(second).raw, ask(second, stream=True).raw]
