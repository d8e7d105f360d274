"""One run: from where a front end wants to hear of a turn to where the turn ends or waits for a person.

The turn itself runs elsewhere and does not depend on anybody listening. Whoever comes back is told the turn from its
beginning, under the same ids.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from turnkeeper.core.events import Event
from turnkeeper.web.service import CaughtUp, Durable, Item, Service
from turnkeeper.web.standard.history import History, Message
from turnkeeper.web.standard.parts import Began, Ended, Fold, GoesOn, Parked, Part, Waiting

__all__ = ("WITH_STAFF", "Encoder", "Known", "Target", "follow", "known")

WITH_STAFF = "with_staff"
"""The status of a run whose message a member of staff will answer."""

E_co = TypeVar("E_co", covariant=True)
E = TypeVar("E")


class Encoder(Protocol[E_co]):
    """Puts parts into a protocol's words."""

    def part(self, part: Part, messages: Sequence[Message]) -> Sequence[E_co]:
        """What a part becomes; `messages` are the conversation's, that part included."""

    def closing(self, *, status: str, waiting: Sequence[Waiting] = ()) -> Sequence[E_co]:
        """The end of a run that is not the end of its own turn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The turn that a run is about: the one that began with event `turn`, else the one of the message `key`.

    Of it, what happened after event `after` is told.
    """

    turn: int | None
    key: str | None
    after: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What is known of a conversation before a run: its messages, its turns' numbers by key, who it waits for."""

    history: History
    fold: Fold
    turns: dict[str, int]
    last: int
    parked: int
    """The number of the event with which the last turn last began to wait for a person, 0 if it never did."""
    live: bool
    """A turn is under way: begun, neither over nor waiting for a person."""

    def until(self, turn: int) -> list[Message]:
        """The messages before that turn, and the one that began it."""
        earlier = [one for one in self.history.messages if one.turn < turn]
        return earlier + [one for one in self.history.messages if one.turn == turn and one.role == "user"]


def known(conversation: str, events: Sequence[Event], service: Service, *, calls: bool) -> Known:
    """What the journal's events say of the conversation."""
    fold, history = Fold(conversation, calls, service.make_filter), History()
    turns: dict[str, int] = {}
    parked, live = 0, False
    for seq, event in enumerate(events, 1):
        item: Item = Durable(seq, event)
        parts = fold.take(item)
        history.take(item, parts, fold)
        for part in parts:
            if isinstance(part, Began | GoesOn):
                live = True
            elif isinstance(part, Parked | Ended):
                live = False
            if isinstance(part, Began):
                parked = 0
                if part.key is not None:
                    turns[part.key] = seq
            elif isinstance(part, Parked):
                parked = seq
    return Known(history=history, fold=fold, turns=turns, last=len(events), parked=parked, live=live)


async def follow(
    service: Service, conversation: str, target: Target, encoder: Encoder[E], *, calls: bool
) -> AsyncGenerator[E]:
    """The target's turn in the encoder's words, as it happens, up to its end or to where it waits for a person."""
    run = _Following(conversation, target, Fold(conversation, calls, service.make_filter), encoder)
    async with aclosing(service.follow(conversation)) as items:
        async for item in items:
            for said in run.take(item):
                yield said
            if run.over:
                return


class _Following(Generic[E]):
    """The state of `follow`."""

    def __init__(self, conversation: str, target: Target, fold: Fold, encoder: Encoder[E]) -> None:
        self.over = False
        self._conversation = conversation
        self._target = target
        self._fold = fold
        self._history = History()
        self._encoder = encoder
        self._mine = False
        self._caught_up = False
        self._end: Parked | Ended | None = None  # of the turn that is at hand, unless it goes on

    def take(self, item: Item) -> list[E]:
        """The next item."""
        parts = self._fold.take(item)
        self._history.take(item, parts, self._fold)
        said: list[E] = []
        for part in parts:
            if isinstance(part, Began):
                if self._mine and self._end is not None:
                    return [*said, *self._finish(self._end)]
                self._mine, self._end = self._is_mine(part), None
            elif isinstance(part, Parked | Ended):
                self._end = part
            elif isinstance(part, GoesOn):
                self._end = None
            elif self._mine and self._fold.seq > self._target.after:
                said += self._encoder.part(part, self._history.messages)
        self._caught_up = self._caught_up or isinstance(item, CaughtUp)
        if self._caught_up:
            said += self._at_an_end()
        return said

    def _is_mine(self, part: Began) -> bool:
        if self._target.turn is not None:
            return self._fold.seq == self._target.turn
        return part.key is not None and part.key == self._target.key

    def _at_an_end(self) -> Sequence[E]:
        if self._mine:
            return self._finish(self._end) if self._end is not None else ()
        if isinstance(self._end, Parked):  # an earlier turn waits, and this message waits behind it
            self.over = True
            return self._encoder.closing(status=self._end.status, waiting=self._end.waiting)
        if self._fold.taken_over:
            self.over = True
            return self._encoder.closing(status=WITH_STAFF)
        return ()

    def _finish(self, end: Parked | Ended) -> Sequence[E]:
        self.over = True
        return self._encoder.part(end, self._history.messages)
