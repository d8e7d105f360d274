"""How much one address or one principal may ask for: token buckets, in bounded memory."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

__all__ = ("Buckets", "Rates", "Slots")

_MOST = 20_000
"""How many buckets are remembered; the one not asked for longest is forgotten first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """Limits of the web door. Per minute, where not said otherwise; a burst of a quarter of that comes on top.

    `messages` by one principal; `posts` by one address (anything that changes something); `reads` by one address;
    `logins` tried by one address or for one name; `streams_per_principal` and `streams_per_address` count event
    streams that are open at the same time. `body` is the largest body of a request in bytes, `text` the longest
    message in characters.
    """

    messages: float = 30
    posts: float = 240
    reads: float = 1_200
    logins: float = 20
    sessions: float = 120
    streams_per_principal: int = 12
    streams_per_address: int = 200
    body: int = 256 * 1024
    text: int = 20_000


class Buckets:
    """Token buckets of one kind, one for each key."""

    def __init__(self, per_minute: float, clock: Callable[[], float]) -> None:
        self._rate = per_minute / 60
        self._room = max(per_minute / 4, 1.0)
        self._clock = clock
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, key: str) -> float:
        """Take one; 0.0 if there was one, else the seconds until there is."""
        now = self._clock()
        left, at = self._left.pop(key, (self._room, now))
        left = min(self._room, left + max(now - at, 0.0) * self._rate)
        wait = 0.0 if left >= 1 else (1 - left) / self._rate if self._rate else math.inf
        self._left[key] = (left - 1 if not wait else left, now)
        while len(self._left) > _MOST:
            self._left.popitem(last=False)
        return wait


class Slots:
    """How many things of one key are open at the same time."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._open: dict[str, int] = {}

    def take(self, key: str) -> bool:
        """Open one; False if that would be too many."""
        held = self._open.get(key, 0)
        if held >= self._most:
            return False
        self._open[key] = held + 1
        return True

    def is_full(self, key: str) -> bool:
        """Whether `take` would refuse."""
        return self._open.get(key, 0) >= self._most

    def give_back(self, key: str) -> None:
        """Close one."""
        held = self._open.get(key, 0) - 1
        if held > 0:
            self._open[key] = held
        else:
            self._open.pop(key, None)
