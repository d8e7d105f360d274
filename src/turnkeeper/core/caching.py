"""Where a request's cache marks stand: on tools, on system, and on the user messages that this request and the one
before end with. Pure: what is marked is the projection that goes out, never what the journal keeps.

A mark writes the prompt up to it; a later request reads it where one of its own marks stands on the same place, or at
most 19 blocks behind (platform.claude.com/docs/en/build-with-claude/prompt-caching). The mark on the message before
stands exactly where the last request wrote, so it is found however many blocks a reply and its results have. A mark is
no part of the prompt that is compared: moving it changes neither the cache's prefix nor what thinking is bound to.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from turnkeeper.wire.json import decode, encode, raw_elements, raw_members

__all__ = (
    "MOST_MARKS",
    "Lifetime",
    "Marks",
    "OwnMark",
    "Places",
    "mark_text",
    "marked",
    "marked_message",
    "own_marks",
    "place_marks",
    "spot",
    "without_marks",
)

MOST_MARKS = 4
"""How many marks the API takes, all of them together."""
Lifetime: TypeAlias = Literal["5m", "1h"]

_MEMBER = "cache_control"
_BEARERS = ("text", "tool_result", "image", "document", "search_result")
"""Types of a user's blocks that may bear a mark; of a type that this version does not know nothing is assumed."""


def mark_text(lifetime: Lifetime) -> str:
    """The member that marks a block, as JSON text; five minutes is the API's default and stands without a word."""
    ttl = "" if lifetime == "5m" else ',"ttl":"1h"'
    return f'"{_MEMBER}":{{"type":"ephemeral"{ttl}}}'


def marked(raw: str, lifetime: Lifetime) -> str:
    """A tool or block (the JSON text of an object that has members) with a mark as its last member."""
    return f"{raw.rstrip()[:-1]},{mark_text(lifetime)}}}"


def spot(blocks: Sequence[str]) -> int | None:
    """The place of the last block that may be marked; None if there is none, or the caller marked it already."""
    for index in range(len(blocks) - 1, -1, -1):
        raw = blocks[index]
        if raw.startswith('{"type":"tool_result"') and _MEMBER not in raw:
            return index
        block = decode(raw)
        if isinstance(block, dict) and _MEMBER in block:
            return None
        if isinstance(block, dict) and block.get("type") in _BEARERS and not _is_empty(block):
            return index
    return None


def _is_empty(block: dict[str, Any]) -> bool:
    return block["type"] == "text" and not str(block.get("text") or "").strip()


@dataclass(frozen=True, slots=True)
class OwnMark:
    """A mark that the caller set."""

    lifetime: Lifetime


def own_marks(value: Any) -> Iterator[OwnMark]:
    """The marks that the caller set, in the order in which the API reads them."""
    if isinstance(value, list):
        for one in value:
            yield from own_marks(one)
    elif isinstance(value, dict):
        yield from own_marks(value.get("content"))
        mark = value.get(_MEMBER)
        if isinstance(mark, dict):
            yield OwnMark("1h" if mark.get("ttl") == "1h" else "5m")


def without_marks(message: str) -> str:
    """A message (JSON text) with the caller's marks left out: those that came first give way where too many are set."""
    return encode(_bare(decode(message)))


def _bare(value: Any) -> Any:
    if isinstance(value, list):
        return [_bare(one) for one in value]
    if isinstance(value, dict):
        return {name: _bare(one) if name == "content" else one for name, one in value.items() if name != _MEMBER}
    return value


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """What could be marked and what the caller has marked, in the order in which the API reads it.

    `tools` and `system` say whether that part has a place for a mark, `last` and `before` whether the last user message
    and the one before it have. `own_…` are the caller's marks, `automatic` the one that the member `cache_control` of
    the request itself sets at the very end.
    """

    tools: bool
    system: bool
    last: bool = True
    before: bool = True
    own_tools: tuple[OwnMark, ...] = ()
    own_system: tuple[OwnMark, ...] = ()
    own_messages: tuple[OwnMark, ...] = ()
    automatic: OwnMark | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Marks:
    """The lifetime of each mark to be set; None: no mark there. `left_out` of the caller's own, the first ones, go."""

    tools: Lifetime | None = None
    system: Lifetime | None = None
    before: Lifetime | None = None
    last: Lifetime | None = None
    left_out: int = 0


def place_marks(places: Places, *, lifetime: Lifetime, tail: bool) -> Marks:
    """Four marks at the most. The caller's stay, ours give way, the one on the tools first.

    `tail` says whether a later request is expected to go on from this one; if not, the messages are not written.
    """
    fixed = len(places.own_tools) + len(places.own_system) + (places.automatic is not None)
    left_out = min(max(fixed + len(places.own_messages) - MOST_MARKS, 0), len(places.own_messages))
    kept = places.own_messages[left_out:]
    room = MOST_MARKS - fixed - len(kept)
    given: dict[str, Lifetime] = {}
    wanted = {
        "last": tail and places.last and places.automatic is None,
        "before": tail and places.before,
        "system": places.system,
        "tools": places.tools,
    }
    for name, is_free in wanted.items():
        if is_free and room > 0:
            given[name] = lifetime
            room -= 1
    order = _in_order(places, kept, given)
    return Marks(**{name: _fitting(name, order, lifetime) for name in given}, left_out=left_out)


_Row: TypeAlias = Sequence[tuple[str, Lifetime]]


def _in_order(places: Places, kept: Sequence[OwnMark], given: dict[str, Lifetime]) -> _Row:
    """All marks as the API reads them; ours by name, the caller's without."""
    row: list[tuple[str, Lifetime]] = []
    parts: tuple[tuple[Iterable[OwnMark], str], ...] = (
        (places.own_tools, "tools"),
        (places.own_system, "system"),
        (kept, "before"),
        (kept, "last"),  # the caller's in messages may stand on either side of ours
        ((places.automatic,) if places.automatic is not None else (), ""),
    )
    for own, name in parts:
        row.extend(("", one.lifetime) for one in own)
        if name in given:
            row.append((name, given[name]))
    return row


def _fitting(name: str, order: _Row, wanted: Lifetime) -> Lifetime:
    """The lifetime for a mark of ours: an hour may not come behind five minutes."""
    at = next(index for index, one in enumerate(order) if one[0] == name)
    if any(not whose and lifetime == "1h" for whose, lifetime in order[at + 1 :]):
        return "1h"
    if any(not whose and lifetime == "5m" for whose, lifetime in order[:at]):
        return "5m"
    return wanted


def marked_message(message: str, lifetime: Lifetime) -> str:
    """A whole user message (JSON text) with a mark on its last block; text alone is written as the block it stands for.

    It comes back as it is where no block can bear a mark.
    """
    members = raw_members(message)
    content = members.get("content", '""')
    blocks = raw_elements(content) if content.startswith("[") else [f'{{"type":"text","text":{content}}}']
    at = spot(blocks)
    if at is None:
        return message
    blocks[at] = marked(blocks[at], lifetime)
    return f'{{"role":{members["role"]},"content":[{",".join(blocks)}]}}'
