"""A message as the events of a stream, in the documented order.

`message_start`, then per block `content_block_start`, deltas, `content_block_stop`, then `message_delta` and
`message_stop`; one `ping` after the first block has started. Calls begin with `input: {}` and an empty
`partial_json`; thinking ends with one `signature_delta`; blocks of other types stand whole in their start event.
Source: platform.claude.com/docs/en/build-with-claude/streaming.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from turnkeeper.simulator.encoding import dump, dump_text
from turnkeeper.simulator.replies import raw_input

__all__ = ("Event", "events_of", "scripted_events")

WORDS = re.compile(r"\S+\s*|\s+")


@dataclass(frozen=True, slots=True)
class Event:
    """One server-sent event. `data` is the value of its data line; `raw` is text that is sent instead, as it is."""

    name: str
    data: Mapping[str, Any] | None = None
    raw: str | None = None

    def encode(self) -> bytes:
        """The event's bytes, blank line included."""
        if self.raw is not None:
            return self.raw.encode("utf-8", "surrogatepass") + (b"" if self.raw.endswith("\n\n") else b"\n\n")
        return b"event: " + self.name.encode() + b"\ndata: " + dump(self.data) + b"\n\n"


def events_of(
    message: Mapping[str, Any],
    *,
    chunk: int | None = None,
    start_usage: Mapping[str, Any] | None = None,
    delta_usage: Mapping[str, Any] | None = None,
) -> Iterator[Event]:
    """The events of one message. `chunk` is the number of characters in a delta; None splits at words and fields."""
    yield _event("message_start", message=_start(message, start_usage))
    content = message.get("content")
    blocks = content if isinstance(content, list) else []
    if not blocks:
        yield _event("ping")
    for index, block in enumerate(blocks):
        start, deltas = _block(block, chunk)
        yield _event("content_block_start", index=index, content_block=start)
        if index == 0:
            yield _event("ping")
        for delta in deltas:
            yield _event("content_block_delta", index=index, delta=delta)
        yield _event("content_block_stop", index=index)
    delta = {"stop_reason": message.get("stop_reason"), "stop_sequence": message.get("stop_sequence")}
    delta |= {key: message[key] for key in ("stop_details", "container") if key in message}
    usage = _delta_usage(message) if delta_usage is None else delta_usage
    yield _event("message_delta", delta=delta, **({} if usage is None else {"usage": usage}))
    yield _event("message_stop")


def scripted_events(events: Sequence[Any]) -> list[Event]:
    """Events that a script wrote out: objects (the name is their `type`), or text that is sent as it is."""
    return [
        Event("", raw=event) if isinstance(event, str) else Event(str(event.get("type")), data=event)
        for event in events
    ]


def _event(name: str, **fields: Any) -> Event:
    return Event(name, {"type": name, **fields})


def _start(message: Mapping[str, Any], start_usage: Mapping[str, Any] | None) -> dict[str, Any]:
    start = {**message, "content": [], "stop_reason": None, "stop_sequence": None}
    if start_usage is not None:
        start["usage"] = start_usage
    elif isinstance(message.get("usage"), Mapping):
        usage = {key: value for key, value in message["usage"].items() if key != "output_tokens_details"}
        if isinstance(usage.get("output_tokens"), int):
            usage["output_tokens"] = min(usage["output_tokens"], 1)
        start["usage"] = usage
    start.pop("stop_details", None)
    return start


def _delta_usage(message: Mapping[str, Any]) -> Any:
    """Cumulative counts; the parts that can't change any more are left out."""
    usage = message.get("usage")
    if not isinstance(usage, Mapping):
        return usage
    return {key: value for key, value in usage.items() if key not in ("cache_creation", "service_tier")}


def _block(block: Any, chunk: int | None) -> tuple[Any, list[dict[str, Any]]]:
    """A block's start (with placeholders) and its deltas."""
    kind = block.get("type") if isinstance(block, Mapping) else None
    if kind == "text":
        return _text_block(block, chunk)
    if kind == "thinking":
        thinking = str(block.get("thinking", ""))
        deltas = [{"type": "thinking_delta", "thinking": piece} for piece in _pieces(thinking, chunk)]
        deltas.append({"type": "signature_delta", "signature": block.get("signature")})
        return {**block, "thinking": "", "signature": ""}, deltas
    if kind in ("tool_use", "server_tool_use", "mcp_tool_use"):
        start = {key: ({} if key == "input" else value) for key, value in block.items() if key != "raw_input"}
        pieces = ["", *_input_pieces(block, chunk)]
        return start, [{"type": "input_json_delta", "partial_json": piece} for piece in pieces]
    if kind == "compaction":
        changing = {key: block[key] for key in ("content", "encrypted_content") if key in block}
        return {**block, **dict.fromkeys(changing)}, [{"type": "compaction_delta", **changing}]
    return block, []


def _text_block(block: Mapping[str, Any], chunk: int | None) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    deltas: list[dict[str, Any]] = [
        {"type": "text_delta", "text": piece} for piece in _pieces(str(block.get("text", "")), chunk)
    ]
    start = {**block, "text": ""}
    citations = block.get("citations")
    if isinstance(citations, list):
        start["citations"] = []
        deltas += [{"type": "citations_delta", "citation": citation} for citation in citations]
    return start, deltas


def _pieces(text: str, chunk: int | None) -> list[str]:
    if chunk is None:
        return WORDS.findall(text)
    return [text[i : i + chunk] for i in range(0, len(text), chunk)]


def _input_pieces(block: Mapping[str, Any], chunk: int | None) -> list[str]:
    """The API sends one complete key and value at a time; raw input is cut every seven characters."""
    value = block.get("input")
    if "raw_input" in block or chunk is not None or not isinstance(value, Mapping):
        return _pieces(raw_input(block), chunk or 7)
    if not value:
        return []
    fields = [f"{dump_text(key)}:{dump_text(field)}" for key, field in value.items()]
    return ["{" + fields[0], *("," + field for field in fields[1:]), "}"]
