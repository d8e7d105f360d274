"""Ids of what the simulator sends: `msg_…`, `toolu_…`, `srvtoolu_…`, `req_…`.

An id source is any callable from the prefix to a new id. Tests count (`SerialIds`); a server draws (`random_ids`),
so that a conversation which outlives the server never meets one of its ids again.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable
from typing import TypeAlias

__all__ = ("IdSource", "SerialIds", "random_ids")

IdSource: TypeAlias = Callable[[str], str]
"""Prefix such as `toolu` -> a new id that starts with it."""


class SerialIds:
    """Counts per prefix: `toolu_000001`, `toolu_000002`, `msg_000001`; the same run gives the same ids. Thread-safe."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}
        self._lock = threading.Lock()

    def __call__(self, prefix: str) -> str:
        """The next id with this prefix."""
        with self._lock:
            number = self._counts.get(prefix, 0) + 1
            self._counts[prefix] = number
        return f"{prefix}_{number:06d}"


def random_ids(prefix: str) -> str:
    """A fresh id in the length and alphabet of the API's."""
    alphabet = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
    return f"{prefix}_01" + "".join(secrets.choice(alphabet) for _ in range(22))
