"""The synchronous doors: one background event loop per process, and a way to call into it."""

from __future__ import annotations

import atexit
import os
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from contextlib import AbstractContextManager
from typing import TypeVar

from anyio.from_thread import BlockingPortal, start_blocking_portal

__all__ = ("call",)

T = TypeVar("T")

_PATIENCE = 30.0
"""Seconds that an interrupted call may take to write down what it did."""

_lock = threading.Lock()
_opened: tuple[int, BlockingPortal, AbstractContextManager[BlockingPortal]] | None = None


def _portal() -> BlockingPortal:
    global _opened  # noqa: PLW0603 - one loop per process is the point
    with _lock:
        if _opened is None or _opened[0] != os.getpid():
            manager = start_blocking_portal(name="turnkeeper")
            _opened = (os.getpid(), manager.__enter__(), manager)
            atexit.register(_close, os.getpid())
        return _opened[1]


def _submitted(work: Callable[[], Awaitable[T]]) -> Future[T]:
    try:
        return _portal().start_task_soon(work)
    except RuntimeError:
        _forget()
        return _portal().start_task_soon(work)


def _forget() -> None:
    """A KeyboardInterrupt or SystemExit raised inside ends an event loop; the next call begins a new one."""
    global _opened  # noqa: PLW0603
    with _lock:
        _opened = None


def _close(pid: int) -> None:
    if _opened is not None and _opened[0] == pid == os.getpid():
        _opened[2].__exit__(None, None, None)


def call(work: Callable[[], Awaitable[T]]) -> T:
    """Run `work()` in the background loop and wait for it, from any thread, also where a loop runs already.

    Context variables of the caller are seen inside. An interrupt (Ctrl-C) cancels the work, waits until it has
    written down what it did, and is raised again.
    """
    over = threading.Event()

    async def watched() -> T:
        try:
            return await work()
        finally:
            over.set()

    future = _submitted(watched)
    try:
        return future.result()
    except BaseException as error:
        if not over.is_set():
            future.cancel()
            over.wait(_PATIENCE)
        elif isinstance(error, KeyboardInterrupt | SystemExit):
            _forget()
        raise
