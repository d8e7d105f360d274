"""A response on its way: status, headers, and a body in steps (bytes, pauses, a dropped connection).

Faults of a stream are applied here, to the list of events, in the order in which they were wrapped around the reply.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from turnkeeper.errors import InputError
from turnkeeper.simulator.encoding import dump
from turnkeeper.simulator.envelope import error_body
from turnkeeper.simulator.faults import StreamFault
from turnkeeper.simulator.stream import Event

__all__ = (
    "ConnectionDroppedError",
    "Delivery",
    "Drop",
    "Pause",
    "Sleep",
    "Step",
    "json_steps",
    "spoil_events",
    "spoil_message",
    "stream_steps",
)

Sleep: TypeAlias = Callable[[float], Awaitable[None]]
"""Waits a number of seconds; tests give one that doesn't really wait."""


@dataclass(frozen=True, slots=True)
class Pause:
    """Nothing is sent for so many seconds."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Drop:
    """The connection ends here, in the middle of the body."""


Step: TypeAlias = bytes | Pause | Drop


class ConnectionDroppedError(Exception):
    """The connection fails: `refused` or `reset` before a response, `cut` in the middle of one."""

    def __init__(self, how: Literal["refused", "reset", "cut"]) -> None:
        super().__init__(how)
        self.how = how


class Delivery:
    """Status and headers, and the body chunk by chunk; `on_end` hears once how it ended.

    The ends are `complete`, `cut` (by a fault) and `abandoned` (the client went away).
    """

    def __init__(
        self,
        status: int,
        headers: Sequence[tuple[str, str]],
        steps: Sequence[Step],
        *,
        on_end: Callable[[Literal["complete", "cut", "abandoned"]], None] | None = None,
    ) -> None:
        self.status = status
        self.headers = tuple(headers)
        self._steps = iter(steps)
        self._on_end = on_end

    async def next_chunk(self, sleep: Sleep) -> bytes | None:
        """The next bytes of the body, None at its end. Raises ConnectionDroppedError where a fault cuts it."""
        for step in self._steps:
            if isinstance(step, bytes):
                return step
            if isinstance(step, Drop):
                self._end("cut")
                raise ConnectionDroppedError("cut")
            await sleep(step.seconds)
        self._end("complete")
        return None

    def close(self) -> None:
        """The client takes no more; call it always, it does nothing after the end."""
        self._end("abandoned")

    def _end(self, how: Literal["complete", "cut", "abandoned"]) -> None:
        self._steps = iter(())
        told, self._on_end = self._on_end, None
        if told is not None:
            told(how)


def spoil_message(message: dict[str, Any], faults: Sequence[StreamFault]) -> dict[str, Any]:
    """The faults that change the message itself, streamed or not: `duplicate_ids` and `omit("usage")`."""
    for fault in faults:
        if fault.kind == "duplicate_ids" and isinstance(message.get("content"), list):
            calls = [block for block in message["content"] if block.get("type") == "tool_use"]
            content = [{**block, "id": calls[0]["id"]} if block in calls else block for block in message["content"]]
            message = {**message, "content": content}
        elif fault.kind == "omit" and fault.what == "usage":
            message = {key: value for key, value in message.items() if key != "usage"}
    return message


def spoil_events(events: Sequence[Event], faults: Sequence[StreamFault]) -> list[Event | Drop | None]:
    """Events with the faults applied; `Drop` cuts the connection, None ends the body properly."""
    row: list[Event | Drop | None] = list(events)
    for fault in faults:
        if fault.kind == "omit":
            row = [event for event in row if not (isinstance(event, Event) and event.name == fault.what)]
        elif fault.kind == "unknown_event":
            data = fault.data if isinstance(fault.data, Mapping) else {"value": fault.data}
            row.insert(fault.after or 0, Event(fault.what, data))
        elif fault.kind == "invalid_json":
            row.insert(fault.after or 0, Event("", raw='event: content_block_delta\ndata: {"type": "content_bl'))
        elif fault.kind == "done_line":
            row.append(Event("", raw="data: [DONE]"))
        elif fault.kind == "error_event":
            said = error_body(fault.type, fault.message).decode()
            row = [*row[: fault.after], Event("error", raw=f"event: error\ndata: {said}"), None]
        elif fault.kind == "cut" and fault.bytes_ is None:
            row = [*row[: _place(row, fault)], None if fault.clean else Drop()]
    return row


def stream_steps(
    events: Sequence[Event | Drop | None], faults: Sequence[StreamFault], bytes_per_chunk: int | None
) -> list[Step]:
    """The body of an event stream: one chunk per event, or `bytes_per_chunk` bytes whatever the events' borders."""
    between = max((fault.between for fault in faults), default=0.0)
    steps: list[Step] = []
    for event in events:
        if event is None:
            break
        if isinstance(event, Drop):
            steps.append(event)
            break
        if between and event.name == "content_block_delta":
            steps.append(Pause(between))
        steps.append(event.encode())
    return _rechunk(_cut_bytes(steps, faults), bytes_per_chunk)


