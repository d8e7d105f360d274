"""Amazon's binary event stream, in which Bedrock wraps the events of a streamed reply, to server-sent events.

A frame: its length and that of its headers (4 bytes each, big-endian), a checksum, the headers, the payload, a
checksum. The format: AWS SDK reference, "Event stream encoding"; what Bedrock puts in it:
InvokeModelWithResponseStream in its API reference.
"""

from __future__ import annotations

import base64
from typing import Any

from turnkeeper.wire.json import MOST_NESTED, decode, encode
from turnkeeper.wire.received import MalformedReplyError
from turnkeeper.wire.sse import LARGEST_EVENT, ServerEvent

__all__ = ("CONTENT_TYPE", "FrameDecoder")

CONTENT_TYPE = "application/vnd.amazon.eventstream"
_PRELUDE, _CHECKSUM = 12, 4
_SIZES = {0: 0, 1: 0, 2: 1, 3: 2, 4: 4, 5: 8, 8: 8, 9: 16}
"""Bytes of a header's value by its type; bytes and text begin with their own length."""
_BYTES, _TEXT = 6, 7
_KINDS = {
    "internalServerException": "api_error",
    "modelStreamErrorException": "api_error",
    "modelTimeoutException": "timeout_error",
    "serviceUnavailableException": "overloaded_error",
    "throttlingException": "rate_limit_error",
    "validationException": "invalid_request_error",
}
"""Bedrock's exceptions inside a stream, as the Messages API's error types."""


class FrameDecoder:
    """Feed it bytes as they come, cut anywhere; it gives the events of the frames that are whole.

    The checksums are not looked at: the connection is encrypted, and what is inside must be JSON.
    """

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, chunk: bytes) -> list[ServerEvent]:
        """The events completed by `chunk`, in order. Raises MalformedReplyError where the bytes are no frames."""
        buffer = self._buffer
        buffer += chunk
        events: list[ServerEvent] = []
        while len(buffer) >= _PRELUDE:
            size = int.from_bytes(buffer[:4])
            headers = int.from_bytes(buffer[4:8])
            if not _PRELUDE + headers + _CHECKSUM <= size <= LARGEST_EVENT:
                raise MalformedReplyError("the stream is not made of Amazon's event frames")
            if len(buffer) < size:
                break
            frame = bytes(buffer[:size])
            del buffer[:size]
            event = _event(_headers(frame[_PRELUDE : _PRELUDE + headers]), frame[_PRELUDE + headers : -_CHECKSUM])
            if event is not None:
                events.append(event)
        return events


def _event(headers: dict[str, str], payload: bytes) -> ServerEvent | None:
    kind = headers.get(":message-type", "event")
    if kind == "event":
        if headers.get(":event-type") != "chunk":
            return None
        try:
            text = base64.b64decode(_object(payload).get("bytes") or "", validate=True).decode("utf-8", "replace")
        except (ValueError, TypeError) as error:
            raise MalformedReplyError(f"a frame of the stream can't be read ({error})") from error
        return ServerEvent("message", text)
    error_type = headers.get(":exception-type") or headers.get(":error-code") or ""
    said = headers.get(":error-message") or _message(payload)
    envelope = {"type": _KINDS.get(error_type, error_type or "api_error"), "message": said}
    return ServerEvent("error", encode({"type": "error", "error": envelope}))


def _object(payload: bytes) -> dict[str, Any]:
    found = decode(payload.decode("utf-8", "replace"), most_nested=MOST_NESTED)
    if not isinstance(found, dict):
        raise TypeError("its payload is not an object")
    return found


def _message(payload: bytes) -> str | None:
    try:
        said = _object(payload).get("message")
    except (ValueError, TypeError):
        said = payload.decode("utf-8", "replace")
    return said if isinstance(said, str) and said else None


def _headers(raw: bytes) -> dict[str, str]:
    """The headers whose value is text; those of other types are passed over."""
    found: dict[str, str] = {}
    at = 0
    while at < len(raw):
        name = raw[at + 1 : at + 1 + raw[at]]
        at += 1 + raw[at]
        kind = raw[at] if at < len(raw) else -1
        at += 1
        size = _SIZES.get(kind)
        if kind in (_BYTES, _TEXT):
            size = int.from_bytes(raw[at : at + 2])
            at += 2
        if size is None or at + size > len(raw):
            raise MalformedReplyError("a frame of the stream has headers that can't be read")
        if kind == _TEXT:
            found[name.decode("utf-8", "replace")] = raw[at : at + size].decode("utf-8", "replace")
        at += size
    return found
