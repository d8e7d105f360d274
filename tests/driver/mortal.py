"""Programs that die: each with a keeper over its own opening of one journal file, and tools of all five effects.

A program that is dead leaves everything as it is: its lease is held, its transaction is never committed, and its tools
do nothing more to the world.
"""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from contextvars import ContextVar
from typing import Any, cast

import anyio
import sqlalchemy as sa

import turnkeeper as tk
from tests.driver.conftest import agent_over
from turnkeeper.core.events import CallStarted, Event
from turnkeeper.errors import JournalError
from turnkeeper.journal import Journal, Lease, open_journal
from turnkeeper.testing import FixedClock, MessagesAPI

__all__ = ("EFFECTS", "TABLE", "GoneError", "Program", "World")

EFFECTS = ("read", "idempotent", "transactional", "reconcile", "once")
TABLE = "CREATE TABLE booked (key TEXT NOT NULL, n INTEGER NOT NULL)"
BOOK = sa.text("INSERT INTO booked (key, n) VALUES (:key, :n)")
ABOVE = 5
"""Calls with more than this need a person."""


class GoneError(JournalError):
    """The program is dead: what it still tries does not happen."""


class World:
    """What all programs share: the API, the clock, the file, what happened, and what has gone wrong with leases."""

    def __init__(self, api: MessagesAPI, url: str) -> None:
        self.api = api
        self.url = url
        self.clock = FixedClock()
        self.happened: Counter[str] = Counter()
        self.with_n: dict[str, set[int]] = {}
        self.programs: list[Program] = []
        self.newest = 0
        self.holder: Program | None = None
        self.taken_over = 0
        self.unfenced: list[str] = []

    def may_yet_happen(self, call_id: str) -> bool:
        """Whether a living program has written down that it starts the call, and has not come to the effect yet."""
        return any(one.alive and call_id in one.under_way for one in self.programs)

    def taken(self, program: Program, lease: Lease) -> None:
        """Note who holds the lease now, and whether another still did."""
        self.taken_over += self.holder is not None
        self.holder, self.newest = program, lease.token

    def given_back(self, lease: Lease) -> None:
        """Note that nobody holds it, unless another has taken it over."""
        if lease.token == self.newest:
            self.holder = None

    def happen(self, key: str, n: int) -> None:
        """Have an effect."""
        self.happened[key] += 1
        self.with_n.setdefault(key, set()).add(n)


class Program:
    """One process, alive until it has passed so many points: at the journal's boundaries, and where tools are at work.

    `dies_after` counts all points, `dies_at_work` those in tools; None is never.
    """

    def __init__(self, world: World) -> None:
        self.world = world
        self.alive = True
        self.dies_after: int | None = None
        self.dies_at_work: int | None = None
        self.under_way: set[str] = set()
        world.programs.append(self)

    def point(self) -> None:
        """Go on, or be dead from here on."""
        if self.dies_after is not None:
            self.dies_after -= 1
            self.alive = self.alive and self.dies_after > 0
        if not self.alive:
            raise GoneError("the program is dead")

    def at_work(self) -> None:
        """The same in a tool."""
        if self.dies_at_work is not None:
            self.dies_at_work -= 1
            self.alive = self.alive and self.dies_at_work > 0
        self.point()

    @property
    def holds(self) -> bool:
        """Whether the lease is this program's."""
        return self.world.holder is self

    @asynccontextmanager
    async def keeper(self) -> AsyncIterator[tk.Keeper]:
        """The program's own: its journal is opened anew."""
        _here.set(self)
        journal = await open_journal(self.world.url)
        agent = agent_over(
            self.world.api,
            tools=TOOLS,
            clock=self.world.clock,
            limits=tk.Limits(requests=50),
            retry=tk.RetryPolicy(retries=1),
        )
        try:
            async with agent.open(cast(Journal, MortalJournal(journal, self))) as keeper:
                yield keeper
        finally:
            await journal.aclose()

    async def act(self, ctx: tk.ToolContext, n: int) -> str:
        """What the tools do that act on the world."""
        self.at_work()
        await anyio.lowlevel.checkpoint()
        self.at_work()
        self.under_way.discard(ctx.call_id)
        self.world.happen(ctx.key, n)
        await anyio.lowlevel.checkpoint()
        self.at_work()
        return f"хорошо {n}"


