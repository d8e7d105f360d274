"""The journal in memory: for one-turn calls, for tests, and as the proof that the port is one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from turnkeeper.core.events import ConversationStarted, Event, TurnEnded, TurnStarted
from turnkeeper.errors import ConversationBusyError
from turnkeeper.journal.port import Lease, Summary
from turnkeeper.journal.titles import title_of
from turnkeeper.types import Principal

__all__ = ("MemoryJournal",)


@dataclass(slots=True)
class _Kept:
    events: list[Event] = field(default_factory=list)
    lease: Lease | None = None
    token: int = 0


class MemoryJournal:
    """Events in lists; gone when the process ends."""

    def __init__(self) -> None:
        self._kept: dict[str, _Kept] = {}

    async def append(
        self, conversation_id: str, events: Sequence[Event], *, after: int, token: int | None = None
    ) -> int:
        """See `Journal.append`."""
        kept = self._kept.setdefault(conversation_id, _Kept())
        if len(kept.events) != after or (token is not None and token != kept.token):
            raise ConversationBusyError(f"conversation {conversation_id!r} was moved on by another driver")
        kept.events.extend(events)
        return len(kept.events)

    async def read(self, conversation_id: str, *, after: int = 0) -> list[Event]:
        """See `Journal.read`."""
        kept = self._kept.get(conversation_id)
        return kept.events[after:] if kept else []

    async def conversations(
        self, *, principal: Principal | None = None, limit: int = 50, offset: int = 0
    ) -> list[Summary]:
        """See `Journal.conversations`."""
        found = [_summary(name, kept.events) for name, kept in self._kept.items() if kept.events]
        found = [one for one in found if principal is None or _same(one.principal, principal)]
        found.sort(key=lambda one: (one.updated_at, one.id), reverse=True)
        return found[offset : offset + limit]

    async def acquire(self, conversation_id: str, *, holder: str, seconds: float, now: float) -> Lease:
        """See `Journal.acquire`."""
        kept = self._kept.setdefault(conversation_id, _Kept())
        held = kept.lease
        if held is not None and held.expires_at > now and held.holder != holder:
            raise ConversationBusyError(
                f"conversation {conversation_id!r} is driven by {held.holder} since {held.since:.0f}"
            )
        mine = held is not None and held.holder == holder and held.expires_at > now
        kept.token += not mine
        since = held.since if mine and held is not None else now
        kept.lease = Lease(
            conversation_id=conversation_id, holder=holder, token=kept.token, since=since, expires_at=now + seconds
        )
        return kept.lease

    async def renew(self, lease: Lease, *, seconds: float, now: float) -> Lease:
        """See `Journal.renew`."""
        kept = self._kept.get(lease.conversation_id)
        if kept is None or kept.lease is None or kept.token != lease.token:
            raise ConversationBusyError(f"the lease on conversation {lease.conversation_id!r} was taken over")
        kept.lease = Lease(
            conversation_id=lease.conversation_id,
            holder=lease.holder,
            token=lease.token,
            since=lease.since,
            expires_at=now + seconds,
        )
        return kept.lease

    async def release(self, lease: Lease) -> None:
        """See `Journal.release`."""
        kept = self._kept.get(lease.conversation_id)
        if kept is not None and kept.lease is not None and kept.token == lease.token:
            kept.lease = None

    async def aclose(self) -> None:
        """Nothing is held open."""


def _same(found: Principal | None, wanted: Principal) -> bool:
    return found is not None and (found.kind, found.id) == (wanted.kind, wanted.id)


def _summary(name: str, events: Sequence[Event]) -> Summary:
    first = events[0]
    principal = first.principal if isinstance(first, ConversationStarted) else None
    last = next(
        (e for e in reversed(events) if isinstance(e, TurnStarted | TurnEnded) or e.type == "turn_resumed"), None
    )
    return Summary(
        id=name,
        principal=Principal(**principal) if principal else None,
        created_at=first.at,
        updated_at=events[-1].at,
        events=len(events),
        turns=sum(isinstance(e, TurnStarted) for e in events),
        status=last.status if isinstance(last, TurnEnded) else None,
        title=title_of(events),
    )
