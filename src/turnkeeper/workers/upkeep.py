"""What each worker does beside its turns: it looks for conversations that nobody drives, and tidies DBOS's queue."""

from __future__ import annotations

import functools
import logging
import random
import time
from collections.abc import Callable

import anyio

from turnkeeper.driver.keeper import Keeper
from turnkeeper.driver.leasing import held
from turnkeeper.errors import ConversationBusyError
from turnkeeper.workers.dispatching import Dispatcher
from turnkeeper.workers.queueing import Handing

__all__ = ("Patience", "Upkeep")

_log = logging.getLogger("turnkeeper")

_MOST_RESCUED = 200
_LONGEST_PAUSE = 300.0


class Patience:
    """How long to leave a conversation alone that did not move, though it could: twice as long each time."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._stuck: dict[str, tuple[int, float]] = {}

    def moved(self, conversation_id: str) -> None:
        """It is as good as any other again."""
        self._stuck.pop(conversation_id, None)

    def stuck(self, conversation_id: str) -> None:
        """It did not move; leave it alone for a while."""
        times = self._stuck.get(conversation_id, (0, 0.0))[0] + 1
        self._stuck[conversation_id] = (times, self._clock() + min(2.0**times, _LONGEST_PAUSE))

    def allows(self, conversation_id: str) -> bool:
        """Whether it may be tried."""
        return self._clock() >= self._stuck.get(conversation_id, (0, 0.0))[1]


class Upkeep:
    """Looks around every `look_seconds`, more or less; all workers do, and none has to.

    `executor` is this worker's own name in DBOS; what DBOS remembers of a turn is deleted after `keep_seconds`.
    """

    def __init__(
        self,
        keeper: Keeper,
        dispatcher: Dispatcher,
        *,
        executor: str,
        patience: Patience,
        look_seconds: float,
        keep_seconds: float,
    ) -> None:
        self._keeper = keeper
        self._dispatcher = dispatcher
        self._executor = executor
        self._patience = patience
        self._look_seconds = look_seconds
        self._keep_seconds = keep_seconds
        self._dead_after = 2 * keeper.agent.lease_seconds

    async def run(self) -> None:
        """For ever; what goes wrong is logged, and tried again at the next look."""
        tidied = -self._dead_after
        while True:
            try:
                await self.rescue()
                if time.monotonic() - tidied >= self._dead_after / 2:
                    tidied = time.monotonic()
                    await self.tidy()
            except Exception as error:  # noqa: BLE001 - a database that is away for a moment must not end the worker
                _log.warning("could not look for work: %s", type(error).__name__, exc_info=_log.isEnabledFor(10))
            await anyio.sleep(self._look_seconds * random.uniform(0.8, 1.2))

    async def rescue(self) -> int:
        """Wake workers for conversations that could go on and that no lease holds; how many these were."""
        found = await self._keeper.recoverable(limit=_MOST_RESCUED)
        return await self._dispatcher.wake_all(name for name in found if self._patience.allows(name))

    async def tidy(self) -> None:
        """Take out of the queue what dead workers left in it, and delete what DBOS keeps of turns long gone."""
        queue = self._dispatcher.queue
        now = time.time()
        old = [
            handing
            for handing in await self._dispatcher.in_thread(queue.handings)
            if handing.running and handing.executor != self._executor and handing.since <= now - self._dead_after
        ]
        dead = [handing for handing in old if await self._is_let_go(handing)]
        if dead:
            _log.warning("%d turns of workers that are gone were taken out of the queue", len(dead))
            await self._dispatcher.in_thread(functools.partial(queue.remove, dead))
        await self._dispatcher.in_thread(functools.partial(queue.forget, before=now - self._keep_seconds))

    async def _is_let_go(self, handing: Handing) -> bool:
        """Whether nobody holds the lease: whoever ran it is gone, or at its very end."""
        journal, clock = self._keeper.journal, self._keeper.agent.now
        try:
            async with held(journal, handing.conversation_id, holder=self._executor, clock=clock, seconds=10):
                return True
        except ConversationBusyError:
            return False
