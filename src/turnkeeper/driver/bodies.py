"""Request bodies: what never changes is encoded once, the history is already encoded, the rest is a few bytes."""

from __future__ import annotations

import copy
import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from turnkeeper.core.caching import (
    Lifetime,
    Marks,
    Places,
    marked,
    own_marks,
    place_marks,
    spot,
)
from turnkeeper.core.estimating import Weight, weigh
from turnkeeper.core.history import History
from turnkeeper.errors import ConfigurationError
from turnkeeper.models import Model
from turnkeeper.wire.json import encode

__all__ = ("OWN_FIELDS", "Caching", "RequestBody", "caching_for")

OWN_FIELDS = frozenset({"model", "max_tokens", "stream", "tool_choice", "system", "tools", "messages"})
"""Fields that have an argument of their own and so can't come through `extra`."""


_NO_TOOL = {
    "name": "no_tool",
    "description": "No tool is available to the person you are talking with.",
    "input_schema": {"type": "object", "properties": {}},
}
"""Stands in where every tool is hidden though some were used before: the API wants tools then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Caching:
    """How prompts are cached: `lifetime` None chooses by the conversation's pace.

    `minimum` is the model's shortest cached prompt in tokens; `tail` says that requests go on from each other, so that
    the messages are worth writing.
    """

    lifetime: Lifetime | None = None
    minimum: int = 0
    tail: bool = True


_WORDS: Mapping[str, bool | Lifetime] = {
    "on": True,
    "true": True,
    "1": True,
    "off": False,
    "false": False,
    "0": False,
    "5m": "5m",
    "1h": "1h",
}


def caching_for(cache: Any, model: Model) -> Caching | None:
    """What the option `cache` means; None for no caching. Without one, models of the catalogue are cached.

    ConfigurationError for a value that is none of on, off, 5m and 1h.
    """
    if cache is None or cache == "auto":
        cache = model.known
    elif isinstance(cache, str):
        cache = _WORDS.get(cache.strip().lower())
    if cache is False:
        return None
    if cache is not True and cache not in ("5m", "1h"):
        raise ConfigurationError("cache is on, off, 5m or 1h (how long a prompt is kept), or auto")
    return Caching(lifetime=None if cache is True else cache, minimum=model.cache_minimum or 0)


class RequestBody:
    """The bytes of `POST /v1/messages`, for one agent.

    Members in order: what varies per request, then system, tools and extras as they were given, then the messages.
    Without `caching` the body holds no cache marks but the caller's own.
    """

    def __init__(
        self,
        *,
        model: str,
        system: Any,
        tools: list[dict[str, Any]],
        extra: Mapping[str, Any],
        stream: bool,
        caching: Caching | None = None,
    ) -> None:
        taken = sorted(OWN_FIELDS & set(extra))
        if taken:
            raise ConfigurationError(f"extra may not hold {taken[0]!r}; it has an argument of its own")
        self.extra = extra
        self._given = {"model": model, "system": system, "extra": extra, "stream": stream, "caching": caching}
        self._definitions = tools
        self._variants: dict[tuple[frozenset[str], bool], RequestBody] = {}
        self._no_choice = False
        blocks = [{"type": "text", "text": system}] if isinstance(system, str) else system or []
        try:
            self._plain_system = None if system is None else encode(system)
            self._system = [encode(block) for block in blocks]
            self._tools = [encode(tool) for tool in tools]
            self._extra = "".join(f",{encode(name)}:{encode(value)}" for name, value in extra.items())
        except (TypeError, ValueError) as error:
            raise ConfigurationError(f"system, tools and extra must be JSON values: {error}") from error
        self._model = encode(model)
        self._stream = ',"stream":true' if stream else ""
        self._caching = caching
        self._tool_spot = _tool_spot(tools)
        self._system_spot = spot(self._system)
        self._places = Places(
            tools=self._tool_spot is not None,
            system=self._system_spot is not None,
            own_tools=tuple(own_marks(tools)),
            own_system=tuple(own_marks(blocks)),
            automatic=next(own_marks({"cache_control": extra.get("cache_control")}), None),
        )
        self._fixed: dict[tuple[Lifetime | None, Lifetime | None], bytes] = {}
        self._size = sum(map(len, (*self._system, *self._tools)))

    def with_tools(self, tools: list[dict[str, Any]]) -> RequestBody:
        """The same with other tools."""
        return RequestBody(tools=tools, **self._given)

    @property
    def system(self) -> Any:
        """The system prompt as it was given."""
        return self._given["system"]

    def having(self, *, system: Any, tools: list[dict[str, Any]], extra: Mapping[str, Any]) -> RequestBody:
        """The same with another prompt, other tools and other extras."""
        made = RequestBody(tools=tools, **{**self._given, "system": system, "extra": extra})
        made._caching = self._caching
        return made

    def for_one_turn(self) -> RequestBody:
        """The same for a turn that no other follows; where no call is possible, its messages are not written."""
        if self._caching is None or self._tools:
            return self
        other = copy.copy(self)
        other._caching = replace(self._caching, tail=False)
        return other

    @functools.cached_property
    def setup(self) -> str:
        """What every request holds besides the messages, as JSON text: `{"system", "tools", "extra"}`."""
        extra = f"{{{self._extra[1:]}}}"
        return f'{{"system":{self._plain_system or "null"},"tools":[{",".join(self._tools)}],"extra":{extra}}}'

    @property
    def is_cached(self) -> bool:
        """Whether requests may write to the prompt cache."""
        return self._caching is not None

    @property
    def has_tools(self) -> bool:
        """Whether requests declare tools."""
        return bool(self._tools)

    @functools.cached_property
    def fixed_tokens(self) -> int:
        """The most tokens that tools and system may have."""
        return sum((weigh(raw) for raw in (*self._system, *self._tools)), Weight()).tokens(0)

    def without(self, hidden: frozenset[str], *, tools_used: bool) -> RequestBody:
        """The same with the tools of those names left out; `tools_used` says that the history holds calls."""
        if not hidden:
            return self
        found = self._variants.get((hidden, tools_used))
        if found is None:
            shown = [one for one in self._definitions if one.get("name") not in hidden]
            found = RequestBody(tools=shown or ([_NO_TOOL] if tools_used else []), **self._given)
            found._caching = self._caching
            found._no_choice = not shown
            self._variants[hidden, tools_used] = found
        return found

    def encode(
        self,
        history: History,
        *,
        max_tokens: int,
        tool_choice: dict[str, Any] | None,
        system_role: bool,
        member: str | None = None,
    ) -> bytes:
        """The body of the next request; `system_role` says that the model takes system messages among the others.

        `member` is one more of its members, as JSON text.
        """
        if self._no_choice:
            tool_choice = {"type": "none"} if self._tools else None
        choice = f',"tool_choice":{encode(tool_choice)}' if tool_choice else ""
        more = f",{member}" if member else ""
        head = f'{{"model":{self._model},"max_tokens":{max_tokens}{self._stream}{choice}{more}'
        marks = self._marks(history)
        if marks is None:
            messages = history.messages_json(system_role=system_role)
        else:
            messages = history.request_json(marks, system_role=system_role)
        return b"".join((head.encode(), self._fixed_part(marks or Marks()), b',"messages":[', messages, b"]}"))

    def _marks(self, history: History) -> Marks | None:
        caching = self._caching
        if caching is None:
            return None
        own = history.own_marks
        lifetime = caching.lifetime or ("1h" if history.far_apart else "5m")
        last, before = history.free_ends
        places = replace(self._places, own_messages=own, last=last, before=before)
        marks = place_marks(places, lifetime=lifetime, tail=caching.tail)
        # A token has a byte at least, so what has fewer bytes is too short for certain.
        if self._size < caching.minimum:
            marks = replace(marks, tools=None, system=None)
            if not own and self._size + history.size < caching.minimum:
                return None
        return marks

    def _fixed_part(self, marks: Marks) -> bytes:
        key = (marks.tools, marks.system)
        made = self._fixed.get(key)
        if made is None:
            system, tools = self._plain_system, list(self._tools)
            if marks.system is not None and self._system_spot is not None:
                blocks = _with_mark(self._system, self._system_spot, marks.system)
                system = f"[{','.join(blocks)}]"
            if marks.tools is not None and self._tool_spot is not None:
                tools = _with_mark(self._tools, self._tool_spot, marks.tools)
            parts = [self._extra]
            if system is not None:
                parts.append(f',"system":{system}')
            if tools:
                parts.append(f',"tools":[{",".join(tools)}]')
            made = self._fixed[key] = "".join(parts).encode()
        return made


def _with_mark(raws: Sequence[str], at: int, lifetime: Lifetime) -> list[str]:
    return [*raws[:at], marked(raws[at], lifetime), *raws[at + 1 :]]


def _tool_spot(tools: Sequence[Mapping[str, Any]]) -> int | None:
    """The last tool that is part of the prompt: one whose loading is deferred is not. None if it has a mark."""
    for index in range(len(tools) - 1, -1, -1):
        if tools[index].get("defer_loading") is not True:
            return None if "cache_control" in tools[index] else index
    return None
