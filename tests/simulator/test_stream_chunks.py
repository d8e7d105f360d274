"""How a stream is cut into deltas and bytes never changes what it says."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.simulator.asking import ask, parse_events
from turnkeeper.simulator.delivery import Pause, stream_steps
from turnkeeper.simulator.faults import StreamFault
from turnkeeper.simulator.stream import Event, events_of
from turnkeeper.testing import MessagesAPI, call, reply, script, text, thinking

TEXTS = st.text(st.characters(codec="utf-8"), max_size=60)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)
CHUNKS = st.none() | st.integers(1, 9)


def joined(found: list[Event], kind: str, member: str) -> str:
    return "".join(
        event.data["delta"][member]
        for event in found
        if event.data is not None and event.data.get("delta", {}).get("type") == kind
    )


@given(TEXTS, CHUNKS)
def test_the_deltas_of_a_text_join_to_the_text(words: str, chunk: int | None) -> None:
    found = list(events_of({"content": [{"type": "text", "text": words}]}, chunk=chunk))
    assert joined(found, "text_delta", "text") == words


@given(st.dictionaries(TEXTS, VALUES, max_size=4), CHUNKS)
def test_the_deltas_of_an_input_join_to_its_json(value: dict[str, Any], chunk: int | None) -> None:
    found = list(events_of({"content": [{"type": "tool_use", "name": "f", "input": value}]}, chunk=chunk))
    assert json.loads(joined(found, "input_json_delta", "partial_json") or "{}") == value


@given(TEXTS, st.integers(1, 50))
def test_chunks_of_bytes_join_to_the_same_stream(words: str, size: int) -> None:
    events = list(events_of({"content": [{"type": "text", "text": words}]}))
    whole = b"".join(event.encode() for event in events)
    steps = stream_steps(events, (), size)
    assert b"".join(step for step in steps if isinstance(step, bytes)) == whole
    assert all(isinstance(step, bytes) and 1 <= len(step) <= size for step in steps)


BLOCKS = st.lists(
    st.builds(text, TEXTS)
    | st.builds(thinking, TEXTS)
    | st.builds(call, st.sampled_from(["f", "g"]), st.dictionaries(TEXTS, VALUES, max_size=3))
    | st.just({"type": "redacted_thinking", "data": "abc"}),
    max_size=5,
)


@settings(max_examples=60, deadline=None)
@given(BLOCKS, st.sampled_from(["end_turn", "tool_use", "max_tokens", None]), CHUNKS, CHUNKS)
def test_the_sdk_reads_the_same_message_streamed_or_not(
    blocks: list[Any], reason: str | None, chunk: int | None, size: int | None
) -> None:
    request: Any = {"model": "claude-opus-5-5", "max_tokens": 9, "messages": [{"role": "user", "content": "?"}]}
    api = MessagesAPI(script(reply(*blocks, id="msg_1", stop_reason=reason), then="last"), chunk=chunk)
    spread = MessagesAPI(script(reply(*blocks, id="msg_1", stop_reason=reason)), chunk=chunk, bytes_per_chunk=size)
    whole = api.sync_client().messages.create(**request)
    with spread.sync_client().messages.stream(**request) as stream:
        streamed = stream.get_final_message()
    assert [block.to_dict() for block in streamed.content] == [block.to_dict() for block in whole.content]
    assert (streamed.stop_reason, streamed.usage.to_dict()) == (whole.stop_reason, whole.usage.to_dict())


def test_chunks_of_bytes_split_characters_and_events() -> None:
    api = MessagesAPI("🧡🧡", bytes_per_chunk=3)
    with api.sync_client().messages.with_streaming_response.create(
        model="claude-opus-5-5", max_tokens=9, messages=[{"role": "user", "content": "?"}], stream=True
    ) as response:
        chunks = list(response.http_response.iter_raw())
    assert {len(chunk) for chunk in chunks[:-1]} == {3}
    heart = "🧡".encode()
    assert not any(heart in chunk for chunk in chunks)
    assert b"".join(chunks).count(heart) == 2


def test_a_chunk_ends_where_a_pause_begins() -> None:
    events = list(events_of({"content": [{"type": "text", "text": "eins zwei"}]}))
    steps = stream_steps(events, (StreamFault(kind="slow", between=2.5),), 10_000)
    assert [step for step in steps if not isinstance(step, bytes)] == [Pause(2.5), Pause(2.5)]
    assert [type(step) for step in steps] == [bytes, Pause, bytes, Pause, bytes]


def test_the_api_s_chunk_and_the_reply_s_chunk() -> None:
    api = MessagesAPI(["abcdef", reply("abcdef", call("f", {"k": "v"}), chunk=4)], chunk=2)
    first, second = (parse_events(ask(api, stream=True).raw) for _ in range(2))
    assert [data["delta"].get("text") for name, data in first if name == "content_block_delta"] == ["ab", "cd", "ef"]
    assert [
        data["delta"].get("text", data["delta"].get("partial_json"))
        for name, data in second
        if name == "content_block_delta"
    ] == ["abcd", "ef", "", '{"k"', ':"v"', "}"]
