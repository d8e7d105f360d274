"""Streams: events to a reply, whole or cut."""

from __future__ import annotations

import json
from typing import Any

import pytest

from turnkeeper.wire.received import MalformedReplyError
from turnkeeper.wire.reply import WireReply
from turnkeeper.wire.stream import Assembly


def folded(events: list[dict[str, Any]]) -> Assembly:
    assembly = Assembly()
    for event in events:
        assembly.take(event)
    return assembly


def assembled(events: list[dict[str, Any]]) -> WireReply:
    found = folded(events)
    assert found.complete
    return found.reply()


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
    reply = assembled(events)
    assert reply.blocks == (
        '{"type":"thinking","thinking":"думаю","signature":"c2ln+/=="}',
        '{"type":"text","text":"Смотрю 🙂"}',
        '{"type":"tool_use","id":"toolu_1","name":"f","input":{"b" : 1.50, "a":"x"},"caller":{"type":"direct"}}',
    )
    assert reply.stop_reason == "tool_use"


@pytest.mark.parametrize("deltas", [[], [""], ["", "  "]])
def test_a_call_without_input_text_has_an_empty_object(deltas: list[str]) -> None:
    pieces = [{"type": "input_json_delta", "partial_json": text} for text in deltas]
    events = [start(), *block(0, {"type": "tool_use", "id": "t", "name": "f", "input": {}}, *pieces), *end("tool_use")]
    assert assembled(events).parsed()[0]["input"] == {}


def test_input_that_is_not_json_is_kept_and_marked() -> None:
    piece = {"type": "input_json_delta", "partial_json": '{"a": "b'}
    events = [start(), *block(0, {"type": "tool_use", "id": "t", "name": "f", "input": {}}, piece), *end("tool_use")]
    reply = assembled(events)
    assert reply.invalid_inputs == {0: '{"a": "b'}
    assert reply.parsed()[0]["input"] == {"INVALID_JSON": '{"a": "b'}


def test_without_message_stop_a_stream_is_not_complete_and_what_came_is_kept() -> None:
    events = [start(), *block(0, {"type": "text", "text": ""}, {"type": "text_delta", "text": "Half of"})[:2]]
    found = folded(events)
    assert (found.begun, found.complete) == (True, False)
    assert found.reply().blocks == ('{"type":"text","text":"Half of"}',)
    assert found.reply().stop_reason is None


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
    reply = assembled(events)
    assert reply.blocks == ('{"type":"hologram","layers":[1],"note":"ñ"}',)
    assert reply.fields["unknown_events"] == [odd]


def test_usage_counts_are_cumulative_the_last_one_wins_and_absent_ones_stay() -> None:
    """Report A35-cache-usage-doubled-in-stream.

    https://github.com/langchain-ai/langchainjs/issues/10249
    """
    first = {"input_tokens": 2, "cache_creation_input_tokens": 100, "cache_read_input_tokens": 0, "output_tokens": 4}
    again = first | {"output_tokens": 64}
    assert assembled([start(first), *end("tool_use", again)]).usage == again
    second = {"input_tokens": 10, "cache_creation_input_tokens": 5, "cache_read_input_tokens": 100, "output_tokens": 1}
    found = assembled([start(second), *end("end_turn", {"output_tokens": 20, "input_tokens": None})]).usage
    assert found == second | {"output_tokens": 20}


def test_citations_of_a_stream_are_collected() -> None:
    cited = [{"type": "citations_delta", "citation": {"cited_text": str(n)}} for n in (1, 2)]
    reply = assembled([start(), *block(0, {"type": "text", "text": "", "citations": []}, *cited), *end()])
    assert json.loads(reply.blocks[0])["citations"] == [{"cited_text": "1"}, {"cited_text": "2"}]


def test_an_emoji_split_over_two_deltas_is_joined() -> None:
    halves = [{"type": "text_delta", "text": "\ud83d"}, {"type": "text_delta", "text": "\ude42 \udc81"}]
    reply = assembled([start(), *block(0, {"type": "text", "text": ""}, *halves), *end()])
    assert reply.blocks == ('{"type":"text","text":"🙂 \ufffd"}',)


def test_a_stop_reason_can_be_written_down_whatever_it_is() -> None:
    assert assembled([start(), *end("end\ud83d")]).stop_reason == "end\ufffd"


def begin(content: Any, **index: Any) -> dict[str, Any]:
    return {"type": "content_block_start", "content_block": content} | index


def change(delta: Any, **index: Any) -> dict[str, Any]:
    return {"type": "content_block_delta", "delta": delta} | index


EMPTY = {"type": "text", "text": ""}


def says(text: str) -> dict[str, Any]:
    return {"type": "text_delta", "text": text}


def texts(*events: dict[str, Any]) -> list[str]:
    return [one["text"] for one in assembled([start(), *events, *end()]).parsed()]


