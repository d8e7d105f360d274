"""Sync functions off the event loop's thread, in daemon threads that nobody has to wait for.

anyio's worker threads are not daemons: a tool that hangs for ever would be abandoned by its call, and still keep the
process from exiting. How many run at once is limited by anyio's own default thread limiter, so applications tune it
where they tune the rest. Idle threads are kept for a while and serve every event loop of the process.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import functools
import inspect
import os
import queue
import sys
import threading
from collections.abc import Callable
from typing import Any, TypeVar

import anyio
import anyio.to_thread

__all__ = ("call_within", "run_in_thread", "runs_on_the_loop")

T = TypeVar("T")

_IDLE_SECONDS = 10.0
_lock = threading.Lock()
_idle: list[_Worker] = []


async def run_in_thread(function: Callable[[], T], *, at_once: bool = False) -> T:
    """Call `function` in a thread with the context variables of the caller; `function` must not raise.

    `at_once` doesn't wait where all threads are taken. Cancellation abandons the thread at once; what it returns later
    is dropped.
    """
    async with contextlib.nullcontext() if at_once else anyio.to_thread.current_default_thread_limiter():
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        context = contextvars.copy_context()

        def work() -> Callable[[], object]:
            result = context.run(_outside_the_loop, function)
            return lambda: loop.call_soon_threadsafe(_settle, future, result)

        with _lock:
            worker = _idle.pop() if _idle else None
        (worker or _Worker()).jobs.put(work)
        return await future


async def call_within(seconds: float, function: Callable[..., Any], /, *args: Any, **named: Any) -> Any:
    """What an application's function gives: an async one on the loop, a sync one in a thread.

    Raises what it raises, and TimeoutError after `seconds`; then, and when the caller is cancelled, its thread is left
    behind.
    """

    def work() -> tuple[Any, BaseException | None]:
        try:
            return function(*args, **named), None
        except BaseException as error:  # noqa: BLE001 - raised again below, on the loop
            return None, error

    with anyio.fail_after(seconds):
        found, error = work() if runs_on_the_loop(function) else await run_in_thread(work)
        if error is not None:
            raise error
        return await found if inspect.isawaitable(found) else found


def runs_on_the_loop(function: Callable[..., Any]) -> bool:
    """Whether a function is async: calling it does nothing yet, and its work is awaited."""
    while isinstance(function, functools.partial):
        function = function.func
    asynchronous = (inspect.iscoroutinefunction, inspect.isasyncgenfunction)
    called = getattr(type(function), "__call__", None)  # noqa: B004 - the method itself is wanted
    return any(test(function) or test(called) for test in asynchronous)


class _Worker:
    __slots__ = ("jobs",)

    def __init__(self) -> None:
        self.jobs: queue.SimpleQueue[Callable[[], Callable[[], object]]] = queue.SimpleQueue()
        threading.Thread(target=self._run, name="turnkeeper tool", daemon=True).start()

    def _run(self) -> None:
        while True:
            try:
                report = self.jobs.get(timeout=_IDLE_SECONDS)()
            except queue.Empty:
                with _lock:
                    if self in _idle:
                        _idle.remove(self)
                        return
                continue
            # Idle again before anyone hears of the result, so that the next call finds this thread.
            with _lock:
                _idle.append(self)
            # The loop may be gone by now, together with whoever waited.
            with contextlib.suppress(RuntimeError):
                report()
            del report


def _outside_the_loop(function: Callable[[], T]) -> T:
    # Where sniffio is installed, its variable says which event loop this context belongs to: none, in a thread.
    if (sniffio := sys.modules.get("sniffio")) is not None:
        sniffio.current_async_library_cvar.set(None)
    return function()


def _settle(future: asyncio.Future[T], result: T) -> None:
    if not future.done():
        future.set_result(result)


def _forget_threads() -> None:
    # A forked child has none of its parent's threads, and perhaps its lock in the middle of something.
    global _lock  # noqa: PLW0603
    _lock = threading.Lock()
    _idle.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_threads)
