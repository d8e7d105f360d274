"""Stream events to a reply: a fold over the events seen so far, whole or cut.

The order of events and the meaning of each delta: platform docs, build-with-claude/streaming; `lib/streaming` of the
official SDK. Unknown events and deltas are kept, never fatal.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from turnkeeper.wire.json import decode, encode, sendable
from turnkeeper.wire.reply import WireReply

__all__ = ("StreamEnd", "assemble")


@dataclass(frozen=True, slots=True)
class StreamEnd:
    """What a stream came to. `complete` is true only if `message_stop` arrived; `reply` holds what was received."""

    reply: WireReply
    complete: bool


class _Block:
    """One block under way: its start object, the pieces of its strings, the pieces of its input."""

    __slots__ = ("input", "pieces", "start")

    def __init__(self, start: dict[str, Any]) -> None:
        self.start = start
        self.pieces: dict[str, list[str]] = {}
        self.input: list[str] = []

    def add(self, delta: dict[str, Any]) -> None:
        for key, value in delta.items():
            if key == "type":
                continue
            if key == "partial_json":
                self.input.append(str(value))
            elif key == "citation":
                self.start["citations"] = [*(self.start.get("citations") or ()), value]
            elif isinstance(value, str):
                self.pieces.setdefault(key, []).append(value)
            else:
                self.start[key] = value

    def finished(self) -> tuple[str, str | None]:
        """The block's JSON text, and the raw input where it is not an object's text."""
        for key, parts in self.pieces.items():
            before = self.start.get(key)
            self.start[key] = (before if isinstance(before, str) else "") + "".join(parts)
        raw = "".join(self.input)
        if not raw.strip():
            given = self.start.get("input")
            if self.start.get("type") == "tool_use" and not isinstance(given, dict):
                self.start["input"] = {}
            return encode(self.start), None
        try:
            valid = isinstance(decode(raw), dict)
        except ValueError:
            valid = False
        if not valid:
            return encode({**self.start, "input": {"INVALID_JSON": raw}}), raw
        # The model's own spelling of the input is kept: later requests must repeat it byte for byte.
        members = [f"{encode(key)}:{raw if key == 'input' else encode(value)}" for key, value in self.start.items()]
        if "input" not in self.start:
            members.append(f'"input":{raw}')
        return sendable("{" + ",".join(members) + "}"), None


class _Message:
    """The whole message under way."""

    def __init__(self) -> None:
        self.blocks: dict[int, _Block] = {}
        self.fields: dict[str, Any] = {}
        self.usage: dict[str, Any] = {}
        self.unknown: list[dict[str, Any]] = []
        self.stop_reason: str | None = None
        self.complete = False

    def take(self, event: dict[str, Any]) -> None:
        kind = event.get("type")
        if kind == "content_block_delta" and isinstance(event.get("delta"), dict):
            block = self.blocks.get(event.get("index", -1))
            if block is None:
                self.unknown.append(event)
            else:
                block.add(event["delta"])
        elif kind == "content_block_start" and isinstance(event.get("content_block"), dict):
            self.blocks[int(event.get("index", len(self.blocks)))] = _Block(dict(event["content_block"]))
        elif kind == "message_start":
            self._start(dict(event.get("message") or {}))
        elif kind == "message_delta":
            self._change(dict(event.get("delta") or {}), event.get("usage") or {})
        elif kind == "message_stop":
            self.complete = True
        elif kind not in ("content_block_stop", "ping"):
            self.unknown.append(event)

    def _start(self, message: dict[str, Any]) -> None:
        self.usage = dict(message.pop("usage", None) or {})
        message.pop("stop_reason", None)
        for index, given in enumerate(message.pop("content", None) or ()):
            if isinstance(given, dict):
                self.blocks[index] = _Block(dict(given))
        self.fields = message

    def _change(self, delta: dict[str, Any], usage: dict[str, Any]) -> None:
        given = delta.pop("stop_reason", None)
        self.stop_reason = given if isinstance(given, str) else self.stop_reason
        self.fields |= delta
        self.usage |= {key: value for key, value in usage.items() if value is not None}


def assemble(events: Sequence[dict[str, Any]], *, request_id: str | None = None) -> StreamEnd:
    """Fold decoded `data` objects into a reply. Counts of usage are cumulative: the last value given wins."""
    message = _Message()
    for event in events:
        message.take(event)
    if message.unknown:
        message.fields["unknown_events"] = message.unknown
    kept: list[str] = []
    invalid: dict[int, str] = {}
    for position, index in enumerate(sorted(message.blocks)):
        raw, problem = message.blocks[index].finished()
        kept.append(raw)
        if problem is not None:
            invalid[position] = problem
    reply = WireReply(
        blocks=tuple(kept),
        stop_reason=message.stop_reason,
        usage=message.usage,
        invalid_inputs=invalid,
        fields=message.fields,
        request_id=request_id,
    )
    return StreamEnd(reply, message.complete)