@pytest.mark.parametrize("index", [{}, {"index": None}])
def test_without_an_index_a_start_is_the_next_block_and_a_delta_belongs_to_the_one_under_way(
    index: dict[str, Any],
) -> None:
    found = texts(
        begin(EMPTY, **index),
        change(says("один"), **index),
        begin(EMPTY, **index),
        change(says("два"), **index),
        change(says("!"), index=1),
    )
    assert found == ["один", "два!"]


def test_an_index_that_comes_again_is_the_next_block_and_nothing_is_lost() -> None:
    found = texts(
        begin(EMPTY, index=0),
        change(says("a"), index=0),
        begin(EMPTY, index=0),
        change(says("b"), index=0),
        begin(EMPTY, index=1),
        change(says("c"), index=1),
    )
    assert found == ["a", "b", "c"]


def test_blocks_stand_in_the_order_of_their_indexes_and_digits_in_a_string_are_an_index() -> None:
    found = texts(
        begin(EMPTY, index="1"),
        begin(EMPTY, index=0),
        change(says("first"), index="0"),
        change(says("second"), index=1),
    )
    assert found == ["first", "second"]


def test_content_of_the_message_that_starts_is_kept_before_what_is_streamed() -> None:
    events = [start(), begin(EMPTY, index=0), change(says("b"), index=0), *end()]
    events[0]["message"]["content"] = [{"type": "text", "text": "a"}]
    assert [one["text"] for one in assembled(events).parsed()] == ["a", "b"]
    events[0]["message"]["content"] = "whole"
    assert [one["text"] for one in assembled(events).parsed()] == ["whole", "b"]


NOT_TEXT: list[Any] = [5, True, ["x"], {"x": 1}]
NO_INDEX: list[Any] = ["x", "²", "9" * 30, -1, 1.5, True, [], {}]
NO_OBJECT: list[Any] = ["end_turn", 5, []]
NO_CONTENT: list[Any] = [5, {}, [5], [None]]


def starting(message: Any) -> dict[str, Any]:
    return {"type": "message_start", "message": message}


def ending(delta: Any) -> dict[str, Any]:
    return {"type": "message_delta", "delta": delta}


@pytest.mark.parametrize(
    ("event", "problem"),
    [
        *((begin(EMPTY, index=index), "the index of an event") for index in NO_INDEX),
        *((change(says("x"), index=index), "the index of an event") for index in NO_INDEX),
        (change(says("x"), index=7), "a block that has not begun"),
        *((starting(given), "the message of an event") for given in NO_OBJECT),
        *((ending(given), "the delta of an event") for given in NO_OBJECT),
        *((begin(given, index=1), "the content_block of an event") for given in NO_OBJECT),
        *((change(given, index=0), "the delta of an event") for given in NO_OBJECT),
        *((change({"type": "text_delta", "text": given}, index=0), "the text of a delta") for given in NOT_TEXT),
        *((change({"type": "thinking_delta", "thinking": given}, index=0), "the thinking") for given in NOT_TEXT),
        *((change({"partial_json": given}, index=0), "the partial_json of a delta") for given in NOT_TEXT[:3]),
        *((starting({"content": given}), "the content of the message that starts") for given in NO_CONTENT),
    ],
)
def test_an_event_of_which_something_would_be_lost_is_refused(event: dict[str, Any], problem: str) -> None:
    assembly = folded([start(), begin(EMPTY, index=0), change(says("so far"), index=0)])
    with pytest.raises(MalformedReplyError, match=problem):
        assembly.take(event)
    assert assembly.reply().blocks == ('{"type":"text","text":"so far"}',)


def test_null_members_of_events_say_nothing() -> None:
    events = [
        {"type": "message_start", "message": None},
        begin({"type": "text", "text": None}, index=0),
        change(None, index=0),
        change({"type": "text_delta", "text": None}, index=0),
        change(says("x"), index=0),
        {"type": "message_delta", "delta": None, "usage": None},
        {"type": "message_stop"},
    ]
    reply = assembled(events)
    assert (reply.blocks, reply.usage) == (('{"type":"text","text":"x"}',), {})


def test_a_delta_before_any_start_is_refused() -> None:
    with pytest.raises(MalformedReplyError, match="not begun"):
        folded([start(), change(says("Hello"))])


def called(*pieces: Any, **call: Any) -> WireReply:
    block: dict[str, Any] = {"type": "tool_use", "id": "t", "name": "f", "input": {}} | call
    deltas = [change({"type": "input_json_delta", "partial_json": piece}, index=0) for piece in pieces]
    return assembled([start(), begin(block, index=0), *deltas, *end("tool_use")])


