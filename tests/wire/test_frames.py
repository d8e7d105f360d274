"""Amazon's binary frames around the events of a stream."""

from __future__ import annotations

import base64
import itertools
import json
import zlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnkeeper.wire.frames import FrameDecoder
from turnkeeper.wire.received import MalformedReplyError
from turnkeeper.wire.sse import ServerEvent


def header(name: str, value: str) -> bytes:
    return bytes([len(name)]) + name.encode() + b"\x07" + len(value).to_bytes(2) + value.encode()


def frame(payload: bytes, *headers: bytes) -> bytes:
    head = b"".join(headers)
    prelude = (12 + len(head) + len(payload) + 4).to_bytes(4) + len(head).to_bytes(4)
    whole = prelude + zlib.crc32(prelude).to_bytes(4) + head + payload
    return whole + zlib.crc32(whole).to_bytes(4)


def chunk(data: Any) -> bytes:
    payload = {"bytes": base64.b64encode(json.dumps(data, ensure_ascii=False).encode()).decode(), "p": "abcdef"}
    head = header(":event-type", "chunk"), header(":content-type", "application/json"), header(":message-type", "event")
    return frame(json.dumps(payload).encode(), *head)


def exception(kind: str, payload: bytes) -> bytes:
    return frame(payload, header(":exception-type", kind), header(":message-type", "exception"))


STREAM = chunk({"type": "message_start"}) + chunk({"text": "Привет 🙂"}) + chunk({"type": "message_stop"})
EVENTS = [
    ServerEvent("message", '{"type": "message_start"}'),
    ServerEvent("message", '{"text": "Привет 🙂"}'),
    ServerEvent("message", '{"type": "message_stop"}'),
]


@given(st.lists(st.integers(0, len(STREAM)), max_size=12))
def test_where_the_bytes_are_cut_makes_no_difference(cuts: list[int]) -> None:
    decoder = FrameDecoder()
    edges = [0, *sorted(cuts), len(STREAM)]
    found = [event for start, end in itertools.pairwise(edges) for event in decoder.feed(STREAM[start:end])]
    assert found == EVENTS


def test_a_frame_that_is_not_whole_is_not_given() -> None:
    assert FrameDecoder().feed(STREAM[:-1]) == EVENTS[:2]


@pytest.mark.parametrize(
    ("raw", "kind", "said"),
    [
        (exception("throttlingException", b'{"message":"Too many"}'), "rate_limit_error", "Too many"),
        (exception("validationException", b'{"message":"Bad"}'), "invalid_request_error", "Bad"),
        (exception("internalServerException", b"oh"), "api_error", "oh"),
        (exception("modelTimeoutException", b""), "timeout_error", None),
        (exception("somethingNewException", b'{"message":5}'), "somethingNewException", None),
        (
            frame(
                b"", header(":message-type", "error"), header(":error-code", "Code"), header(":error-message", "Text")
            ),
            "Code",
            "Text",
        ),
    ],
)
def test_exceptions_are_error_events_under_the_names_of_the_api(raw: bytes, kind: str, said: str | None) -> None:
    (event,) = FrameDecoder().feed(raw)
    assert event.name == "error"
    assert json.loads(event.data) == {"type": "error", "error": {"type": kind, "message": said}}


def test_headers_of_every_type_are_passed_over_and_so_are_frames_that_are_no_chunks() -> None:
    others = [
        b"\x01a\x00",
        b"\x01b\x01",
        b"\x01c\x02\xff",
        b"\x01d\x03\0\0",
        b"\x01e\x04" + bytes(4),
        b"\x01f\x05" + bytes(8),
        b"\x01g\x06\0\x03xyz",
        b"\x01h\x08" + bytes(8),
        b"\x01i\x09" + bytes(16),
    ]
    payload = b'{"bytes":"e30="}'
    assert FrameDecoder().feed(frame(payload, *others, header(":event-type", "chunk"))) == [
        ServerEvent("message", "{}")
    ]
    assert FrameDecoder().feed(frame(payload, header(":event-type", "initial-response"))) == []


@pytest.mark.parametrize(
    "raw",
    [
        b"event: message_start\ndata: {}\n\n",
        bytes(12),
        b"\x7f\xff\xff\xff" + bytes(8),
        (20).to_bytes(4) + (50).to_bytes(4) + bytes(12),
        frame(b"", b"\x09abc"),
        frame(b"", b"\x01a\x0b"),
        frame(b"", b"\x01a\x07\xff\xff"),
        frame(b"", b"\x01a"),
        frame(b"no json", header(":event-type", "chunk")),
        frame(b"[]", header(":event-type", "chunk")),
        frame(b'{"bytes":5}', header(":event-type", "chunk")),
        frame(b'{"bytes":"*"}', header(":event-type", "chunk")),
        frame(b"[" * 5_000, header(":event-type", "chunk")),
    ],
)
def test_bytes_that_are_no_frames_are_refused(raw: bytes) -> None:
    with pytest.raises(MalformedReplyError):
        FrameDecoder().feed(raw)


@given(st.binary(max_size=80))
def test_any_bytes_are_refused_or_wait_for_more(raw: bytes) -> None:
    try:
        FrameDecoder().feed(raw)
    except MalformedReplyError:
        return


@given(st.binary(max_size=40), st.binary(max_size=40))
def test_any_frame_is_read_or_refused(payload: bytes, head: bytes) -> None:
    try:
        FrameDecoder().feed(frame(payload, head))
    except MalformedReplyError:
        return
