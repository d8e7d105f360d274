"""A worker: a process that takes conversations from the queue and drives one turn of each, until it is told to stop."""

from __future__ import annotations

import concurrent.futures
import functools
import logging
import math
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import anyio
from anyio import to_thread
from anyio.from_thread import BlockingPortal

from turnkeeper.driver.agent import Agent
from turnkeeper.driver.inbox import Inject
from turnkeeper.driver.keeper import Keeper
from turnkeeper.driver.leasing import new_holder
from turnkeeper.errors import ConfigurationError
from turnkeeper.workers.dispatching import Dispatcher, dispatching
from turnkeeper.workers.queueing import (
    APPLICATION,
    QUEUE,
    SCHEMA,
    VERSION,
    WORKFLOW,
    Rate,
    database_url,
    quiet_dbos,
)
from turnkeeper.workers.upkeep import Patience, Upkeep

if TYPE_CHECKING:
    from dbos import DBOSConfig

__all__ = ("run_worker", "serve_worker")

_log = logging.getLogger("turnkeeper")

_KEEP_SECONDS = 3600.0
_CONNECTIONS = 5


class _Worker:
    """The turns of this process."""

    def __init__(self, keeper: Keeper, dispatcher: Dispatcher, patience: Patience, inject: Inject | None) -> None:
        self._keeper = keeper
        self._dispatcher = dispatcher
        self._patience = patience
        self._inject = inject
        self._running = 0
        self._idle = anyio.Event()
        self.stopping = False
        self.handed_back: set[str] = set()

    async def turn(self, conversation_id: str) -> str:
        """Drive one turn of the conversation, and have a worker look again if there is more; a word for DBOS."""
        self._running += 1
        done = "stopped"
        try:
            done = await self._drive(conversation_id)
        finally:
            if done == "stopped":
                self.handed_back.add(conversation_id)
            self._running -= 1
            if not self._running:
                self._idle.set()
        return done

    async def _drive(self, conversation_id: str) -> str:
        try:
            done = await self._keeper.work_off(
                conversation_id, turns=1, stop=lambda: self.stopping, inject=self._inject
            )
        except Exception:  # noqa: BLE001 - logged here, because DBOS's tables get ids and words only
            _log.exception("conversation %s could not go on; it is tried again", conversation_id)
            self._patience.stuck(conversation_id)
            return "failed"
        if done.left == "person" and not done.replies:
            self._patience.stuck(conversation_id)
        else:
            self._patience.moved(conversation_id)
        if done.left == "more":
            # After the lease is free again: who meanwhile found it taken relies on this.
            await self._dispatcher.wake(conversation_id)
        return done.left

    async def wait_until_idle(self) -> None:
        """Until no turn runs."""
        while self._running:
            self._idle = anyio.Event()
            await self._idle.wait()


async def serve_worker(  # noqa: PLR0913 - the one place where a worker is set
    agent: Agent,
    journal_url: str,
    *,
    concurrency: int = 10,
    total_concurrency: int | None = None,
    rate: Rate | None = None,
    inject: Inject | None = None,
    poll_seconds: float = 0.25,
    look_seconds: float = 2.0,
    grace_seconds: float = 30.0,
    ready: Callable[[str], object] | None = None,
    stop: anyio.Event | None = None,
) -> None:
    """Take turns from the queue beside the journal and run them, until `stop` is set.

    At most `concurrency` turns run at once here, `total_concurrency` in all workers together, and no more begin than
    the `rate` allows; these are the queue's, and those of the worker that started last count for all. A process is one
    worker, and the application's other uses of DBOS belong into other processes.

    `inject` gives the tools' Injected parameters by conversation and principal. The queue is asked for work every
    `poll_seconds`, and every `look_seconds` the journal for conversations whose driver is gone. `ready` is called with
    the worker's name when it takes turns. Once `stop` is set, turns that run are left where no call is under way;
    calls under way have `grace_seconds` to end and are then cut off.

    ConfigurationError if the extra `workers` isn't installed, the journal isn't in PostgreSQL, or a number can't be
    used; JournalError as for `open_journal`.
    """
    _check(concurrency=concurrency, total=total_concurrency, poll=poll_seconds, look=look_seconds, grace=grace_seconds)
    url = database_url(journal_url)
    quiet_dbos()
    executor = new_holder()
    stop = stop or anyio.Event()
    queue: dict[str, Any] = {
        "worker_concurrency": concurrency,
        "global_concurrency": total_concurrency,
        "limiter": None if rate is None else {"limit": rate.turns, "period": rate.seconds},
        "polling_interval_sec": poll_seconds,
        "on_conflict": "always_update",
    }
    async with agent.open(url) as keeper, dispatching(keeper.journal, url) as dispatcher:
        patience = Patience()
        upkeep = Upkeep(
            keeper,
            dispatcher,
            executor=executor,
            patience=patience,
            look_seconds=look_seconds,
            keep_seconds=max(_KEEP_SECONDS, 0.0 if rate is None else 2 * rate.seconds),
        )
        worker = _Worker(keeper, dispatcher, patience, inject)
        async with _taking_turns(worker, url, executor, queue, grace_seconds), anyio.create_task_group() as group:
            if ready is not None:
                ready(executor)
            group.start_soon(upkeep.run)
            await stop.wait()
            worker.stopping = True
            group.cancel_scope.cancel()
        await dispatcher.wake_all(sorted(worker.handed_back))


