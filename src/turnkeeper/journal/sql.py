"""The journal in a SQL database: SQLite and PostgreSQL, the same statements, through SQLAlchemy Core."""

from __future__ import annotations

import functools
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import TypeVar

import sqlalchemy as sa
from anyio import CancelScope, CapacityLimiter, to_thread
from anyio.lowlevel import RunVar

from turnkeeper.core.events import Event
from turnkeeper.errors import JournalError, UnknownConversationError
from turnkeeper.journal import budgets, inbox, steps, store
from turnkeeper.journal.accounts import Account, Held
from turnkeeper.journal.carrying import to_lines, whole_export
from turnkeeper.journal.chain import event_of, sound_events
from turnkeeper.journal.database import Database
from turnkeeper.journal.ids import checked_id, checked_key, is_key
from turnkeeper.journal.migration import bring_up_to_date
from turnkeeper.journal.port import Erasure, Lease, Problem, Queued, Summary, Transaction
from turnkeeper.journal.soundness import all_problems
from turnkeeper.journal.summaries import summarised
from turnkeeper.journal.urls import prepared, shown
from turnkeeper.types import Principal

__all__ = ("SQLJournal",)

_T = TypeVar("_T")

# Threads of their own: a journal must not wait until a tool that holds a thread is done. A loop has one set of them.
_threads: RunVar[CapacityLimiter] = RunVar("turnkeeper_journal_threads")
_THREADS = 8


