"""Ctrl-C as a plan: the first one stops what is going on in good order, the second one leaves at once.

The handler is a plain signal handler of the process, there from the command's start to its end, so there is no moment
in which an interrupt is lost or tears something apart. What the first one does depends on where the command is: it
raises KeyboardInterrupt while no event loop runs; in the loop it calls what `during` names, or else cancels the
command's scope.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator
from types import FrameType
from typing import TYPE_CHECKING

from turnkeeper.cli.exits import Exit
from turnkeeper.cli.terminal import read_mode, set_mode

if TYPE_CHECKING:
    import asyncio

__all__ = ("during", "in_loop", "on_interrupt")


class _Plan:
    """What the next Ctrl-C does."""

    def __init__(self) -> None:
        self.presses = 0
        self.loop: asyncio.AbstractEventLoop | None = None
        self.first: Callable[[], object] | None = None
        self.wakes: int | None = None  # the descriptor that a signal writes to, to wake the loop
        self.mode = read_mode()

    def handle(self, number: int, frame: FrameType | None) -> None:
        del number, frame
        self.presses += 1
        if self.loop is None or self.first is None:
            raise KeyboardInterrupt
        if self.presses > 1:
            self.leave()
        self.loop.call_soon_threadsafe(self.first)

    def terminate(self, number: int, frame: FrameType | None) -> None:
        """Give the terminal back as it was, and end as the signal would have ended the command."""
        del frame
        set_mode(self.mode)
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)

    def be_heard(self) -> None:
        """Have signals wake the loop. Whoever handles one by the loop, as prompts do, takes that away at the end."""
        if self.wakes is not None:
            signal.set_wakeup_fd(self.wakes, warn_on_full_buffer=False)

    def leave(self) -> None:
        """End the process now. What was done is in the journal; a call under way is found there as started."""
        set_mode(self.mode)
        for stream in (sys.stdout, sys.stderr):
            # the handler may have interrupted a write to the very stream
            with contextlib.suppress(Exception):
                stream.flush()
        os._exit(Exit.INTERRUPTED)


_plan: _Plan | None = None


@contextlib.contextmanager
def on_interrupt() -> Iterator[None]:
    """Handle Ctrl-C as said above while this lasts. Elsewhere than in the main thread, nothing changes."""
    global _plan  # noqa: PLW0603 - signal handlers are the process's
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    _plan = _Plan()
    before = {signal.SIGINT: signal.signal(signal.SIGINT, _plan.handle)}
    if _plan.mode is not None:
        before[signal.SIGTERM] = signal.signal(signal.SIGTERM, _plan.terminate)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        _plan = None


def in_loop(work: Callable[[], Awaitable[int]]) -> int:
    """Run a command's asynchronous part; gives its exit code, Exit.INTERRUPTED if Ctrl-C ended it."""
    import asyncio  # noqa: PLC0415 - `--help` has no need of an event loop

    import anyio  # noqa: PLC0415

    async def whole() -> int:
        with anyio.CancelScope() as scope:
            if _plan is not None:
                _plan.loop, _plan.first = asyncio.get_running_loop(), scope.cancel
                if _plan.presses:
                    scope.cancel()
            try:
                with _woken_by_signals(asyncio.get_running_loop()):
                    return await work()
            finally:
                if _plan is not None:
                    _plan.first = None
        return Exit.INTERRUPTED

    return anyio.run(whole)


@contextlib.contextmanager
def _woken_by_signals(loop: asyncio.AbstractEventLoop) -> Iterator[None]:
    """Python runs signal handlers between two steps of the main thread, and a loop that has just begun to wait for
    input takes none: the signal itself has to give it some."""
    plan = _plan
    if plan is None or sys.platform == "win32":  # that loop does it itself
        yield
        return
    inside, outside = socket.socketpair()
    with inside, outside:
        inside.setblocking(False)
        outside.setblocking(False)
        loop.add_reader(inside, inside.recv, 4_096)
        plan.wakes = outside.fileno()
        plan.be_heard()
        try:
            yield
        finally:
            plan.wakes = None
            signal.set_wakeup_fd(-1)
            loop.remove_reader(inside)


@contextlib.contextmanager
def during(first: Callable[[], object]) -> Iterator[None]:
    """In the event loop: the first Ctrl-C inside the block calls `first` there, the second one ends the process."""
    if _plan is None:
        yield
        return
    plan = _plan
    before, plan.first = plan.first, first
    plan.presses = 0
    plan.be_heard()
    try:
        yield
    finally:
        plan.first = before
        plan.presses = 0
        plan.be_heard()
