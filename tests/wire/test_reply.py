"""Replies: whole bodies and streams, kept to the letter."""

from __future__ import annotations

import json
from typing import Any

import pytest

from turnkeeper.wire.reply import MalformedReplyError, read_reply
from turnkeeper.wire.stream import assemble


def start(usage: dict[str, Any] | None = None) -> dict[str, Any]:
    message: dict[str, Any] = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [],
        "stop_reason": None,
    }
    return {"type": "message_start", "message": message | {"usage": usage or {}}}


def block(index: int, content: dict[str, Any], *deltas: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {"type": "content_block_start", "index": index, "content_block": content},
        *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": index},
    ]


def end(stop: str | None = "end_turn", usage: dict[str, Any] | None = None) -> list[dict[str, Any]]:
    delta = {"stop_reason": stop, "stop_sequence": None}
    return [{"type": "message_delta", "delta": delta, "usage": usage or {}}, {"type": "message_stop"}]


def test_blocks_of_a_body_are_kept_to_the_letter() -> None:
    body = '{"id":"msg_1","content":[ {"type":"new_kind","b":1.0e5 ,"a":"é"} ],"stop_reason":"end_turn","x":[1]}'
    reply = read_reply(body.encode(), request_id="req_1")
    assert reply.blocks == ('{"type":"new_kind","b":1.0e5 ,"a":"é"}',)
    assert reply.stop_reason == "end_turn"
    assert reply.fields == {"id": "msg_1", "x": [1]}
    assert reply.request_id == "req_1"
    assert reply.usage == {}


@pytest.mark.parametrize(
    ("content", "blocks"),
    [("null", ()), ('""', ()), ("[]", ()), ('"hi"', ('{"type":"text","text":"hi"}',))],
)
def test_content_that_is_no_list_is_read_as_compatible_endpoints_mean_it(content: str, blocks: tuple[str, ...]) -> None:
    assert read_reply(f'{{"content":{content}}}'.encode()).blocks == blocks


@pytest.mark.parametrize(
    ("given", "kept", "invalid"),
    [
        ("null", {}, None),
        ('""', {}, None),
        ('"{\\"a\\": 1}"', {"a": 1}, None),
        ('"{\\"a\\":"', {"INVALID_JSON": '{"a":'}, '{"a":'),
        ("[1]", {"INVALID_JSON": "[1]"}, "[1]"),
    ],
)
def test_an_input_that_is_no_object_is_mended_or_marked(given: str, kept: object, invalid: str | None) -> None:
    body = f'{{"content":[{{"type":"tool_use","id":"t","name":"f","input":{given}}}]}}'
    reply = read_reply(body.encode())
    assert reply.parsed()[0]["input"] == kept
    assert reply.invalid_inputs.get(0) == invalid


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (b"", "not a JSON object"),
        (b"<html>", "not a JSON object"),
        (b"[]", "not a JSON object"),
        (b'{"type":"error"}', "no content"),
        (b'{"content":5}', "not a list"),
        (b'{"content":[5]}', "content.0 is not an object"),
    ],
)
def test_a_body_that_is_no_message_is_refused(body: bytes, says: str) -> None:
    with pytest.raises(MalformedReplyError, match=says):
        read_reply(body)


def test_a_stream_gives_the_blocks_with_their_deltas_and_the_input_to_the_letter() -> None:
    events = [
        start(),
        {"type": "ping"},
        *block(
            0,
            {"type": "thinking", "thinking": "", "signature": ""},
            {"type": "thinking_delta", "thinking": "ду"},
            {"type": "thinking_delta", "thinking": "маю"},
            {"type": "signature_delta", "signature": "c2ln+/=="},
        ),
        *block(
            1,
            {"type": "text", "text": ""},
            {"type": "text_delta", "text": "Смотрю "},
            {"type": "text_delta", "text": "🙂"},
        ),
        *block(
            2,
            {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {}, "caller": {"type": "direct"}},
            {"type": "input_json_delta", "partial_json": ""},
            {"type": "input_json_delta", "partial_json": '{"b" : 1.50,'},
            {"type": "input_json_delta", "partial_json": ' "a":"x"}'},
        ),
        *end("tool_use"),
    ]
    found = assemble(events)
    assert found.complete
    assert found.reply.blocks == (
        '{"type":"thinking","thinking":"думаю","signature":"c2ln+/=="}',
        '{"type":"text","text":"Смотрю 🙂"}',
        '{"type":"tool_use","id":"toolu_1","name":"f","input":{"b" : 1.50, "a":"x"},"caller":{"type":"direct"}}',
    )
    assert found.reply.stop_reason == "tool_use"