_here: ContextVar[Program] = ContextVar("here")


async def act(ctx: tk.ToolContext, n: int) -> str:
    """Act."""
    return await _here.get().act(ctx, n)


def book(ctx: tk.ToolContext, n: int) -> str:
    """Book."""
    _here.get().at_work()
    ctx.connection.execute(BOOK, {"key": ctx.key, "n": n})
    _here.get().at_work()
    return f"booked {n}"


async def has_happened(ctx: tk.ToolContext) -> str | None:
    """What the world says of a `reconcile` call."""
    program = _here.get()
    program.at_work()
    if program.world.may_yet_happen(ctx.call_id):
        raise RuntimeError("nobody knows yet")
    return "хорошо" if program.world.happened[ctx.key] else None


async def is_much(arguments: dict[str, Any], principal: object, conversation: str) -> bool:
    """Whether a call needs a person."""
    return bool(arguments["n"] > ABOVE)


def _tool(effect: Any) -> tk.Tool:
    function: Any = book if effect == "transactional" else act
    asks = has_happened if effect == "reconcile" else None
    return tk.tool(name=effect, effect=effect, reconcile=asks, approval=is_much)(function)


TOOLS = [_tool(effect) for effect in EFFECTS]


class MortalJournal:
    """A journal with a point before and after everything that is done to it; it notes who should have been fenced."""

    def __init__(self, journal: Journal, program: Program) -> None:
        self._journal = journal
        self._program = program

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._journal, name)
        if not inspect.iscoroutinefunction(found):
            return found

        async def mortal(*args: Any, **options: Any) -> Any:
            self._program.point()
            given = await found(*args, **options)
            self._program.point()
            return given

        return mortal

    async def acquire(self, conversation_id: str, **how: Any) -> Lease:
        self._program.point()
        lease = await self._journal.acquire(conversation_id, **how)
        self._program.world.taken(self._program, lease)
        self._program.point()
        return lease

    async def release(self, lease: Lease) -> None:
        self._program.point()
        await self._journal.release(lease)
        self._program.world.given_back(lease)
        self._program.point()

    async def append(
        self, conversation_id: str, events: Sequence[Event], *, after: int, token: int | None = None
    ) -> int:
        with self._noted(events, token) as note:
            last = await self._journal.append(conversation_id, events, after=after, token=token)
            note.done = True
        return last

    @asynccontextmanager
    async def transaction(self, conversation_id: str, *, token: int | None) -> AsyncIterator[Any]:
        self._program.point()
        async with self._journal.transaction(conversation_id, token=token) as opened:
            self._program.point()
            yield _MortalTransaction(opened, self, token)

    def _noted(self, events: Sequence[Event], token: int | None) -> _Writing:
        return _Writing(self._program, events, token)


class _Writing:
    """Events being written: they count as under way before they are durable, and never after they are refused."""

    def __init__(self, program: Program, events: Sequence[Event], token: int | None) -> None:
        self._program = program
        self._started = {event.call_id for event in events if isinstance(event, CallStarted)}
        self._token = token
        self._newest = program.world.newest
        self.done = False

    def __enter__(self) -> _Writing:
        self._program.point()
        self._program.under_way |= self._started
        return self

    def __exit__(self, *error: object) -> None:
        if not self.done:
            self._program.under_way -= self._started
            return
        if self._token is None or self._token < self._newest:
            self._program.world.unfenced.append(f"{self._token} after {self._newest}")
        self._program.point()


class _MortalTransaction:
    def __init__(self, opened: Any, journal: MortalJournal, token: int | None) -> None:
        self._opened = opened
        self._journal = journal
        self._token = token

    def __getattr__(self, name: str) -> Any:
        return getattr(self._opened, name)

    async def commit(self, events: Sequence[Event], *, after: int) -> int:
        with self._journal._noted(events, self._token) as note:
            last = int(await self._opened.commit(events, after=after))
            note.done = True
        return last
