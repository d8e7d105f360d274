"""A channel without a carrier: what is sent is shown. It keeps a list as a carrier would, in memory."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable

__all__ = ("Console",)


class Console:
    """Hands each text to `show`, with the number that it goes to."""

    confirms_keywords = False

    def __init__(self, show: Callable[[str, str], None], *, clock: Callable[[], float] = time.time) -> None:
        self._show = show
        self._clock = clock
        self._ids = itertools.count(1)
        self.sent: list[tuple[str, str, str, float]] = []
        """Id, number, text and time of everything that was sent."""

    async def send(self, number: str, text: str) -> str:
        """Show it."""
        name = f"console-{next(self._ids)}"
        self._show(number, text)
        self.sent.append((name, number, text, self._clock()))
        return name

    async def find(self, number: str, text: str, *, since: float) -> list[str]:
        """What was sent to the number with that text."""
        return [name for name, to, said, at in self.sent if (to, said) == (number, text) and at >= since]
