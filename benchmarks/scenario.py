"""The conversation that every client holds: its tool, its prompt, and how long it goes on."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

__all__ = ("DESCRIPTION", "FINAL", "MODEL", "NAME", "PROMPT", "SCHEMA", "SYSTEM", "Scenario", "tool_of")

MODEL = "claude-sonnet-5"
SYSTEM = "You keep the stock list of a warehouse."
PROMPT = "Count every shelf, then tell me that you are done."
FINAL = "Every shelf is counted."
"""How the last reply begins; a client that does not return it went wrong."""

NAME = "count_shelf"
DESCRIPTION = "Counts what is on one shelf."
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"shelf": {"type": "string", "description": "The shelf's label."}},
    "required": ["shelf"],
}


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """One kind of run. `rounds` replies ask for `calls` tool calls each; one more reply ends the conversation."""

    url: str
    mode: str
    """`sync` or `async`: which of the library's doors is used, and which kind of function the tool is."""
    stream: bool
    rounds: int
    calls: int
    result_bytes: int
    check: bool = False
    """Has the server read each request and refuse what the API would; for warm-up, never while time is taken."""
    marks: list[float] = field(default_factory=list)
    """Processor time at each tool call, in seconds."""

    @property
    def base_url(self) -> str:
        """The server reads the script from the path, so a client needs nothing but a base URL."""
        return f"{self.url}/{self.rounds}x{self.calls}{'/checked' if self.check else ''}"

    @property
    def requests(self) -> int:
        """Requests in one conversation."""
        return self.rounds + 1

    def count(self, shelf: str) -> str:
        """The tool's work: a text of the wanted size, different each time, as real results are."""
        self.marks.append(time.process_time())
        text = f"Shelf {shelf}, count {len(self.marks)}: "
        return (text + "4 boxes of “bolts”, 12 bags; " * (self.result_bytes // 28 + 1))[: self.result_bytes]


def tool_of(scenario: Scenario) -> Callable[..., Any]:
    """The tool as a plain function, sync or async as the mode says, for libraries that read its name and docstring."""

    def count_shelf(shelf: str) -> str:
        """Counts what is on one shelf.

        Args:
            shelf: The shelf's label.
        """
        return scenario.count(shelf)

    async def count_shelf_async(shelf: str) -> str:
        return scenario.count(shelf)

    count_shelf_async.__name__ = count_shelf.__name__
    count_shelf_async.__doc__ = count_shelf.__doc__
    return count_shelf_async if scenario.mode == "async" else count_shelf