def json_steps(
    message: Mapping[str, Any], faults: Sequence[StreamFault], bytes_per_chunk: int | None
) -> tuple[list[Step], bool]:
    """The body of a reply that isn't streamed, and whether it is whole."""
    body = dump(message)
    steps: list[Step] = [body]
    whole = True
    for fault in faults:
        if fault.kind == "invalid_json":
            steps, whole = [body[:-1]], False
        elif fault.kind == "cut":
            length = len(body) // 2 if fault.bytes_ is None else fault.bytes_
            steps, whole = [body[:length]], False
            if not fault.clean:
                steps.append(Drop())
    return _rechunk(steps, bytes_per_chunk), whole


def _place(row: Sequence[Event | Drop | None], fault: StreamFault) -> int:
    """How many events go out before a cut. Raises InputError when the reply doesn't have the place."""
    if fault.after is not None:
        return fault.after
    if fault.before is not None:
        for i, event in enumerate(row):
            if _name(event) == fault.before:
                return i
        raise InputError(f"cut: the stream has no event {fault.before!r}")
    for i, event in enumerate(row):
        if _name(event) == "content_block_start" and _is(event, fault.inside):
            index = _data(event).get("index")
            deltas = [
                place
                for place in range(i + 1, len(row))
                if _name(row[place]) == "content_block_delta" and _data(row[place]).get("index") == index
            ]
            # The first delta of a call is empty, so half of them, rounded up, holds something of it.
            return deltas[(len(deltas) + 1) // 2 - 1] + 1 if deltas else i + 1
    raise InputError(f"cut: the reply has no block {fault.inside!r}")


def _name(event: Event | Drop | None) -> str:
    return event.name if isinstance(event, Event) else ""


def _data(event: Event | Drop | None) -> Mapping[str, Any]:
    return event.data if isinstance(event, Event) and event.data is not None else {}


def _is(event: Event | Drop | None, inside: str | int | None) -> bool:
    data = _data(event)
    block = data.get("content_block")
    return data.get("index") == inside or (isinstance(block, Mapping) and block.get("type") == inside)


def _cut_bytes(steps: list[Step], faults: Sequence[StreamFault]) -> list[Step]:
    cuts = [fault for fault in faults if fault.kind == "cut" and fault.bytes_ is not None]
    if not cuts:
        return steps
    left = cuts[0].bytes_ or 0
    kept: list[Step] = []
    for step in steps:
        if isinstance(step, bytes):
            kept.append(step[:left])
            left -= len(step)
            if left <= 0:
                break
        else:
            kept.append(step)
    return kept if cuts[0].clean else [*kept, Drop()]


def _rechunk(steps: list[Step], size: int | None) -> list[Step]:
    if size is None:
        return [step for step in steps if step != b""]
    chunks: list[Step] = []
    waiting = b""
    for step in [*steps, Pause(0)]:
        if isinstance(step, bytes):
            waiting += step
            continue
        chunks += [waiting[i : i + size] for i in range(0, len(waiting), size)]
        waiting = b""
        chunks.append(step)
    return chunks[:-1]
