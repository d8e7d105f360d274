"""What a journal is to the driver: an append-only list of events per conversation, and a lease on each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from turnkeeper.core.events import Event
from turnkeeper.types import Principal

__all__ = ("Journal", "Lease", "Summary")


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """One line of `turnkeeper list`. Times are seconds since 1970; `status` is the last turn's, None while it runs."""

    id: str
    principal: Principal | None
    created_at: float
    updated_at: float
    events: int
    turns: int
    status: str | None
    title: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """The right to drive one conversation until `expires_at`. `token` grows with each holder; appends carry it."""

    conversation_id: str
    holder: str
    token: int
    since: float
    expires_at: float


class Journal(Protocol):
    """The port. Three implementations, one contract suite.

    Events of a conversation are numbered 1, 2, 3 … without gaps. All methods are safe to call from any task; they
    raise JournalError (or a subclass) and leave the journal as it was when they can't do their work.
    """

    async def append(
        self, conversation_id: str, events: Sequence[Event], *, after: int, token: int | None = None
    ) -> int:
        """Write `events` behind number `after`, all or none, and make them durable; gives the new last number.

        ConversationBusyError if the conversation has moved on since (its last number isn't `after`), or if `token`
        is given and is not the current lease's.
        """
        ...

    async def read(self, conversation_id: str, *, after: int = 0) -> list[Event]:
        """The events behind number `after`, in order; an empty list for a conversation that isn't there."""
        ...

    async def conversations(
        self, *, principal: Principal | None = None, limit: int = 50, offset: int = 0
    ) -> list[Summary]:
        """What is there, the newest change first."""
        ...

    async def acquire(self, conversation_id: str, *, holder: str, seconds: float, now: float) -> Lease:
        """Take the lease, or extend one's own. ConversationBusyError says who holds it and since when."""
        ...

    async def renew(self, lease: Lease, *, seconds: float, now: float) -> Lease:
        """Hold on longer; ConversationBusyError if another has taken over."""
        ...

    async def release(self, lease: Lease) -> None:
        """Give the lease back; nothing happens if it is no longer held."""
        ...

    async def aclose(self) -> None:
        """Let go of connections and files."""
        ...
