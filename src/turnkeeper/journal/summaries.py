"""What a batch of events changes in a conversation's summary, so that listing never has to read events."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from turnkeeper.core.events import (
    ConversationStarted,
    Event,
    TurnEnded,
    TurnParked,
    TurnResumed,
    TurnStarted,
    TurnWoken,
)
from turnkeeper.journal.ids import storable
from turnkeeper.journal.port import Summary
from turnkeeper.journal.titles import title_of
from turnkeeper.types import Principal

__all__ = ("WAITING", "Change", "change_of", "summarised")

WAITING = frozenset({"awaiting_approval", "awaiting_resolution"})
"""Statuses of a turn that waits for a person."""
_MOVING = TurnStarted | TurnResumed | TurnParked | TurnWoken | TurnEnded


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """`principal` counts for the first events only; `title` where there is none yet; `status` if `moved`."""

    principal: Principal | None
    first_at: float
    last_at: float
    turns: int
    moved: bool
    status: str | None
    title: str


def change_of(events: Sequence[Event], *, titled: bool = False) -> Change:
    """Read the events' part of the summary; `titled` saves looking for a title. There is at least one event."""
    first = events[0]
    principal = first.principal if isinstance(first, ConversationStarted) else None
    last = next((e for e in reversed(events) if isinstance(e, _MOVING)), None)
    return Change(
        principal=Principal(**{name: storable(value) for name, value in principal.items()}) if principal else None,
        first_at=float(first.at),
        last_at=float(events[-1].at),
        turns=sum(isinstance(e, TurnStarted) for e in events),
        moved=last is not None,
        status=last.status if isinstance(last, TurnEnded | TurnParked) else None,
        title="" if titled else title_of(events),
    )


def summarised(conversation_id: str, before: Summary | None, events: Sequence[Event]) -> Summary:
    """The summary after the events; `before` is None for a conversation that had none."""
    change = change_of(events, titled=before is not None and bool(before.title))
    if before is None:
        return Summary(
            id=conversation_id,
            principal=change.principal,
            created_at=change.first_at,
            updated_at=change.last_at,
            events=len(events),
            turns=change.turns,
            status=change.status,
            title=change.title,
        )
    return Summary(
        id=conversation_id,
        principal=before.principal,
        created_at=before.created_at,
        updated_at=change.last_at,
        events=before.events + len(events),
        turns=before.turns + change.turns,
        status=change.status if change.moved else before.status,
        title=before.title or change.title,
    )
