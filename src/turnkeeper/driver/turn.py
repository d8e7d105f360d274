"""One turn as its caller holds it: iterate it for updates, or await it for the reply."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Generator
from types import TracebackType
from typing import Any, Self

import anyio
from anyio.abc import TaskGroup

from turnkeeper.driver.reply import Reply
from turnkeeper.errors import InputError
from turnkeeper.updates import TurnEnded, Update

__all__ = ("Turn",)

Emit = Callable[[Update], Awaitable[None]]
Work = Callable[[Emit | None], Awaitable[Reply]]


class _Channel:
    """Hands updates from the turn's task to its reader, one at a time, each only when it is asked for."""

    def __init__(self) -> None:
        self.scope = anyio.CancelScope()
        self.over = anyio.Event()
        self.reply: Reply | None = None
        self.error: BaseException | None = None
        self._asked = anyio.Event()
        self._answered = anyio.Event()
        self._given: Update | None = None
        self._one_at_a_time = anyio.Lock()

    async def give(self, update: Update) -> None:
        """Hand one update over, and wait until the reader comes back for the next."""
        async with self._one_at_a_time:
            self._given = update
            self._asked = anyio.Event()
            self._answered.set()
            await self._asked.wait()

    async def take(self) -> Update | None:
        """The next update, None when the turn is over."""
        self._asked.set()
        if not self.over.is_set():
            await self._answered.wait()
            self._answered = anyio.Event()
        update, self._given = self._given, None
        return update

    async def produce(self, work: Work) -> None:
        """Run the turn to its end; the task of the keeper that owns it."""
        try:
            with self.scope:
                self.reply = await work(self.give)
        except Exception as error:  # noqa: BLE001 - it is the reader's, and raised there
            self.error = error
        finally:
            self.over.set()
            self._answered.set()


class Turn:
    """`reply = await conversation.send(…)`, or `async for update in conversation.send(…)`.

    Iterating runs the turn in step with the reader: nothing new starts until the next update is asked for. A reader
    that stops early interrupts the turn, with `aclose()` or, where nothing else holds the turn, with `break`; what was
    done is kept, `conversation.resume()` goes on and a new message closes it. After the last update `reply` holds the
    Reply. A failure of the API is raised as APIError at the end, after its updates.
    """

    def __init__(self, work: Work, group: TaskGroup | None, leave: Callable[[], None]) -> None:
        self._work = work
        self._group = group
        self._leave = leave
        self._channel: _Channel | None = None
        self._begun = False
        self._ended = False
        self._closed = False

    @property
    def reply(self) -> Reply | None:
        """The turn's Reply once it has been iterated to its end."""
        return self._channel.reply if self._channel is not None else None

    def __await__(self) -> Generator[Any, Any, Reply]:
        self._begin()
        return self._work(None).__await__()

    def __aiter__(self) -> AsyncIterator[Update]:
        return self

    async def __anext__(self) -> Update:
        channel = self._channel
        if channel is None:
            self._begin()
            if self._group is None:
                raise InputError("updates need a keeper: open one with `async with agent.open(…)`")
            channel = self._channel = _Channel()
            try:
                self._group.start_soon(channel.produce, self._work)
            except RuntimeError as left:
                raise InputError("the keeper of this conversation was left; open it again") from left
        update = await channel.take()
        if update is not None:
            self._ended = self._ended or isinstance(update, TurnEnded)
            return update
        if channel.reply is not None and not self._ended:  # cancelled: its end could not be told while it ran
            self._ended = True
            return _end_of(channel.reply)
        if channel.reply is None and channel.error is None and not self._closed:
            self._closed = True
            raise InputError("the turn was interrupted: its keeper was left while it ran; resume() goes on with it")
        if channel.error is not None:
            error, channel.error = channel.error, None
            raise error
        raise StopAsyncIteration

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Interrupt the turn if it still runs, and wait until what it did is written down."""
        if self._channel is not None:
            self._closed = True
            self._interrupt(self._channel)
            with anyio.CancelScope(shield=True):
                await self._channel.over.wait()

    def __del__(self) -> None:
        channel = getattr(self, "_channel", None)
        if channel is not None and not channel.over.is_set():
            self._interrupt(channel)

    def _interrupt(self, channel: _Channel) -> None:
        if not channel.over.is_set():
            self._leave()
        channel.scope.cancel()

    def _begin(self) -> None:
        if self._begun:
            raise InputError("a turn runs once; call send() again for another")
        self._begun = True


def _end_of(reply: Reply) -> TurnEnded:
    return TurnEnded(status=reply.status, reason=reply.reason, text=reply.text, usage=reply.usage, cost=reply.cost)