def run_worker(agent: Agent, journal_url: str, **options: Any) -> None:
    """`serve_worker` for a program that does nothing else: SIGTERM and SIGINT stop it, a second one cuts short."""

    async def work() -> None:
        stop = anyio.Event()
        with anyio.CancelScope() as scope, anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:

            async def listen() -> None:
                async for _ in signals:
                    if stop.is_set():
                        scope.cancel()
                    stop.set()

            async with anyio.create_task_group() as group:
                group.start_soon(listen)
                await serve_worker(agent, journal_url, stop=stop, **options)
                group.cancel_scope.cancel()

    anyio.run(work)


@asynccontextmanager
async def _taking_turns(
    worker: _Worker, url: str, executor: str, queue: dict[str, Any], grace: float
) -> AsyncIterator[None]:
    """DBOS at work while the block runs; its threads hand each turn to this event loop."""
    from dbos import DBOS  # noqa: PLC0415 - an extra

    async with BlockingPortal() as portal:
        with anyio.CancelScope(shield=True):
            await to_thread.run_sync(functools.partial(_launch, worker, portal, url, executor, queue))
        hurry = True
        try:
            yield
            hurry = False
        finally:
            worker.stopping = True
            with anyio.CancelScope(shield=True):
                async with anyio.create_task_group() as group:
                    # DBOS stops handing out at once, and waits for the turns that run
                    wait = math.ceil(grace) + 10
                    group.start_soon(
                        to_thread.run_sync,
                        lambda: DBOS.destroy(destroy_registry=True, workflow_completion_timeout_sec=wait),
                    )
                    with anyio.move_on_after(0 if hurry else grace):
                        await worker.wait_until_idle()
                    await portal.stop(cancel_remaining=True)


def _launch(worker: _Worker, portal: BlockingPortal, url: str, executor: str, queue: dict[str, Any]) -> None:
    from dbos import DBOS, DBOSPortableJSONSerializer  # noqa: PLC0415 - an extra

    def turn(conversation_id: str) -> str:
        try:
            return portal.call(worker.turn, conversation_id)
        except (concurrent.futures.CancelledError, RuntimeError):  # cut off; or the portal is closed
            return "stopped"

    config: DBOSConfig = {
        "name": APPLICATION,
        "system_database_url": url,
        "dbos_system_schema": SCHEMA,
        "application_version": VERSION,
        "executor_id": executor,
        "serializer": DBOSPortableJSONSerializer(),
        "sys_db_pool_size": _CONNECTIONS,
        # nothing of it is used that would have to be listened for; its thread sleeps so long at a time, also at the end
        "use_listen_notify": False,
        "notification_listener_polling_interval_sec": 0.2,
        "log_level": "WARNING",
    }
    DBOS.workflow(name=WORKFLOW)(turn)
    DBOS(config=config)
    if DBOS.executor_id != executor:
        raise ConfigurationError("this process uses DBOS for something else; a worker needs one of its own")
    try:
        DBOS.listen_queues([QUEUE])
        DBOS.launch()
        DBOS.register_queue(QUEUE, **queue)
    except BaseException:
        DBOS.destroy(destroy_registry=True)
        raise


def _check(*, concurrency: int, total: int | None, poll: float, look: float, grace: float) -> None:
    if concurrency < 1 or (total is not None and total < concurrency):
        raise ConfigurationError(
            f"concurrency is 1 or more, and total_concurrency not below it; not {concurrency} and {total}"
        )
    for name, seconds in (("poll_seconds", poll), ("look_seconds", look)):
        if not 0 < seconds <= 3600:
            raise ConfigurationError(f"{name} is more than 0 and an hour at most, not {seconds:g}")
    if not 0 <= grace <= 24 * 3600:
        raise ConfigurationError(f"grace_seconds is 0 or more and a day at most, not {grace:g}")
