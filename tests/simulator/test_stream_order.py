"""The events of a stream: their order, their deltas, their usage."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.simulator.asking import ask, events, parse_events
from turnkeeper.testing import MessagesAPI, call, reply, text, thinking


def deltas(found: list[tuple[str, Any]], index: int) -> list[Any]:
    return [data["delta"] for name, data in found if name == "content_block_delta" and data["index"] == index]


def starts(found: list[tuple[str, Any]]) -> list[Any]:
    return [data["content_block"] for name, data in found if name == "content_block_start"]


def test_a_text_streams_in_the_documented_order() -> None:
    found = events(MessagesAPI("Hallo, schöne Welt"))
    assert [name for name, _ in found] == [
        "message_start",
        "content_block_start",
        "ping",
        "content_block_delta",
        "content_block_delta",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
    ]
    assert all(data["type"] == name for name, data in found)
    start = found[0][1]["message"]
    assert (start["content"], start["stop_reason"], start["stop_sequence"]) == ([], None, None)
    assert start["usage"]["output_tokens"] == 1
    assert starts(found) == [{"type": "text", "text": ""}]
    assert deltas(found, 0) == [{"type": "text_delta", "text": part} for part in ("Hallo, ", "schöne ", "Welt")]
    assert found[-2][1]["delta"] == {"stop_reason": "end_turn", "stop_sequence": None}
    assert found[-2][1]["usage"] == {
        "input_tokens": 7,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0,
        "output_tokens": 5,
    }


def test_a_call_streams_an_empty_delta_and_then_a_field_at_a_time() -> None:
    found = events(MessagesAPI([reply(call("f", {"a": 1, "б": {"в": "г"}}))]))
    assert starts(found) == [{"type": "tool_use", "id": "toolu_000001", "name": "f", "input": {}}]
    assert [delta["partial_json"] for delta in deltas(found, 0)] == ["", '{"a":1', ',"б":{"в":"г"}', "}"]


def test_a_call_without_arguments_streams_nothing_but_the_empty_delta() -> None:
    assert deltas(events(MessagesAPI([reply(call("f"))])), 0) == [{"type": "input_json_delta", "partial_json": ""}]


def test_raw_input_streams_as_it_is() -> None:
    found = events(MessagesAPI([reply(call("f", raw_input='{"text": "обрыв'), stop_reason="max_tokens")]))
    assert [delta["partial_json"] for delta in deltas(found, 0)] == ["", '{"text"', ': "обры', "в"]
    assert starts(found) == [{"type": "tool_use", "id": "toolu_000001", "name": "f", "input": {}}]
    assert found[-2][1]["delta"]["stop_reason"] == "max_tokens"


def test_string_input_streams_as_a_json_string() -> None:
    found = events(MessagesAPI([{"content": [{"type": "tool_use", "name": "f", "input": '{"a":1}'}]}]))
    assert json.loads("".join(delta["partial_json"] for delta in deltas(found, 0))) == '{"a":1}'


def test_thinking_ends_with_one_signature_delta() -> None:
    found = events(MessagesAPI([reply(thinking("hm hm"), thinking(), "ja")]))
    first, second = deltas(found, 0), deltas(found, 1)
    assert [delta["type"] for delta in first] == ["thinking_delta", "thinking_delta", "signature_delta"]
    assert [delta["type"] for delta in second] == ["signature_delta"]
    assert starts(found)[0] == {"type": "thinking", "thinking": "", "signature": ""}
    assert found[-2][1]["usage"]["output_tokens_details"] == {"thinking_tokens": 2}
    assert "output_tokens_details" not in found[0][1]["message"]["usage"]


def test_server_tool_results_and_unknown_blocks_stand_whole_in_their_start() -> None:
    result = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [{"type": "x", "url": "u"}]}
    hologram = {"type": "hologram", "depth": 3}
    redacted = {"type": "redacted_thinking", "data": "abc"}
    search = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "q"}}
    found = events(MessagesAPI([reply(search, result, hologram, redacted, stop_reason="pause_turn")]))
    assert starts(found) == [{**search, "input": {}}, result, hologram, redacted]
    assert [len(deltas(found, index)) for index in range(4)] == [3, 0, 0, 0]
    assert found[-2][1]["delta"]["stop_reason"] == "pause_turn"


def test_citations_follow_their_text() -> None:
    citation = {"type": "char_location", "cited_text": "ж"}
    found = events(MessagesAPI([reply(text("ja", citations=[citation]))]))
    assert starts(found) == [{"type": "text", "text": "", "citations": []}]
    assert deltas(found, 0) == [
        {"type": "text_delta", "text": "ja"},
        {"type": "citations_delta", "citation": citation},
    ]


def test_a_compaction_block_streams_in_one_delta() -> None:
    block = {"type": "compaction", "content": "summary", "encrypted_content": "xyz"}
    found = events(MessagesAPI([reply(block, stop_reason="compaction")]))
    assert starts(found) == [{"type": "compaction", "content": None, "encrypted_content": None}]
    assert deltas(found, 0) == [{"type": "compaction_delta", "content": "summary", "encrypted_content": "xyz"}]


@pytest.mark.parametrize("reason", ["tool_use", "end_turn", None, "a_reason_of_tomorrow"])
def test_a_reply_without_content_streams_too(reason: str | None) -> None:
    found = events(MessagesAPI([reply(stop_reason=reason)]))
    assert [name for name, _ in found] == ["message_start", "ping", "message_delta", "message_stop"]
    assert found[-2][1]["delta"] == {"stop_reason": reason, "stop_sequence": None}


def test_a_refusal_s_details_come_with_the_stop_reason() -> None:
    details = {"type": "refusal", "category": None, "explanation": None}
    found = events(MessagesAPI([reply("teil", stop_reason="refusal", stop_details=details)]))
    assert "stop_details" not in found[0][1]["message"]
    assert found[-2][1]["delta"] == {"stop_reason": "refusal", "stop_sequence": None, "stop_details": details}


def test_the_usage_of_either_event_can_be_scripted() -> None:
    entry = reply("x", start_usage={"input_tokens": 9, "output_tokens": 3}, delta_usage={"output_tokens": 40})
    found = events(MessagesAPI([entry]))
    assert found[0][1]["message"]["usage"] == {"input_tokens": 9, "output_tokens": 3}
    assert found[-2][1]["usage"] == {"output_tokens": 40}


def test_scripted_counts_are_cumulative_for_the_ledger_too() -> None:
    """Report A35-cache-usage-doubled-in-stream.

    https://github.com/langchain-ai/langchainjs/issues/10249
    """
    counts = {"input_tokens": 2, "cache_creation_input_tokens": 100, "cache_read_input_tokens": 0}
    api = MessagesAPI(
        [
            reply("a", start_usage={**counts, "output_tokens": 4}, delta_usage={**counts, "output_tokens": 64}),
            reply("b", start_usage={"input_tokens": 10, "output_tokens": 1}, delta_usage={"output_tokens": 20}),
            reply("ccccc", start_usage={"input_tokens": 5, "output_tokens": 1}),
        ]
    )
    for _ in range(3):
        events(api)
    seen = [(record.usage.input_tokens, record.usage.output_tokens) for record in api.requests]
    assert seen == [(2, 64), (10, 20), (5, 2)]
    assert api.requests[0].usage.cache_creation_input_tokens == 100


def test_scripted_usage_is_split_over_both_events() -> None:
    usage = {"input_tokens": 7, "output_tokens": 20, "cache_read_input_tokens": 5, "server_tool_use": None}
    found = events(MessagesAPI([reply("x", usage=usage)]))
    assert found[0][1]["message"]["usage"] == {**usage, "output_tokens": 1}
    assert found[-2][1]["usage"] == usage


def test_a_script_can_write_the_whole_stream() -> None:
    own = [{"type": "message_stop"}, "data: [DONE]", ": comment", "event: x\ndata: {not json\n\n"]
    answer = ask(MessagesAPI([{"events": own}]), stream=True)
    assert answer.raw == (
        b'event: message_stop\ndata: {"type":"message_stop"}\n\n'
        b"data: [DONE]\n\n: comment\n\nevent: x\ndata: {not json\n\n"
    )


def test_the_ledger_keeps_the_message_of_a_streamed_reply() -> None:
    api = MessagesAPI([reply("a", call("f", raw_input='{"x": 1}'))])
    events(api)
    assert api.replies[0]["content"] == [
        {"type": "text", "text": "a"},
        {"type": "tool_use", "id": "toolu_000001", "name": "f", "input": {"x": 1}},
    ]
    assert api.requests[0].outcome == "complete"


def test_letters_of_all_scripts_are_not_escaped() -> None:
    raw = ask(MessagesAPI("שלום 你好 🧡"), stream=True).raw
    assert "שלום ".encode() in raw
    assert "🧡".encode() in raw
    assert parse_events(raw)[-1] == ("message_stop", {"type": "message_stop"})
