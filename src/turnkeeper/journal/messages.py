"""The messages of one conversation that wait for their turn, in memory; and which keys the beginning of turns takes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from turnkeeper.core.events import Event, TurnStarted
from turnkeeper.journal.ids import is_key, storable
from turnkeeper.journal.port import Queued
from turnkeeper.types import Principal

__all__ = ("Messages", "keys_of")


def keys_of(events: Iterable[Event]) -> list[tuple[str, float]]:
    """The keys of the messages whose turns begin with these events, and when."""
    return [(e.key, e.at) for e in events if isinstance(e, TurnStarted) and e.key is not None and is_key(e.key)]


class Messages:
    """Those that wait, in order, and what is kept of all that ever came."""

    def __init__(self) -> None:
        self.waiting: dict[str, Queued] = {}
        self._kept: dict[str, Queued | None] = {}

    def __bool__(self) -> bool:
        return bool(self._kept)

    def knows(self, key: str) -> bool:
        """Whether a message of that key has come before."""
        return key in self._kept

    def add(self, message: Queued) -> None:
        """Put it last."""
        self._kept[message.key] = replace(message, content="")
        self.waiting[message.key] = message

    def remove(self, key: str) -> bool:
        """Take it out; its key stays. Whether it waited."""
        return self.waiting.pop(key, None) is not None

    def begin(self, events: Iterable[Event]) -> None:
        """Take out the messages whose turns begin with these events."""
        for key, _ in keys_of(events):
            self._kept.setdefault(key, None)
            self.remove(key)

    def find(self, key: str) -> Queued | None:
        """The one of that key, if it came as a message."""
        return self.waiting.get(key) or self._kept.get(key)

    @property
    def first_sender(self) -> Principal | None:
        """Who sent the first of those that wait and that somebody sent."""
        return next((one.principal for one in self.waiting.values() if one.principal is not None), None)

    def of(self, who: Principal) -> bool:
        """Whether some are or were that principal's."""
        senders = [one.principal for one in self._kept.values() if one is not None and one.principal is not None]
        return any((one.kind, one.id) == (storable(who.kind), storable(who.id)) for one in senders)
