"""Server-sent events from bytes that may be cut anywhere."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from turnkeeper.wire.sse import Decoder, ServerEvent

STREAM = (
    "event: message_start\ndata: {}\n\n"
    ": a comment\n\n"
    'event: ping\r\ndata: {"type": "ping"}\r\n\r\n'
    "data: one\ndata: two\n\n"
    "event: x\rdata:Привет 🙂\r\r"
    "id: 7\nretry: 5\ndata:  two spaces\n\n"
).encode()
EVENTS = [
    ServerEvent("message_start", "{}"),
    ServerEvent("ping", '{"type": "ping"}'),
    ServerEvent("message", "one\ntwo"),
    ServerEvent("x", "Привет 🙂"),
    ServerEvent("message", " two spaces"),
]


def test_a_whole_stream_gives_its_events() -> None:
    decoder = Decoder()
    assert decoder.feed(STREAM) == EVENTS


@given(st.lists(st.integers(0, len(STREAM)), max_size=12))
def test_where_the_bytes_are_cut_makes_no_difference(cuts: list[int]) -> None:
    decoder = Decoder()
    edges = [0, *sorted(cuts), len(STREAM)]
    found = [event for start, end in itertools.pairwise(edges) for event in decoder.feed(STREAM[start:end])]
    assert found == EVENTS


def test_an_event_without_its_empty_line_was_cut_and_is_not_given() -> None:
    decoder = Decoder()
    assert decoder.feed(b"event: message_stop\ndata: {}\n") == []


def test_bytes_that_are_no_text_become_the_replacement_character() -> None:
    assert Decoder().feed(b"data: \xff\n\n") == [ServerEvent("message", "\ufffd")]
