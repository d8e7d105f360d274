"""One driver at a time: the lease on a conversation, held while a turn runs."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import hashlib
import os
import socket
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import anyio

from turnkeeper.driver.finishing import finished
from turnkeeper.errors import ConversationBusyError, JournalError
from turnkeeper.journal.port import Journal, Lease

__all__ = ("LEASE_SECONDS", "Hold", "held", "new_holder")

LEASE_SECONDS = 30.0
"""How long a lease lasts without being renewed: the wait before another machine takes over from a dead one."""
RENEWALS = 3
"""How often a lease is renewed while it would last: twice in vain does no harm."""
WAIT_SECONDS = 0.1
"""How often a lease that is waited for is asked for."""


def new_holder() -> str:
    """A name for one driver: host, process, a random part, and what sets hosts of the same name apart."""
    return f"{socket.gethostname()}:{os.getpid()}:{uuid.uuid4().hex[:8]}:{_machine()}"


@functools.cache
def _machine() -> str:
    """Eight digits that are the same wherever a process id means the same process: one boot, one container."""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as boot:
            here = f"{boot.read().strip()} {os.stat('/proc/self/ns/pid').st_ino}"
    except OSError:  # not Linux
        here = f"{uuid.getnode()}"
    return hashlib.sha256(here.encode()).hexdigest()[:8]


class Hold:
    """The lease as it stands; `token` goes with every append."""

    def __init__(self, lease: Lease) -> None:
        self.lease = lease
        self.lost: JournalError | None = None

    @property
    def token(self) -> int:
        """The fencing token."""
        return self.lease.token


@asynccontextmanager
async def held(
    journal: Journal,
    conversation_id: str,
    *,
    holder: str,
    clock: Callable[[], float],
    wait: bool = False,
    take_over: bool = False,
    seconds: float = LEASE_SECONDS,
) -> AsyncIterator[Hold]:
    """Hold the lease while the block runs. ConversationBusyError if another has it, or takes it over meanwhile.

    With `wait` the lease is waited for as long as it takes; with `take_over` it is taken from whoever holds it, whose
    appends are refused from then on. Without being renewed it would last for `seconds`.
    """

    async def acquire() -> Lease:
        return await _acquire(
            journal, conversation_id, holder=holder, clock=clock, seconds=seconds, take_over=take_over
        )

    while True:
        try:
            hold = Hold(await _taken(journal, acquire))
            break
        except ConversationBusyError:
            if not (wait or take_over):  # another may have taken it over in between: ask again
                raise
        await anyio.sleep(WAIT_SECONDS)
    work = anyio.CancelScope()

    async def keep() -> None:
        while hold.lost is None:
            await anyio.sleep(seconds / RENEWALS)
            try:
                hold.lease = await journal.renew(hold.lease, seconds=seconds, now=clock())
            except JournalError as error:
                # A journal that is busy or away for a moment costs nothing while the lease lasts.
                passing = getattr(error, "retryable", False) and clock() < hold.lease.expires_at
                hold.lost = None if passing else error
        work.cancel()

    keeping = asyncio.create_task(keep())
    try:
        with work:
            yield hold
        if hold.lost is not None:
            raise hold.lost
    finally:
        keeping.cancel()
        await finished(_give_back(journal, hold.lease))


async def _taken(journal: Journal, acquire: Callable[[], Awaitable[Lease]]) -> Lease:
    """The lease; given back if the caller was cancelled while it was being taken."""
    taken: list[Lease] = []

    async def take() -> None:
        taken.append(await acquire())

    try:
        await finished(take())
    except BaseException:
        for lease in taken:
            await finished(_give_back(journal, lease))
        raise
    return taken[0]


async def _give_back(journal: Journal, lease: Lease) -> None:
    with contextlib.suppress(JournalError):  # it runs out by itself
        await journal.release(lease)


async def _acquire(
    journal: Journal,
    conversation_id: str,
    *,
    holder: str,
    clock: Callable[[], float],
    seconds: float,
    take_over: bool,
) -> Lease:
    try:
        return await journal.acquire(conversation_id, holder=holder, seconds=seconds, now=clock())
    except ConversationBusyError as busy:
        if busy.holder is None or not (take_over or _is_dead(busy.holder)):
            raise
        # A process that is gone renews nothing, one that is interrupted shall not. Only from that one it is taken:
        # whoever came first to do the same holds it by right.
        return await journal.acquire(
            conversation_id, holder=holder, seconds=seconds, now=clock(), instead_of=busy.holder
        )


def _is_dead(holder: str | None) -> bool:
    """Whether the holder was a process of this machine that no longer runs."""
    host, _, rest = (holder or "").partition(":")
    pid, _, rest = rest.partition(":")
    machine = rest.partition(":")[2]
    if host != socket.gethostname() or machine not in ("", _machine()) or not pid.isdecimal():
        return False
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return False
