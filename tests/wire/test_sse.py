"""Server-sent events from bytes that may be cut anywhere."""

from __future__ import annotations

import itertools
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnkeeper.wire import sse
from turnkeeper.wire.received import MalformedReplyError
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


@pytest.mark.parametrize("mark", [b"\n\n", b"\r\r", b"\r\n\r\n"])
def test_the_last_event_is_given_as_soon_as_its_empty_line_is_there(mark: bytes) -> None:
    decoder = Decoder()
    assert decoder.feed(b"data: 1" + mark) == [ServerEvent("message", "1")]
    assert decoder.feed(b"") == []
    assert decoder.feed(b"data: 2" + mark) == [ServerEvent("message", "2")]


def test_a_large_event_in_small_pieces_takes_time_in_proportion() -> None:
    size, piece = 4 * 2**20, 1_024
    data = b"data: " + b"a" * size + b"\r\n\r\n"
    decoder = Decoder()
    began = time.perf_counter()
    found = [event for at in range(0, len(data), piece) for event in decoder.feed(data[at : at + piece])]
    assert [len(event.data) for event in found] == [size]
    assert time.perf_counter() - began < 3  # a few hundredths; with a copy per piece it took many times this


def test_an_event_without_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sse, "LARGEST_EVENT", 100)
    decoder = Decoder()
    assert decoder.feed(b"data: 1\n\n" * 50) == [ServerEvent("message", "1")] * 50
    assert decoder.feed(b"x" * 100) == []
    with pytest.raises(MalformedReplyError, match="larger than 100 bytes"):
        decoder.feed(b"x")
