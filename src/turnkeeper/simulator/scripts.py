"""What the model answers, written down beforehand: a list of replies and faults, one per request.

An entry is a text, a block, a reply in the API's own format, a function from the request to an entry, or a fault.
Entries are checked when the script is made, so that a mistake names its place (`replies[2].content[0]`) before any
request.
"""

from __future__ import annotations

import difflib
import inspect
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from turnkeeper.errors import InputError
from turnkeeper.simulator.faults import ConnectionFault, HTTPFault, Spoiled, StreamFault

__all__ = ("Entry", "Script", "ScriptExhaustedError", "ScriptedReply", "read_entry")

REPLY_FIELDS = frozenset(
    {
        "id",
        "type",
        "role",
        "model",
        "content",
        "stop_reason",
        "stop_sequence",
        "stop_details",
        "usage",
        "container",
        "context_management",
        "diagnostics",
        "input_transformations",
    }
)
"""Fields of a reply that the API knows; everything else goes under `extra`."""
OWN_FIELDS = frozenset({"extra", "start_usage", "delta_usage", "events", "chunk"})
"""Fields that steer the delivery and aren't sent."""
NEEDS_NAME = frozenset({"tool_use", "server_tool_use", "mcp_tool_use"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptedReply:
    """One reply as a script states it; what it leaves open (ids, signatures, usage) is filled in when it is sent.

    `fields` are top-level fields sent as given, `extra` is laid over them last. `start_usage` and `delta_usage`
    replace the usage of `message_start` and `message_delta`; `events` replaces the whole event stream; `chunk` is
    the number of characters in a delta.
    """

    fields: Mapping[str, Any]
    extra: Mapping[str, Any] = field(default_factory=dict)
    start_usage: Mapping[str, Any] | None = None
    delta_usage: Mapping[str, Any] | None = None
    events: Sequence[Any] | None = None
    chunk: int | None = None
    faults: tuple[StreamFault, ...] = ()


Entry: TypeAlias = ScriptedReply | HTTPFault | ConnectionFault
"""What one request is answered with."""


class ScriptExhaustedError(Exception):
    """A request came after the last entry of the script."""


class Script:
    """Entries for the requests to come, in order; thread-safe. Make one with `turnkeeper.testing.script(...)`.

    `then` says what follows the last entry: `refuse` (a 400 that says so), `repeat` (start again) or `last` (give
    the last entry for ever).
    """

    def __init__(self, entries: Sequence[Any], *, then: Literal["refuse", "repeat", "last"] = "refuse") -> None:
        if then not in ("refuse", "repeat", "last"):
            raise InputError(f"then: {then!r} is none of refuse, repeat, last")
        if then != "refuse" and not entries:
            raise InputError(f"replies: then={then!r} needs at least one reply")
        self._entries: tuple[Entry | Callable[..., Any], ...] = tuple(
            entry if callable(entry) else read_entry(entry, f"replies[{i}]") for i, entry in enumerate(entries)
        )
        self._then = then
        self._taken = 0
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def left(self) -> int:
        """How many entries no request has taken yet."""
        return max(len(self._entries) - self._taken, 0)

    async def answer(self, request: dict[str, Any], *, keep: bool = False) -> Entry:
        """The entry for this request; with `keep` the next request gets it as well. Raises ScriptExhaustedError."""
        with self._lock:
            place = self._place()
            entry = self._entries[place]
            if not keep:
                self._taken += 1
        if not callable(entry):
            return entry
        made = entry(request)
        if inspect.isawaitable(made):
            made = await made
        return read_entry(made, f"replies[{place}] (returned by {getattr(entry, '__name__', entry)})")

    def _place(self) -> int:
        if self._taken < len(self._entries):
            return self._taken
        if self._then == "repeat":
            return self._taken % len(self._entries)
        if self._then == "last":
            return len(self._entries) - 1
        raise ScriptExhaustedError


def read_entry(entry: Any, path: str) -> Entry:
    """Check one entry and bring it into one form. Raises InputError that says where the mistake is."""
    if isinstance(entry, (ScriptedReply, HTTPFault, ConnectionFault)):
        return entry
    if isinstance(entry, Spoiled):
        inner = read_entry(entry.reply, path)
        if not isinstance(inner, ScriptedReply):
            raise InputError(f"{path}: {entry.faults[0].kind} spoils a reply, not another fault")
        return ScriptedReply(**{**_parts(inner), "faults": (*inner.faults, *entry.faults)})
    if isinstance(entry, StreamFault):
        raise InputError(f"{path}: {entry.kind} needs the reply that it spoils, as in {entry.kind}(reply, …)")
    if isinstance(entry, str):
        return ScriptedReply(fields={"content": [{"type": "text", "text": entry}]})
    if isinstance(entry, Mapping):
        is_block = isinstance(entry.get("type"), str) and entry["type"] != "message"
        return _read_reply({"content": [entry]} if is_block else entry, path)
    raise InputError(
        f"{path}: expected a text, a reply, a function or a fault, found {type(entry).__name__}: {entry!r:.80}"
    )


def _parts(reply: ScriptedReply) -> dict[str, Any]:
    return {name: getattr(reply, name) for name in ScriptedReply.__slots__}


def _read_reply(entry: Mapping[str, Any], path: str) -> ScriptedReply:
    for key in entry:
        if key not in REPLY_FIELDS | OWN_FIELDS:
            close = difflib.get_close_matches(str(key), sorted(REPLY_FIELDS | OWN_FIELDS), n=1)
            hint = f"; did you mean {close[0]!r}?" if close else ""
            raise InputError(f"{path}: unknown field {key!r}{hint} Fields the API doesn't know go under 'extra'.")
    fields = {key: value for key, value in entry.items() if key in REPLY_FIELDS}
    own: dict[str, Any] = {key: value for key, value in entry.items() if key in OWN_FIELDS}
    for key in ("extra", "start_usage", "delta_usage"):
        if not isinstance(own.get(key, {}), Mapping):
            raise InputError(f"{path}.{key}: expected an object, found {type(own[key]).__name__}")
    if not isinstance(own.get("events", []), list):
        raise InputError(f"{path}.events: expected a list of events, found {type(own['events']).__name__}")
    chunk = own.get("chunk")
    if chunk is not None and (not isinstance(chunk, int) or chunk < 1):
        raise InputError(f"{path}.chunk: expected a number of characters from 1 up, found {chunk!r}")
    fields["content"] = _read_content(fields.get("content", []), f"{path}.content")
    if not isinstance(fields.get("stop_reason", ""), (str, type(None))):
        raise InputError(f"{path}.stop_reason: expected a text or null, found {fields['stop_reason']!r}")
    if not isinstance(fields.get("usage", {}), (Mapping, type(None))):
        raise InputError(f"{path}.usage: expected an object or null, found {fields['usage']!r}")
    return ScriptedReply(fields=fields, **own)


def _read_content(content: Any, path: str) -> list[dict[str, Any]]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    if not isinstance(content, Sequence):
        raise InputError(f"{path}: expected a list of blocks or a text, found {type(content).__name__}")
    blocks = []
    for i, block in enumerate(content):
        where = f"{path}[{i}]"
        if not isinstance(block, Mapping):
            raise InputError(f"{where}: expected a block, found {type(block).__name__}: {block!r:.80}")
        if not isinstance(block.get("type"), str):
            raise InputError(f"{where}: a block needs a 'type', such as text or tool_use")
        if block["type"] in NEEDS_NAME and not isinstance(block.get("name"), str):
            raise InputError(f"{where}: a {block['type']} block needs the tool's 'name'")
        if not isinstance(block.get("raw_input", ""), str):
            raise InputError(f"{where}.raw_input: expected a text, found {type(block['raw_input']).__name__}")
        if block["type"] == "text" and not isinstance(block.get("text"), str):
            raise InputError(f"{where}: a text block needs its 'text'")
        blocks.append(dict(block))
    return blocks
