"""What answers in the model's place: the port, and the practice model (scripts are the other one)."""

from __future__ import annotations

import threading
from typing import Any, Protocol

from turnkeeper.simulator.scripts import Entry, read_entry

__all__ = ("Answerer", "PracticeAnswerer")


class Answerer(Protocol):
    """Gives the entry that answers a request: a reply, or a fault in its place."""

    async def answer(self, request: dict[str, Any], *, keep: bool = False) -> Entry:
        """The entry for a request; with `keep` the next request gets the same one. Raises ScriptExhaustedError."""
        ...


class PracticeAnswerer:
    """The practice model, a rule-based stand-in for Claude; it is not an LLM and says so."""

    def __init__(self) -> None:
        self._model: Any = None
        self._lock = threading.Lock()

    async def answer(self, request: dict[str, Any], *, keep: bool = False) -> Entry:  # noqa: ARG002 - it keeps nothing
        """The practice model's reply; calls carry `caller: {"type": "direct"}` as the API's do."""
        with self._lock:
            if self._model is None:
                from turnkeeper.simulator.practice import PracticeModel  # noqa: PLC0415 - loads when it is used

                self._model = PracticeModel()
        answer = self._model.answer(request)
        content = [
            {**block, "caller": {"type": "direct"}} if block["type"] == "tool_use" else block
            for block in answer["content"]
        ]
        return read_entry({**answer, "content": content}, "the practice model's reply")
