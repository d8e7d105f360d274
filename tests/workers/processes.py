"""Worker processes for tests, and waiting for what they bring about."""

from __future__ import annotations

import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import TracebackType
from typing import Self

import anyio

__all__ = ("WorkerProcess", "until")

ROOT = Path(__file__).resolve().parents[2]
_SILENCE = 90.0
"""Seconds a worker may take for a line that a test waits for; then it is killed, and the test fails."""


async def until(check: Callable[[], Awaitable[bool]], what: str, *, seconds: float = 90) -> float:
    """Look again and again whether it has come true; the seconds that took. AssertionError at the deadline."""
    began = time.monotonic()
    while not await check():
        waited = time.monotonic() - began
        assert waited < seconds, f"after {waited:.0f} seconds still not: {what}"
        await anyio.sleep(0.05)
    return time.monotonic() - began


class WorkerProcess:
    """One `tests.workers.worker`; begins at once, and is dead when the block is left."""

    def __init__(self, journal: str, api: str, name: str, *options: str) -> None:
        self.name = name
        self._errors = tempfile.TemporaryFile("w+")  # noqa: SIM115 - closed in __exit__
        self._process = subprocess.Popen(
            [sys.executable, "-W", "error", "-m", "tests.workers.worker", journal, api, name, *options],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            cwd=ROOT,
        )

    def wait_until_ready(self) -> str:
        """Until it takes turns; its name in DBOS."""
        word, _, executor = self._line().partition(" ")
        assert word == "ready", f"{self.name} is not ready: {self.errors()}"
        return executor

    def kill(self) -> None:
        """SIGKILL: no farewell."""
        self._process.kill()
        assert self._process.wait(30) == -signal.SIGKILL

    def signal(self, number: signal.Signals) -> None:
        """Send it a signal."""
        self._process.send_signal(number)

    def stop(self, seconds: float = 60) -> str:
        """SIGTERM: it hands back what runs and ends; what it complained of."""
        self._process.terminate()
        assert self._line() == "stopped", self.errors()
        assert self._process.wait(seconds) == 0, self.errors()
        return self.errors()

    def errors(self) -> str:
        """What it wrote to stderr so far."""
        self._errors.seek(0)
        return self._errors.read()

    def _line(self) -> str:
        assert self._process.stdout is not None
        alarm = threading.Timer(_SILENCE, self._process.kill)
        alarm.start()
        try:
            return self._process.stdout.readline().strip()
        finally:
            alarm.cancel()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.communicate()
        self._errors.close()