class SQLJournal:
    """A journal in a database. `SQLJournal.open(url)` blocks; `open_journal(url)` is for asynchronous code.

    The database is used in worker threads, and what was begun is finished there even if its task is cancelled.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._heads = steps.Heads()

    @classmethod
    def open(cls, url: str) -> SQLJournal:
        """Open the journal, and make or update its tables where needed. JournalError says why it can't be opened."""
        database = Database(prepared(url))
        try:
            database.keep_a_log()
            bring_up_to_date(database)
        except BaseException:
            database.close()
            raise
        return cls(database)

    @property
    def url(self) -> str:
        """Where the journal is, fit to be shown: without password."""
        return shown(self._database.url)

    async def append(
        self, conversation_id: str, events: Sequence[Event], *, after: int, token: int | None = None
    ) -> int:
        """See `Journal.append`."""
        checked_id(conversation_id)
        doing = f"append to conversation {conversation_id!r}"
        step = functools.partial(
            steps.step, heads=self._heads, conversation_id=conversation_id, new=events, after=after, token=token
        )
        whole = functools.partial(store.append, conversation_id=conversation_id, new=events, after=after, token=token)
        return await _in_thread(lambda: self._database.write_direct(step, whole, doing))

    @property
    def transactional(self) -> bool:
        """Always."""
        return True

    @asynccontextmanager
    async def transaction(self, conversation_id: str, *, token: int | None) -> AsyncIterator[Transaction]:
        """See `Journal.transaction`."""
        opened = _Transaction(self._database, checked_id(conversation_id), token)
        try:
            with CancelScope(shield=True):
                await _in_thread(opened.begin)
            yield opened
        finally:
            await opened.leave()

    async def waiting(self, *, limit: int = 50, offset: int = 0) -> list[Summary]:
        """See `Journal.waiting`."""
        return await _in_thread(
            lambda: self._database.read(
                lambda connection, _: store.list_waiting(connection, limit, offset), "list the waiting turns"
            )
        )

    async def read(self, conversation_id: str, *, after: int = 0) -> list[Event]:
        """See `Journal.read`."""
        checked_id(conversation_id)
        after = max(after, 0)

        def read() -> list[Event]:
            found = self._stored(conversation_id, after)
            if found is None:
                return []
            return sound_events(conversation_id, found.rows, after=after, previous=found.previous, last=found.last)

        return await _in_thread(read)

    async def first(self, conversation_id: str) -> Event | None:
        """See `Journal.first`."""
        checked_id(conversation_id)
        row = await _in_thread(
            lambda: self._database.read(
                lambda connection, _: store.first(connection, conversation_id), f"read conversation {conversation_id!r}"
            )
        )
        return None if row is None else event_of(conversation_id, row)

    async def conversations(
        self, *, principal: Principal | None = None, limit: int = 50, offset: int = 0
    ) -> list[Summary]:
        """See `Journal.conversations`."""
        return await _in_thread(
            lambda: self._database.read(
                lambda connection, _: store.list_conversations(connection, principal, limit, offset),
                "list its conversations",
            )
        )

    async def unfinished(self, *, now: float, limit: int = 50) -> list[Summary]:
        """See `Journal.unfinished`."""
        return await _in_thread(
            lambda: self._database.read(
                lambda connection, _: store.list_unfinished(connection, now, limit), "list its open turns"
            )
        )

    async def enqueue(
        self, conversation_id: str, content: str, *, key: str, principal: Principal | None, now: float
    ) -> bool:
        """See `Journal.enqueue`."""
        message = Queued(
            conversation_id=checked_id(conversation_id),
            key=checked_key(key),
            content=content,
            principal=principal,
            at=float(now),
        )
        return await _in_thread(
            lambda: self._database.write(
                lambda connection, again: inbox.enqueue(connection, again, message),
                f"queue a message for conversation {conversation_id!r}",
            )
        )

    async def queued(self, conversation_id: str, *, limit: int = 50) -> list[Queued]:
        """See `Journal.queued`."""
        checked_id(conversation_id)
        return await _in_thread(
            lambda: self._database.read(
                lambda connection, _: inbox.list_queued(connection, conversation_id, limit),
                f"list the messages that wait in conversation {conversation_id!r}",
            )
        )

    async def dequeue(self, conversation_id: str, key: str) -> bool:
        """See `Journal.dequeue`."""
        checked_id(conversation_id)
        return await _in_thread(
            lambda: self._database.write(
                lambda connection, again: inbox.dequeue(connection, again, conversation_id, checked_key(key)),
                f"take a message of conversation {conversation_id!r} out of the queue",
            )
        )

    async def message(self, conversation_id: str, key: str) -> Queued | None:
        """See `Journal.message`."""
        checked_id(conversation_id)
        if not is_key(key):
            return None
        return await _in_thread(
            lambda: self._database.read(
                lambda connection, _: inbox.find(connection, conversation_id, key),
                f"read a message of conversation {conversation_id!r}",
            )
        )

    async def backlog(self, *, now: float, limit: int = 50) -> list[str]:
        """See `Journal.backlog`."""
        return await _in_thread(
            lambda: self._database.read(
                lambda connection, _: inbox.list_backlog(connection, now, limit), "list where messages wait"
            )
        )

    async def acquire(
        self, conversation_id: str, *, holder: str, seconds: float, now: float, instead_of: str | None = None
    ) -> Lease:
        """See `Journal.acquire`."""
        checked_id(conversation_id)
        return await _in_thread(
            lambda: self._database.write(
                lambda connection, _: store.acquire(connection, conversation_id, holder, seconds, now, instead_of),
                f"lease conversation {conversation_id!r}",
            )
        )

    async def renew(self, lease: Lease, *, seconds: float, now: float) -> Lease:
        """See `Journal.renew`."""
        return await _in_thread(
            lambda: self._database.write(
                lambda connection, _: store.renew(connection, lease, seconds, now),
                f"renew the lease on conversation {lease.conversation_id!r}",
            )
        )

    async def release(self, lease: Lease) -> None:
        """See `Journal.release`."""
        await _in_thread(
            lambda: self._database.write(
                lambda connection, _: store.release(connection, lease),
                f"release the lease on conversation {lease.conversation_id!r}",
            )
        )

    async def hold(self, conversation_id: str, held: Held, *, token: int | None = None) -> str | None:
        """See `Journal.hold`."""
        checked_id(conversation_id)
        return await _in_thread(
            lambda: self._database.write(
                lambda connection, again: budgets.hold(connection, again, conversation_id, held, token),
                f"hold money for conversation {conversation_id!r}",
            )
        )

    async def accounts(self, names: Sequence[str]) -> dict[str, Account]:
        """See `Journal.accounts`."""
        return await _in_thread(
            lambda: self._database.read(lambda connection, _: budgets.look(connection, names), "read its accounts")
        )

    async def erase(self, what: str | Principal, *, by: Principal, now: float) -> list[Erasure]:
        """See `Journal.erase`. In a SQLite file the erased bytes are overwritten, in the -wal file as well."""
        doing = "erase conversations"
        if isinstance(what, str):
            doing = f"erase conversation {checked_id(what)!r}"

        def erase() -> list[Erasure]:
            receipts = self._database.write(
                lambda connection, again: store.erase(connection, again, what, by, now), doing
            )
            self._database.empty_log()
            return receipts

        return await _in_thread(erase)

    async def erasures(self, *, limit: int = 50, offset: int = 0) -> list[Erasure]:
        """See `Journal.erasures`."""
        return await _in_thread(
            lambda: self._database.read(
                lambda connection, _: store.list_erasures(connection, limit, offset), "list its erasures"
            )
        )

    async def export(self, conversation_id: str) -> str:
        """See `Journal.export`."""
        return await _in_thread(lambda: to_lines(conversation_id, self._existing(conversation_id).rows))

    async def import_(self, text: str) -> Summary:
        """See `Journal.import_`."""

        def take_in() -> Summary:
            carried = whole_export(text)
            self._database.write(
                lambda connection, again: store.take_in(connection, again, carried),
                f"import conversation {carried.conversation_id!r}",
            )
            return summarised(carried.conversation_id, None, carried.events)

        return await _in_thread(take_in)

    async def verify(self, conversation_id: str) -> list[Problem]:
        """See `Journal.verify`."""

        def verify() -> list[Problem]:
            # in one reading: an append in between would look like damage
            found, listed = self._database.read(
                lambda connection, _: (
                    store.stored(connection, checked_id(conversation_id)),
                    store.listed(connection, conversation_id),
                ),
                f"read conversation {conversation_id!r}",
            )
            return all_problems(conversation_id, _there(conversation_id, found), listed)

        return await _in_thread(verify)

    async def aclose(self) -> None:
        """See `Journal.aclose`."""
        with CancelScope(shield=True):
            await to_thread.run_sync(self.close)

    def close(self) -> None:
        """The same for code that isn't asynchronous."""
        self._database.close()

    def _stored(self, conversation_id: str, after: int = 0) -> store.Stored | None:
        return self._database.read(
            lambda connection, _: store.stored(connection, conversation_id, after),
            f"read conversation {conversation_id!r}",
        )

    def _existing(self, conversation_id: str) -> store.Stored:
        return _there(conversation_id, self._stored(checked_id(conversation_id)))


