"""Whatever JSON an endpoint sends: a reply whose blocks are objects that can be kept, or MalformedReplyError."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from turnkeeper.types import Usage
from turnkeeper.wire.json import encode
from turnkeeper.wire.received import MalformedReplyError
from turnkeeper.wire.reply import WireReply, read_reply
from turnkeeper.wire.stream import Assembly

WORDS = st.sampled_from(
    [
        *("type", "index", "delta", "content_block", "message", "usage", "content", "stop_reason", "text", "input"),
        *("id", "name", "partial_json", "thinking", "signature", "citation", "citations", "tool_use", "iterations"),
        *("message_start", "content_block_start", "content_block_delta", "message_delta", "text_delta", "end_turn"),
        *("input_json_delta", "server_tool_use", "web_search_tool_result", "tool_use_id", "cache_creation", "0", ""),
    ]
)
TEXT = WORDS | st.text(max_size=8) | st.sampled_from(["\ud83d", '{"a":', '{"a":1}', "null", "[1]", "NaN"])
SCALARS = st.none() | st.booleans() | st.integers(-2, 3) | st.integers() | st.floats() | TEXT
JSON = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=5), max_leaves=12
)
OBJECTS = st.dictionaries(TEXT, JSON, max_size=5)


def mostly(right: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """What it should be, and now and then anything: else hardly a reply would get beyond its first event."""
    return st.integers(0, 9).flatmap(lambda draw: right if draw else JSON)


INPUTS: st.SearchStrategy[Any] = st.just({}) | JSON
BLOCKS = st.fixed_dictionaries(
    {"type": mostly(st.sampled_from(["text", "tool_use", "thinking", "server_tool_use", "hologram"]))},
    optional={
        "id": JSON,
        "name": mostly(st.just("f")),
        "input": INPUTS,
        "text": mostly(TEXT),
        "thinking": mostly(TEXT),
        "citations": JSON,
    },
)
DELTAS = st.fixed_dictionaries(
    {},
    optional={"text": mostly(TEXT), "partial_json": mostly(TEXT), "citation": JSON, "note": JSON, "type": JSON},
)
INDEXES = mostly(st.none() | st.integers(0, 2) | st.sampled_from(["0", "1"]))


def event(kind: str, optional: dict[str, Any] | None = None, **members: st.SearchStrategy[Any]) -> Any:
    return st.fixed_dictionaries({"type": st.just(kind)} | members, optional=optional or {})


EVENTS = st.one_of(
    event("message_start", message=mostly(OBJECTS)),
    event("content_block_start", {"index": INDEXES}, content_block=mostly(BLOCKS)),
    event("content_block_start", {"index": INDEXES}, content_block=mostly(BLOCKS)),
    event("content_block_delta", {"index": INDEXES}, delta=mostly(DELTAS)),
    event("content_block_delta", {"index": INDEXES}, delta=mostly(DELTAS)),
    event("message_delta", {"usage": JSON}, delta=mostly(OBJECTS)),
    event("message_stop"),
    OBJECTS,
)
BODIES = st.fixed_dictionaries(
    {"content": mostly(st.lists(mostly(BLOCKS), max_size=4))},
    optional={"usage": JSON, "stop_reason": JSON, "id": JSON},
)


def is_sound(reply: WireReply) -> None:
    for block in reply.parsed():
        assert isinstance(block, dict)
        assert isinstance(block["type"], str)
        if block["type"] == "tool_use":
            assert isinstance(block["id"], str)
            assert isinstance(block["name"], str)
            assert isinstance(block["input"], dict)
    assert reply.stop_reason is None or isinstance(reply.stop_reason, str)
    assert set(reply.invalid_inputs) <= set(range(len(reply.blocks)))
    encode([list(reply.blocks), reply.usage, reply.fields]).encode()
    assert Usage.of(reply.usage).requests == 1


@settings(deadline=None)
@given(st.lists(EVENTS, max_size=8))
def test_any_events_give_a_sound_reply_or_are_refused(events: list[dict[str, Any]]) -> None:
    assembly = Assembly()
    try:
        for event in json.loads(json.dumps(events), parse_constant=str):
            assembly.take(event)
        reply = assembly.reply()
    except MalformedReplyError:
        return
    is_sound(reply)


@settings(deadline=None)
@given(BODIES | JSON)
def test_any_body_gives_a_sound_reply_or_is_refused(body: Any) -> None:
    try:
        reply = read_reply(json.dumps(body).encode())
    except MalformedReplyError:
        return
    is_sound(reply)


@settings(deadline=None)
@given(st.binary(max_size=60) | st.text(max_size=60).map(lambda text: text.encode("utf-8", "surrogatepass")))
def test_any_bytes_are_refused_or_read(body: bytes) -> None:
    try:
        is_sound(read_reply(body))
    except MalformedReplyError:
        return


@settings(deadline=None)
@given(JSON)
def test_any_usage_is_counted(usage: Any) -> None:
    found = Usage.of(usage)
    assert found.requests == 1
    assert found.total_tokens >= 0
