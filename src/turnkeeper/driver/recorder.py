"""Writing down what happened: events go into the state and the history at once, into the journal in groups.

`stage` notes an event; `flush` makes everything staged durable and only then lets the caller see the updates that
belong to it. Effects start after a flush, never after a mere stage.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import anyio

from turnkeeper.core.compacting import holds_summary
from turnkeeper.core.events import ConversationStarted, Event, ReplyReceived, RequestStarted, TurnStarted
from turnkeeper.core.history import History
from turnkeeper.core.machine import State, advance
from turnkeeper.driver.finishing import finished
from turnkeeper.errors import JournalError, UnknownConversationError
from turnkeeper.journal.accounts import Held
from turnkeeper.journal.port import Journal, Transaction
from turnkeeper.telemetry.port import Watch
from turnkeeper.types import Principal
from turnkeeper.updates import Update
from turnkeeper.wire.json import fold_surrogates

__all__ = ("Recorder",)

Emit = Callable[[Update], Awaitable[None]]


class Recorder:
    """The state, history and journal of one conversation, moved together."""

    def __init__(self, journal: Journal, conversation_id: str) -> None:
        self._journal = journal
        self._conversation_id = conversation_id
        self._staged: list[Event] = []
        self._pending: list[Update] = []
        self._tellable: list[Update] = []
        self._flushing = anyio.Lock()
        self._emit: Emit | None = None
        self.state = State()
        self.history = History()
        self.turn_events: list[Event] = []
        self.owner: Principal | None = None
        self.begun: TurnStarted | None = None
        self.keys: set[str] = set()
        self._first: Event | None = None
        self._latest: Event | None = None
        self.last = 0
        self.setup: str | None = None
        self.compacted = False
        self.token: int | None = None
        self.broken: JournalError | None = None
        self.watch: Watch | None = None

    @property
    def emit(self) -> Emit | None:
        """Where updates go; None while nobody listens."""
        return self._emit

    def listen(self, emit: Emit | None) -> None:
        """Send updates there from now on."""
        self._emit = emit
        self._pending, self._tellable = [], []

    async def load(self) -> None:
        """Read what the journal has beyond what is known here.

        UnknownConversationError if the conversation was erased meanwhile, whether or not another has its id now.
        """
        known = self.last
        events = await self._journal.read(self._conversation_id, after=max(known - 1, 0))
        if known:
            first = await self._journal.first(self._conversation_id)
            if _form(first) != _form(self._first) or _form(next(iter(events), None)) != _form(self._latest):
                raise UnknownConversationError(
                    f"conversation {self._conversation_id!r} was erased after it was opened here; open it again"
                )
            events = events[1:]
        for event in events:
            self._take(event)
        self.last += len(events)

    def _take(self, event: Event) -> None:
        self._first, self._latest = self._first or event, event
        self.state = advance(self.state, event)
        self.history.apply(event)
        if isinstance(event, ConversationStarted) and event.principal is not None:
            self.owner = Principal(**event.principal)
        if isinstance(event, ReplyReceived) and event.kept:
            self.compacted |= holds_summary(event.blocks)
        if isinstance(event, RequestStarted) and event.setup is not None:
            self.setup = event.setup
        if isinstance(event, TurnStarted):
            self.begun = event
            if event.key is not None:
                self.keys.add(event.key)
        if event.type in ("turn_started", "turn_resumed"):
            self.turn_events = []
        self.turn_events.append(event)

    def stage(self, event: Event, *updates: Update) -> None:
        """Note an event, and what to tell the caller once it is durable."""
        if self.broken is not None:
            raise self.broken
        if self.watch is not None:
            event = self.watch.saw(event)
        self._take(event)
        self._staged.append(event)
        if self._emit is not None:
            self._pending.extend(updates)

    def note(self, *updates: Update) -> None:
        """Tell these with what is told next."""
        self._tellable.extend(updates)

    async def flush(self) -> None:
        """Make what is staged durable, then tell. JournalError: nothing staged was written, this recorder is done."""
        with anyio.CancelScope(shield=True):
            async with self._flushing:
                await self._write()
        await self.tell()

    async def _write(self) -> None:
        if not self._staged:
            return
        if self.broken is not None:
            raise self.broken

        async def append(staged: list[Event]) -> int:
            return await self._journal.append(self._conversation_id, staged, after=self.last, token=self.token)

        if self._journal.transactional:  # it works in threads, which a cancellation would not wait for
            await finished(self._written(append))
        else:
            await self._written(append)

    async def _written(self, write: Callable[[list[Event]], Awaitable[int]]) -> None:
        """Write what is staged; where that fails, this recorder knows more than the journal and is done."""
        staged, self._staged = self._staged, []
        updates, self._pending = self._pending, []
        try:
            self.last = await write(staged)
        except JournalError as error:
            self.broken = error
            raise
        except BaseException as error:
            text = f"events of conversation {self._conversation_id!r} could not be written ({type(error).__name__})"
            self.broken = JournalError(text)
            if isinstance(error, Exception):
                raise self.broken from error
            raise
        self._tellable += updates

    async def written(self) -> list[Event]:
        """All events of the conversation that are durable."""
        return await self._journal.read(self._conversation_id)

    async def hold(self, held: Held) -> str | None:
        """Hold money for a request; see `Journal.hold`."""
        return await self._journal.hold(self._conversation_id, held, token=self.token)

    async def save(self) -> None:
        """Make durable what is still staged, without telling anyone: the way out of a turn that is interrupted."""
        with anyio.CancelScope(shield=True):
            async with self._flushing:
                if self.broken is None:
                    await self._write()

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Transaction]:
        """A transaction in the journal's database; what others stage meanwhile is written after it."""
        async with self._flushing:
            with anyio.CancelScope(shield=True):
                await self._write()
            async with self._journal.transaction(self._conversation_id, token=self.token) as opened:
                yield opened

    async def commit(self, opened: Transaction) -> None:
        """Commit the tool's writes together with everything staged."""

        async def commit(staged: list[Event]) -> int:
            return await opened.commit(staged, after=self.last)

        await finished(self._written(commit))

    async def tell(self, *updates: Update) -> None:
        """Pass on the updates of events that are durable, and these."""
        if self._emit is None:
            return
        self._tellable.extend(updates)
        while self._tellable:
            await self._emit(self._tellable.pop(0))


def _form(event: Event | None) -> tuple[str, float, str] | None:
    """An event as a journal keeps it."""
    return None if event is None else (event.type, float(event.at), fold_surrogates(event.to_payload()))
