"""Stream events to a reply, one after the other; what has come so far can be read at any time.

The order of events and the meaning of each delta: platform docs, build-with-claude/streaming; `lib/streaming` of the
official SDK. Unknown events and deltas are kept, never fatal. Known ones are read as compatible endpoints mean them;
where something would be lost, MalformedReplyError says what.
"""

from __future__ import annotations

from typing import Any

from turnkeeper.wire.blocks import CLIENT_CALL
from turnkeeper.wire.json import encode, fold_surrogates
from turnkeeper.wire.received import MalformedReplyError, keep_block, text_block
from turnkeeper.wire.reply import WireReply

__all__ = ("Assembly",)

_TEXTS = frozenset({"text", "thinking", "signature"})


class _Block:
    """One block under way: its start object, the pieces of its strings, the pieces of its input."""

    __slots__ = ("input", "pieces", "start")

    def __init__(self, start: dict[str, Any]) -> None:
        self.start = start
        self.pieces: dict[str, list[str]] = {}
        self.input: list[str] = []

    @property
    def is_call(self) -> bool:
        return self.start.get("type") == CLIENT_CALL

    def add(self, delta: dict[str, Any]) -> None:
        for key, value in delta.items():
            if key == "type" or value is None:
                continue
            if key == "partial_json":
                self._add_input(value)
            elif key == "citation":
                before = self.start.get("citations")
                self.start["citations"] = [*(before if isinstance(before, list) else ()), value]
            elif isinstance(value, str):
                self.pieces.setdefault(key, []).append(value)
            elif key in _TEXTS:
                raise MalformedReplyError(f"the {key} of a delta is not text")
            else:
                self.start[key] = value

    def _add_input(self, value: Any) -> None:
        if isinstance(value, dict):
            value = encode(value)  # some endpoints send the whole input, not its text
        if not isinstance(value, str):
            raise MalformedReplyError("the partial_json of a delta is not text")
        self.input.append(value)

    def kept(self, where: str) -> tuple[str, str | None]:
        block = dict(self.start)
        for key, parts in self.pieces.items():
            before = block.get(key)
            if before is not None and not isinstance(before, str):
                raise MalformedReplyError(f"the {key} of {where} is not text")
            block[key] = (before or "") + "".join(parts)
        return keep_block(block, where=where, input_text="".join(self.input))


class Assembly:
    """One streamed reply: `take` its events in order, then read `reply`.

    `begun` is true once an event was taken, `complete` once `message_stop` was. `usage` holds the counts so far: they
    are cumulative, the last value given wins.
    """

    def __init__(self) -> None:
        self.begun = False
        self.complete = False
        self._begun = False
        self.stop_reason: str | None = None
        self.usage: dict[str, Any] = {}
        self._fields: dict[str, Any] = {}
        self._unknown: list[dict[str, Any]] = []
        self._blocks: dict[int, _Block] = {}
        self._by_index: dict[int, _Block] = {}
        self._latest: _Block | None = None
        self._next_place = 0

    def take(self, event: dict[str, Any]) -> None:
        """One decoded `data` object. Raises MalformedReplyError for one that can't be read."""
        self.begun = True
        kind = event.get("type")
        if kind == "content_block_delta":
            if delta := _object(event, "delta"):
                block = self._block(_index(event))
                if block.is_call and self.stop_reason is not None:
                    raise MalformedReplyError("a call went on after the stop reason")
                block.add(delta)
        elif kind == "content_block_start":
            self._begin(_object(event, "content_block"), _index(event))
        elif kind == "message_start":
            self._start(_object(event, "message"))
            if self._begun:  # a proxy that began anew: what came before was abandoned
                raise MalformedReplyError("the stream began a second message")
            self._begun = True
        elif kind == "message_delta":
            self._change(_object(event, "delta"), event.get("usage"))
        elif kind == "message_stop":
            self.complete = True
        elif kind not in ("content_block_stop", "ping"):
            self._unknown.append(event)

    def reply(self, *, request_id: str | None = None) -> WireReply:
        """What has been received. Raises MalformedReplyError where a block of it can't be kept."""
        kept: list[str] = []
        invalid: dict[int, str] = {}
        for position, place in enumerate(sorted(self._blocks)):
            text, problem = self._blocks[place].kept(f"content.{position}")
            kept.append(text)
            if problem is not None:
                invalid[position] = problem
        unknown = {"unknown_events": list(self._unknown)} if self._unknown else {}
        return WireReply(
            blocks=tuple(kept),
            stop_reason=self.stop_reason,
            usage=dict(self.usage),
            invalid_inputs=invalid,
            fields=self._fields | unknown,
            request_id=request_id,
        )

    def _block(self, index: int | None) -> _Block:
        """The block that a delta belongs to; without an index it is the one under way."""
        found = self._latest if index is None else self._by_index.get(index)
        if found is None:
            raise MalformedReplyError("a delta came for a block that has not begun")
        return found

    def _begin(self, block: dict[str, Any], index: int | None) -> None:
        """Without an index, or with one that was there before, it is the next block: none is ever overwritten.

        For calls such a stream is refused: nobody can say which of them the deltas of that index were for.
        """
        earlier = self._by_index.get(index) if index is not None else None
        if block.get("type") == CLIENT_CALL or (earlier is not None and earlier.is_call):
            if earlier is not None:
                raise MalformedReplyError(f"block {index} began twice, and it is a call")
            if self.stop_reason is not None:
                raise MalformedReplyError("a call came after the stop reason")
        place = self._next_place if index is None or index in self._blocks else index
        self._next_place = max(self._next_place, place + 1)
        self._latest = self._blocks[place] = self._by_index[place] = _Block(block)
        if index is not None:
            self._by_index[index] = self._latest

    def _start(self, message: dict[str, Any]) -> None:
        usage = message.pop("usage", None)
        self.usage |= usage if isinstance(usage, dict) else {}
        message.pop("stop_reason", None)
        content = message.pop("content", None)
        if isinstance(content, str):
            content = [text_block(content)] if content else []
        if not isinstance(content, list | None) or not all(isinstance(given, dict) for given in content or ()):
            raise MalformedReplyError("the content of the message that starts is not a list of objects")
        for given in content or ():
            self._begin(dict(given), None)
        self._fields |= message

    def _change(self, delta: dict[str, Any], usage: Any) -> None:
        given = delta.pop("stop_reason", None)
        if isinstance(given, str):
            given = fold_surrogates(given)
            if self.stop_reason not in (None, given):
                raise MalformedReplyError(f"the stop reason {self.stop_reason[:40]!r} was changed to {given[:40]!r}")
            self.stop_reason = given
        self._fields |= delta
        if isinstance(usage, dict):
            self.usage |= {key: value for key, value in usage.items() if value is not None}


def _object(event: dict[str, Any], key: str) -> dict[str, Any]:
    """A member that should be an object, as a copy; null and absent count as empty."""
    given = event.get(key)
    if given is None:
        return {}
    if not isinstance(given, dict):
        raise MalformedReplyError(f"the {key} of an event is not an object")
    return dict(given)


def _index(event: dict[str, Any]) -> int | None:
    given = event.get("index")
    if isinstance(given, str) and given.isascii() and given.isdigit() and len(given) < 10:
        given = int(given)
    if given is None or (isinstance(given, int) and not isinstance(given, bool) and given >= 0):
        return given
    raise MalformedReplyError("the index of an event is not a number")
