"""A clock that stands still until it is told, and ids that count."""

from __future__ import annotations

import datetime
import threading

from turnkeeper.simulator.ids import SerialIds as FixedIds

__all__ = ("FixedClock", "FixedIds")

START = 1_796_000_400.0  # 2026-11-30 01:00:00 UTC


class FixedClock:
    """Seconds since 1970 that change only through `advance` and `sleep`. Call it for the time; thread-safe.

    `clock.sleep` is a sleep that moves this clock and doesn't wait; `clock.slept` lists what was asked of it, in
    seconds.
    """

    def __init__(self, start: float | datetime.datetime = START) -> None:
        self._lock = threading.Lock()
        self._time = start.timestamp() if isinstance(start, datetime.datetime) else float(start)
        self._slept: list[float] = []

    def __call__(self) -> float:
        """The time in seconds since 1970."""
        return self._time

    def now(self) -> datetime.datetime:
        """The time as an aware datetime in UTC."""
        return datetime.datetime.fromtimestamp(self._time, datetime.UTC)

    def advance(self, seconds: float) -> None:
        """Let so many seconds pass (0 or more; time doesn't go back)."""
        if seconds < 0:
            raise ValueError(f"a clock doesn't go back by {-seconds} seconds")
        with self._lock:
            self._time += seconds

    @property
    def slept(self) -> tuple[float, ...]:
        """The delays that passed by `sleep`, in seconds."""
        return tuple(self._slept)

    async def sleep(self, seconds: float) -> None:
        """Let the seconds pass at once."""
        self._slept.append(seconds)
        self.advance(seconds)