@pytest.mark.parametrize("deltas", [[], [""], ["", "  "]])
def test_a_call_without_input_text_has_an_empty_object(deltas: list[str]) -> None:
    pieces = [{"type": "input_json_delta", "partial_json": text} for text in deltas]
    events = [start(), *block(0, {"type": "tool_use", "id": "t", "name": "f", "input": {}}, *pieces), *end("tool_use")]
    assert assemble(events).reply.parsed()[0]["input"] == {}


def test_input_that_is_not_json_is_kept_and_marked() -> None:
    piece = {"type": "input_json_delta", "partial_json": '{"a": "b'}
    events = [start(), *block(0, {"type": "tool_use", "id": "t", "name": "f", "input": {}}, piece), *end("tool_use")]
    reply = assemble(events).reply
    assert reply.invalid_inputs == {0: '{"a": "b'}
    assert reply.parsed()[0]["input"] == {"INVALID_JSON": '{"a": "b'}


def test_without_message_stop_a_stream_is_not_complete_and_what_came_is_kept() -> None:
    events = [start(), *block(0, {"type": "text", "text": ""}, {"type": "text_delta", "text": "Half of"})[:2]]
    found = assemble(events)
    assert not found.complete
    assert found.reply.blocks == ('{"type":"text","text":"Half of"}',)
    assert found.reply.stop_reason is None


def test_unknown_events_and_deltas_survive() -> None:
    odd = {"type": "weather_report", "sky": "青"}
    events = [
        start(),
        odd,
        *block(
            0, {"type": "hologram", "layers": []}, {"type": "layer_delta", "layers": [1]}, {"type": "x", "note": "ñ"}
        ),
        *end(),
    ]
    reply = assemble(events).reply
    assert reply.blocks == ('{"type":"hologram","layers":[1],"note":"ñ"}',)
    assert reply.fields["unknown_events"] == [odd]


def test_usage_counts_are_cumulative_the_last_one_wins_and_absent_ones_stay() -> None:
    """Report A35-cache-usage-doubled-in-stream.

    https://github.com/langchain-ai/langchainjs/issues/10249
    """
    first = {"input_tokens": 2, "cache_creation_input_tokens": 100, "cache_read_input_tokens": 0, "output_tokens": 4}
    again = first | {"output_tokens": 64}
    assert assemble([start(first), *end("tool_use", again)]).reply.usage == again
    second = {"input_tokens": 10, "cache_creation_input_tokens": 5, "cache_read_input_tokens": 100, "output_tokens": 1}
    found = assemble([start(second), *end("end_turn", {"output_tokens": 20, "input_tokens": None})]).reply.usage
    assert found == second | {"output_tokens": 20}


def test_citations_of_a_stream_are_collected() -> None:
    cited = [{"type": "citations_delta", "citation": {"cited_text": str(n)}} for n in (1, 2)]
    reply = assemble([start(), *block(0, {"type": "text", "text": "", "citations": []}, *cited), *end()]).reply
    assert json.loads(reply.blocks[0])["citations"] == [{"cited_text": "1"}, {"cited_text": "2"}]


def test_an_emoji_split_over_two_deltas_is_joined() -> None:
    halves = [{"type": "text_delta", "text": "\ud83d"}, {"type": "text_delta", "text": "\ude42 \udc81"}]
    reply = assemble([start(), *block(0, {"type": "text", "text": ""}, *halves), *end()]).reply
    assert reply.blocks == ('{"type":"text","text":"🙂 \ufffd"}',)
