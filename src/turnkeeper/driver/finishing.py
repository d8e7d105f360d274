"""Work that is finished once it was begun, whatever cancels its caller: what the journal is told must be known here."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

import anyio

__all__ = ("finished",)

T = TypeVar("T")


async def finished(work: Coroutine[Any, Any, T]) -> T:
    """Run `work` in a task of its own and wait for its end, also while the caller is being cancelled.

    A cancellation by asyncio (`task.cancel()`, `wait_for`, Ctrl-C in `asyncio.run`) passes through anyio's shields; it
    is raised here once the work is done.
    """
    task = asyncio.ensure_future(work)
    cancelled: asyncio.CancelledError | None = None
    with anyio.CancelScope(shield=True):
        while not task.done():
            try:
                await asyncio.wait([task])
            except asyncio.CancelledError as error:
                cancelled = error
    if cancelled is not None:
        if not task.cancelled():
            task.exception()  # it was seen; the cancellation goes first
        raise cancelled
    return task.result()