def _there(conversation_id: str, found: store.Stored | None) -> store.Stored:
    if found is None:
        raise UnknownConversationError(f"no conversation {conversation_id!r} is in this journal")
    return found


class _Transaction:
    """See `port.Transaction`. Whatever cancels the task, one of `begin`, `commit` and `leave` ends what was begun."""

    def __init__(self, database: Database, conversation_id: str, token: int | None) -> None:
        self._database = database
        self._conversation_id = conversation_id
        self._token = token
        self._guard = threading.Lock()
        self._open: sa.Connection | None = None
        self._left = False
        self._still_used = False
        self.connection: sa.Connection | None = None

    def begin(self) -> None:
        connection = self._database.begin(f"begin a transaction for conversation {self._conversation_id!r}")
        with self._guard:
            if not self._left:
                self.connection = self._open = connection
                return
        self._database.undo(connection, still_used=False)  # nobody waits for it any more

    async def commit(self, events: Sequence[Event], *, after: int) -> int:
        doing = f"commit for conversation {self._conversation_id!r}"

        def append(connection: sa.Connection) -> int:
            return store.append(connection, False, self._conversation_id, events, after=after, token=self._token)

        def finish() -> int:
            connection = self._taken()
            if connection is None:
                raise JournalError(f"could not {doing}: the transaction is over")
            return self._database.finish(connection, append, doing)

        return await _to_its_end(finish)

    async def is_usable(self) -> bool:
        connection = self.connection
        return connection is not None and await _in_thread(lambda: self._database.takes_more(connection))

    def abandon(self) -> None:
        self._still_used = True

    async def leave(self) -> None:
        self._left = True
        if (connection := self._taken()) is not None:
            undo = functools.partial(self._database.undo, connection, still_used=self._still_used)
            await _to_its_end(undo)

    def _taken(self) -> sa.Connection | None:
        with self._guard:
            connection, self._open = self._open, None
            return connection


async def _in_thread(function: Callable[[], _T]) -> _T:
    try:
        limiter = _threads.get()
    except LookupError:
        limiter = CapacityLimiter(_THREADS)
        _threads.set(limiter)
    return await to_thread.run_sync(function, limiter=limiter)


async def _to_its_end(function: Callable[[], _T]) -> _T:
    """Run what ends a transaction: uncancelled, and not in line behind those that wait for it to end."""
    with CancelScope(shield=True):
        return await to_thread.run_sync(function, limiter=CapacityLimiter(1))
    raise AssertionError("a shield swallows nothing")
