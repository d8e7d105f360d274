"""The synchronous doors: event loops in background threads, and a way to call into them.

One loop serves a process. It has a second one only while it stands still itself: when an async tool of an agent calls
`run_sync` of another, the tool's own loop waits, and the work runs in the next. Such a tool holds up everything else
that runs there; `await agent.run(…)` does not.
"""

from __future__ import annotations

import asyncio
import atexit
import concurrent.futures
import contextlib
import os
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

__all__ = ("call", "is_here")

T = TypeVar("T")

_PATIENCE = 30.0
"""Seconds that an interrupted call may take to write down what it did."""


class _Loop:
    """An event loop in a thread of its own, until the process ends."""

    def __init__(self) -> None:
        self.stands_still = False
        self._stopping = False
        self._loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self._run, name="turnkeeper", daemon=True)
        self.thread.start()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        while not self._stopping:
            # What a task raises of this kind comes out here too; its caller gets it, and everyone else goes on.
            with contextlib.suppress(KeyboardInterrupt, SystemExit):
                self._loop.run_forever()
        with contextlib.suppress(KeyboardInterrupt, SystemExit):
            self._loop.run_until_complete(self._wind_down())
        self._loop.close()

    async def _wind_down(self) -> None:
        left = asyncio.all_tasks() - {asyncio.current_task()}
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)
        await self._loop.shutdown_asyncgens()

    def call(self, work: Callable[[], Awaitable[T]]) -> T:
        """Run `work()` here and wait for it, in another thread."""
        over = threading.Event()
        begun: list[asyncio.Task[T]] = []

        async def run() -> T:
            _in_asyncio()
            return await work()

        def ended(task: asyncio.Task[T]) -> None:
            if not task.cancelled():
                task.exception()  # it is raised below, or gives way to an interrupt
            over.set()

        def begin() -> None:
            task = self._loop.create_task(run())
            begun.append(task)
            task.add_done_callback(ended)

        def cancel() -> None:
            begun[0].cancel()

        self._loop.call_soon_threadsafe(begin)  # in the caller's context
        try:
            over.wait()
        except BaseException:
            self._loop.call_soon_threadsafe(cancel)
            over.wait(_PATIENCE)
            raise
        if begun[0].cancelled():
            raise concurrent.futures.CancelledError
        return begun[0].result()

    def stop(self) -> None:
        """Cancel what runs, and wait until it has ended."""

        def stop() -> None:
            self._stopping = True
            self._loop.stop()

        self._loop.call_soon_threadsafe(stop)
        self.thread.join(_PATIENCE)


_lock = threading.Lock()
_loops: list[_Loop] = []
_left_behind: list[list[_Loop]] = []
"""Loops of the process that this one was forked from: collecting one would reach into it, through what they share."""


@contextmanager
def _free_loop() -> Iterator[_Loop]:
    """A loop that can work while this thread waits for it."""
    me = threading.current_thread()
    with _lock:
        own = next((loop for loop in _loops if loop.thread is me), None)
        if own is not None:
            own.stands_still = True
        free = next((loop for loop in _loops if not loop.stands_still and loop.thread.is_alive()), None)
        if free is None:
            free = _Loop()
            _loops.append(free)
    try:
        yield free
    finally:
        if own is not None:
            own.stands_still = False


def call(work: Callable[[], Awaitable[T]]) -> T:
    """Run `work()` in a background loop and wait for it, from any thread, also where a loop runs already.

    Context variables of the caller are seen inside. An interrupt (Ctrl-C) cancels the work, waits until it has
    written down what it did, and is raised again.
    """
    with _free_loop() as loop:
        return loop.call(work)


def is_here() -> bool:
    """Whether this is the loop that lasts: what is kept open for it will be used again, and may stay open."""
    return bool(_loops) and _loops[0].thread is threading.current_thread()


def _in_asyncio() -> None:
    # Where sniffio is installed, the caller's context may name the event loop that the caller runs in.
    if (sniffio := sys.modules.get("sniffio")) is not None:
        sniffio.current_async_library_cvar.set("asyncio")


def _stop_all() -> None:
    while _loops:
        _loops.pop().stop()


def _after_fork() -> None:
    # A forked child has none of its parent's threads, and perhaps its lock in the middle of something.
    global _lock, _loops  # noqa: PLW0603
    _lock = threading.Lock()
    _left_behind.append(_loops)
    _loops = []


atexit.register(_stop_all)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