@pytest.mark.parametrize(
    ("pieces", "given", "kept", "invalid"),
    [
        ([None], {}, {}, None),
        ([None, '{"a":', None, "1}"], {}, {"a": 1}, None),
        ([{"a": 1}], {}, {"a": 1}, None),
        (["null"], {}, {}, None),
        (['"{\\"a\\":1}"'], {}, {"a": 1}, None),
        (["[1]"], {}, {"INVALID_JSON": "[1]"}, "[1]"),
        (['{"x": NaN}'], {}, {"INVALID_JSON": '{"x": NaN}'}, '{"x": NaN}'),
        (['{"x": 1e999}'], {}, {"INVALID_JSON": '{"x": 1e999}'}, '{"x": 1e999}'),
        ([], None, {}, None),
        ([], '{"a":1}', {"a": 1}, None),
        ([], [1], {"INVALID_JSON": "[1]"}, "[1]"),
    ],
)
def test_an_input_that_is_no_object_is_read_as_endpoints_mean_it_or_marked(
    pieces: list[Any], given: Any, kept: Any, invalid: str | None
) -> None:
    reply = called(*pieces, input=given)
    assert reply.parsed()[0]["input"] == kept
    assert reply.invalid_inputs.get(0) == invalid


@pytest.mark.parametrize("given", [{}, [], 5, None])
def test_an_id_that_is_not_text_counts_as_empty(given: Any) -> None:
    assert called('{"a" : 1}', id=given).blocks == ('{"type":"tool_use","id":"","name":"f","input":{"a" : 1}}',)


def test_a_deeply_nested_input_is_refused_when_the_reply_is_read() -> None:
    with pytest.raises(MalformedReplyError, match=r"the input of content\.0 is nested too deeply"):
        called('{"a":' + "[" * 5_000 + "]" * 5_000 + "}")


def test_a_call_whose_name_is_not_text_is_refused() -> None:
    with pytest.raises(MalformedReplyError, match=r"the name of content\.0 is not text"):
        called(name=["f"])


@pytest.mark.parametrize("usage", [[], ["input_tokens"], "many", 5, True])
def test_usage_that_is_no_object_is_passed_over(usage: Any) -> None:
    events = [start({"input_tokens": 3}), *end("end_turn", usage)]
    assert assembled(events).usage == {"input_tokens": 3}
    events[0]["message"]["usage"] = usage
    assert assembled(events).usage == {}


def test_what_came_so_far_can_be_read_at_any_time_and_reading_changes_nothing() -> None:
    assembly = folded([start(), begin(EMPTY, index=0), change(says("a"), index=0)])
    assert assembly.reply() == assembly.reply()
    assembly.take(change(says("b"), index=0))
    assert assembly.reply().blocks == ('{"type":"text","text":"ab"}',)


def test_a_stream_that_begins_a_second_message_is_malformed() -> None:
    start = {"type": "message_start", "message": {"id": "m", "content": [], "usage": {}}}
    assembly = Assembly()
    assembly.take(start)
    with pytest.raises(MalformedReplyError, match="second message"):
        assembly.take(start)


def call_block(name: str) -> dict[str, Any]:
    return {"type": "tool_use", "id": f"toolu_{name}", "name": name, "input": {}}


def piece(json_text: str) -> dict[str, Any]:
    return {"type": "input_json_delta", "partial_json": json_text}


@pytest.mark.parametrize(
    ("events", "says"),
    [
        ([begin(call_block("a"), index=0), begin(call_block("b"), index=0)], "block 0 began twice, and it is a call"),
        ([begin(EMPTY, index=0), begin(call_block("b"), index=0)], "block 0 began twice"),
        ([begin(call_block("a"), index=1), begin(EMPTY, index="1")], "block 1 began twice"),
        ([*block(0, call_block("a")), *end("max_tokens")[:1], *end("tool_use")], "'max_tokens' was changed to"),
        ([*block(0, EMPTY), *end("tool_use")[:1], *end("ende\u202e")], "the stop reason 'tool_use' was changed"),
        ([*end("tool_use")[:1], begin(call_block("a"), index=0)], "a call came after the stop reason"),
        (
            [begin(call_block("a"), index=0), *end("tool_use")[:1], change(piece('{"сумма": 9}'), index=0)],
            "a call went on after the stop reason",
        ),
    ],
)
def test_a_stream_that_leaves_open_what_its_calls_are_is_refused(events: list[dict[str, Any]], says: str) -> None:
    with pytest.raises(MalformedReplyError, match=says):
        folded([start(), *events])


def test_a_stop_reason_that_is_told_again_is_the_same() -> None:
    counts = {"type": "message_delta", "delta": {"stop_reason": None}, "usage": {"output_tokens": 3}}
    events = [start(), *block(0, call_block("a")), *end("tool_use")[:1], counts, *end("tool_use")]
    assert assembled(events).stop_reason == "tool_use"
