"""Handing conversations to workers: for the program that takes messages in, and for the workers among themselves."""

from __future__ import annotations

import functools
import logging
import time
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Literal, TypeVar

from anyio import CancelScope, CapacityLimiter, to_thread

from turnkeeper.core.accepting import accepted
from turnkeeper.driver.inbox import post
from turnkeeper.journal import Journal, open_journal
from turnkeeper.types import Principal
from turnkeeper.workers.queueing import Queue, database_url

__all__ = ("Dispatcher", "open_dispatcher")

_log = logging.getLogger("turnkeeper")
_T = TypeVar("_T")
_MOMENT = 5.0  # seconds


class Dispatcher:
    """Posts messages and wakes workers; made by `async with open_dispatcher(url) as dispatcher`.

    The journal alone decides what is to be done. To wake a worker only makes it soon: without that (DBOS's tables may
    be out of reach for a moment) the workers find the conversation themselves when they next look around.
    """

    def __init__(
        self, journal: Journal, queue: Queue, clock: Callable[[], float] = time.time, accept: Collection[str] = ()
    ) -> None:
        self.journal = journal
        self.accept = accepted(accept)
        self._queue = queue
        self._clock = clock
        self._threads = CapacityLimiter(4)

    async def post(
        self,
        conversation_id: str,
        content: str | Sequence[Mapping[str, Any]],
        *,
        key: str,
        principal: Principal | None = None,
    ) -> Literal["queued", "duplicate"]:
        """Keep a message until its turn, have a worker run it, and come back at once; see `Keeper.post`."""
        now, accept = self._clock(), self.accept
        found = await post(self.journal, conversation_id, content, key=key, principal=principal, now=now, accept=accept)
        if found == "queued":
            await self.wake(conversation_id)
        return found

    async def wake(self, conversation_id: str) -> bool:
        """Have a worker look at the conversation, such as after a person's decision.

        False if a worker is about to anyway, or if none could be told (the log says why).
        """
        return bool(await self._quietly(functools.partial(self._queue.put, conversation_id), "wake a worker"))

    async def wake_all(self, conversation_ids: Iterable[str]) -> int:
        """Have workers look at those of the conversations that don't wait for one yet; how many these were.

        One that a worker took from the queue a moment ago is about to be driven, and is left alone as well.
        """
        names = list(conversation_ids)
        if not names:
            return 0
        handings = await self._quietly(self._queue.handings, "look into the queue") or []
        just_taken = time.time() - _MOMENT
        settled = {one.conversation_id for one in handings if not one.running or one.since > just_taken}
        return sum([await self.wake(name) for name in names if name not in settled])

    async def in_thread(self, function: Callable[[], _T]) -> _T:
        """Run one of the queue's methods."""
        return await to_thread.run_sync(function, limiter=self._threads)

    @property
    def queue(self) -> Queue:
        """DBOS's queue; for the workers' own modules."""
        return self._queue

    async def _quietly(self, function: Callable[[], _T], doing: str) -> _T | None:
        try:
            return await self.in_thread(function)
        except Exception as error:  # noqa: BLE001 - whatever it is, the journal has what is to be done
            # not its text: it may hold the statement's parameters
            _log.warning("could not %s (%s); the next look around will", doing, type(error).__name__)
            return None


@asynccontextmanager
async def open_dispatcher(
    journal_url: str, *, clock: Callable[[], float] = time.time, accept: Collection[str] = ()
) -> AsyncIterator[Dispatcher]:
    """A dispatcher for the journal at that URL, and DBOS's tables beside it, made where they are missing.

    `accept` is what messages may do beyond saying something, as for `Agent`.

    ConfigurationError if the extra `workers` isn't installed or the URL isn't PostgreSQL's; JournalError as for
    `open_journal`.
    """
    url = database_url(journal_url)
    journal = await open_journal(url)
    try:
        async with dispatching(journal, url, clock=clock, accept=accept) as dispatcher:
            yield dispatcher
    finally:
        await journal.aclose()


@asynccontextmanager
async def dispatching(
    journal: Journal, url: str, *, clock: Callable[[], float] = time.time, accept: Collection[str] = ()
) -> AsyncIterator[Dispatcher]:
    """The same over a journal that is open already."""
    queue = await to_thread.run_sync(Queue, url)
    try:
        yield Dispatcher(journal, queue, clock, accept)
    finally:
        with CancelScope(shield=True):
            await to_thread.run_sync(queue.close)
