"""The world outside: a file in which every effect is a line that survives the process."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

__all__ = ("Entry", "World")

Kind = Literal["effect", "attempt", "question"]


@dataclass(frozen=True, slots=True)
class Entry:
    """One line. `effect`: it happened; `attempt`: a tool ran; `question`: the world was asked whether it happened."""

    kind: Kind
    tool: str
    key: str
    order: str


class World:
    """The file; written by the killed processes, read by those who judge."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def note(self, kind: Kind, tool: str, key: str, order: str) -> None:
        """Add a line in one write, and wait until it is on the disk."""
        line = json.dumps([kind, tool, key, order], ensure_ascii=False) + "\n"
        file = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            os.write(file, line.encode())
            os.fsync(file)
        finally:
            os.close(file)

    def entries(self) -> list[Entry]:
        """All lines so far."""
        if not self._path.exists():
            return []
        return [Entry(*json.loads(line)) for line in self._path.read_text("utf-8").splitlines()]

    def happened(self, key: str) -> bool:
        """Whether an effect of that key is there."""
        return any(entry.kind == "effect" and entry.key == key for entry in self.entries())
