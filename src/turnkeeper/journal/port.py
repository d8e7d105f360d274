"""What a journal is to the driver: an append-only list of events per conversation, and a lease on each."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, Protocol

from turnkeeper.core.events import Event
from turnkeeper.journal.accounts import Account, Held
from turnkeeper.types import Principal

__all__ = ("Erasure", "Journal", "Lease", "Problem", "Queued", "Summary", "Transaction")


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

    @property
    def is_open(self) -> bool:
        """Whether a turn was begun and has not ended."""
        return self.turns > 0 and self.status is None


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """The right to drive one conversation until `expires_at`. `token` grows with each holder; appends carry it."""

    conversation_id: str
    holder: str
    token: int
    since: float
    expires_at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Queued:
    """A message that waits for its turn: `content` is JSON text, `key` the sender's id for it, `at` when it came.

    Of one that waits no more, the content is empty.
    """

    conversation_id: str
    key: str
    content: str
    principal: Principal | None
    at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Erasure:
    """The receipt for an erased conversation: `events` of it were removed `at` that time (seconds since 1970)."""

    conversation_id: str
    at: float
    events: int
    by: Principal


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """Where a stored conversation is not what was written. `seq` is the event's number, None for the whole.

    `kind` is `missing` (a gap in the numbers), `changed` (the hash doesn't fit), `unreadable`, `count` (there are
    more or fewer events than were appended), or `listed` (the line in lists says otherwise than the events).
    """

    seq: int | None
    kind: str
    message: str


class Transaction(Protocol):
    """A transaction of the journal's own database, open for a tool's writes."""

    @property
    def connection(self) -> Any:
        """The SQLAlchemy connection; what is written through it is committed by `commit` or not at all."""
        ...

    async def commit(self, events: Sequence[Event], *, after: int) -> int:
        """Append the events and commit them together with what was written; errors as for `Journal.append`."""
        ...

    async def is_usable(self) -> bool:
        """Whether the database takes more in this transaction: PostgreSQL does not after a statement that failed."""
        ...

    def abandon(self) -> None:
        """Say that something left behind may still use the connection: it is closed on leaving, not reused."""
        ...


class Journal(Protocol):
    """The port. Three implementations, one contract suite.

    Events of a conversation are numbered 1, 2, 3 … without gaps. All methods are safe to call from any task; they
    raise JournalError (or a subclass) and leave the journal as it was when they can't do their work. InputError for a
    conversation's id that can't be one (empty, more than 255 characters, control characters).
    """

    async def append(
        self, conversation_id: str, events: Sequence[Event], *, after: int, token: int | None = None
    ) -> int:
        """Write `events` behind number `after`, all or none, and make them durable; gives the new last number.

        ConversationBusyError if the conversation has moved on since (its last number isn't `after`), or if `token`
        is given and is not the current lease's.
        """
        ...

    @property
    def transactional(self) -> bool:
        """Whether tools can write in the journal's own database (`transaction`)."""
        ...

    def transaction(self, conversation_id: str, *, token: int | None) -> AbstractAsyncContextManager[Transaction]:
        """A transaction for a tool's writes; leaving it without `commit` rolls everything back.

        JournalError where the journal has no database.
        """
        ...

    async def read(self, conversation_id: str, *, after: int = 0) -> list[Event]:
        """The events behind number `after`, in order; an empty list for a conversation that isn't there.

        JournalDamagedError where they are not what was appended, JournalVersionError where a newer Turnkeeper did it.
        """
        ...

    async def first(self, conversation_id: str) -> Event | None:
        """The first event, by which a conversation is known from another that had its id before it was erased."""
        ...

    async def conversations(
        self, *, principal: Principal | None = None, limit: int = 50, offset: int = 0
    ) -> list[Summary]:
        """What is there, the newest change first."""
        ...

    async def unfinished(self, *, now: float, limit: int = 50) -> list[Summary]:
        """Conversations whose turn is open while no lease holds them, the longest untouched first: to be recovered."""
        ...

    async def waiting(self, *, limit: int = 50, offset: int = 0) -> list[Summary]:
        """Conversations whose turn waits for a person (`awaiting_approval`, `awaiting_resolution`), longest first."""
        ...

    async def enqueue(
        self, conversation_id: str, content: str, *, key: str, principal: Principal | None, now: float
    ) -> bool:
        """Keep a message (`content` is JSON text) until its turn begins; durable on return.

        False, and nothing is changed, if a message of that key has come to the conversation before: it waits, has
        become a turn (`TurnStarted.key`), or was taken out. The append that begins its turn takes it out of the
        queue. UnknownConversationError if the conversation is another principal's, by its first event or, where it
        has not begun, by the message that waits. InputError for a key that can't be kept (the rules are those of ids).
        """
        ...

    async def queued(self, conversation_id: str, *, limit: int = 50) -> list[Queued]:
        """The messages that wait, in the order in which they came."""
        ...

    async def dequeue(self, conversation_id: str, key: str) -> bool:
        """Take a message out without a turn; its key stays taken. False if none of that key waits."""
        ...

    async def message(self, conversation_id: str, key: str) -> Queued | None:
        """The message of that key, whether it waits or not; None if none came through `enqueue`."""
        ...

    async def backlog(self, *, now: float, limit: int = 50) -> list[str]:
        """Ids of conversations in which messages wait, that no lease holds, and whose turn waits for no person.

        The one with the longest waiting message comes first.
        """
        ...

    async def acquire(
        self, conversation_id: str, *, holder: str, seconds: float, now: float, instead_of: str | None = None
    ) -> Lease:
        """Take the lease, or extend one's own. ConversationBusyError says who holds it and since when.

        From the holder that `instead_of` names it is taken though it lasts.
        """
        ...

    async def renew(self, lease: Lease, *, seconds: float, now: float) -> Lease:
        """Hold on longer; ConversationBusyError if another has taken over."""
        ...

    async def release(self, lease: Lease) -> None:
        """Give the lease back; nothing happens if it is no longer held."""
        ...

    async def hold(self, conversation_id: str, held: Held, *, token: int | None = None) -> str | None:
        """Hold money for a request of the conversation; None, or the name of an account that has no room for it.

        Then nothing is held. The append of the event that ends the request lets go of it, and counts what the request
        cost as spent, in one. What the conversation held before is let go. ConversationBusyError if `token` is given
        and is not the current lease's.
        """
        ...

    async def accounts(self, names: Sequence[str]) -> dict[str, Account]:
        """What was spent and what is held on the accounts of these names; of one that isn't there, nothing."""
        ...

    async def erase(self, what: str | Principal, *, by: Principal, now: float) -> list[Erasure]:
        """Remove a conversation, or all of a principal's (whatever the level), for good; a receipt for each stays.

        Its messages and their keys are removed as well, also where it has not begun (the receipt tells of 0 events).
        Whoever drives an erased conversation can't append any more; the id may be used for a new one. An empty list
        if the principal has none; UnknownConversationError if a conversation isn't there.
        """
        ...

    async def erasures(self, *, limit: int = 50, offset: int = 0) -> list[Erasure]:
        """The receipts, newest first."""
        ...

    async def export(self, conversation_id: str) -> str:
        """The conversation as JSON lines with format versions and hashes, for `import_` of any journal.

        UnknownConversationError if it isn't there.
        """
        ...

    async def import_(self, text: str) -> Summary:
        """Take in what `export` gave, under the same id, to the byte.

        ConversationExistsError if the id is taken, ImportRejectedError if the text isn't a whole, unchanged export,
        JournalVersionError if a newer Turnkeeper made it.
        """
        ...

    async def verify(self, conversation_id: str) -> list[Problem]:
        """What is wrong with the stored events (numbers, hashes, readability); an empty list if nothing is.

        UnknownConversationError if the conversation isn't there.
        """
        ...

    async def aclose(self) -> None:
        """Let go of connections and files."""
        ...
