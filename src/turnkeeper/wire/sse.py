"""Bytes to server-sent events, incrementally, by the WHATWG event stream format."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ("Decoder", "ServerEvent")


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
        self._buffer = b""

    def feed(self, chunk: bytes) -> list[ServerEvent]:
        """The events completed by `chunk`, in order."""
        data = self._buffer + chunk
        held = b""
        if b"\r" in data:
            if data.endswith(b"\r"):  # the newline that belongs to it may be in the next chunk
                data, held = data[:-1], b"\r"
            data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        head, mark, rest = data.rpartition(b"\n\n")
        self._buffer = rest + held
        if not mark:
            return []
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
