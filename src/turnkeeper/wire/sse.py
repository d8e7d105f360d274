"""Bytes to server-sent events, incrementally, by the WHATWG event stream format."""

from __future__ import annotations

from dataclasses import dataclass

from turnkeeper.wire.received import MalformedReplyError

__all__ = ("LARGEST_EVENT", "Decoder", "ServerEvent")

LARGEST_EVENT = 64 * 2**20
"""Bytes that one event may have; an endpoint that sends more is not waited for."""


@dataclass(frozen=True, slots=True)
class ServerEvent:
    """One event: its name (`message` when the stream gave none) and its data, lines joined by a newline."""

    name: str
    data: str


class Decoder:
    """Feed it bytes as they come, cut anywhere; it gives the events that are whole.

    Bytes that are not UTF-8 become U+FFFD. An event without an empty line after it is never given: it was cut.
    """

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._after_return = False

    def feed(self, chunk: bytes) -> list[ServerEvent]:
        """The events completed by `chunk`, in order. Raises MalformedReplyError beyond LARGEST_EVENT."""
        if self._after_return and chunk:
            chunk = chunk.removeprefix(b"\n")  # it belongs to the return that ended the chunk before
            self._after_return = False
        if b"\r" in chunk:
            self._after_return = chunk.endswith(b"\r")
            chunk = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        buffer = self._buffer
        unseen = max(len(buffer) - 1, 0)
        buffer += chunk
        end = buffer.rfind(b"\n\n", unseen)
        if end < 0:
            if len(buffer) > LARGEST_EVENT:
                raise MalformedReplyError(f"an event of the stream is larger than {LARGEST_EVENT} bytes")
            return []
        head = bytes(buffer[:end])
        del buffer[: end + 2]
        return [event for part in head.split(b"\n\n") if (event := _event(part)) is not None]


def _event(part: bytes) -> ServerEvent | None:
    name = "message"
    data: list[str] = []
    for line in part.decode("utf-8", "replace").split("\n"):
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if field == "data":
            data.append(value)
        elif field == "event":
            name = value
    return ServerEvent(name, "\n".join(data)) if data else None
