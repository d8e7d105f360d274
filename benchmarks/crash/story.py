"""What every program is about, and the world that it acts on. Only the standard library: it runs in every venv.

A program is started as `python -m benchmarks.crash.peers.NAME BASE_URL FOLDER`. It brings the conversation to its end:
it goes on, by the means of its library, with what an earlier process left unfinished, and sends each of `MESSAGES` that
was not sent before. `effect` is what its one tool does.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

__all__ = ("DESCRIPTION", "MESSAGES", "MODEL", "TOOL", "between_messages", "effect", "happen", "note", "play")

MODEL = "claude-opus-4-8"
MESSAGES = ("Order 24601 arrived broken. Please write to me.", "Thank you!")
TOOL = "send_letter"
DESCRIPTION = "Send the customer of an order a letter."


def _die_at(point: str) -> None:
    if os.environ.get("CRASH_AT") == point:
        os.kill(os.getpid(), signal.SIGKILL)


def note(order: str) -> None:
    """A line in the ledger, on the disk before this returns."""
    ledger = os.open(Path(sys.argv[2]) / "ledger", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.write(ledger, f"{order}\n".encode())
    os.fsync(ledger)
    os.close(ledger)


def effect(order: str) -> str:
    """Send the letter: what the tool of every program does."""
    return happen(order, note)


def happen(order: str, do: Callable[[str], object]) -> str:
    """The same with another ledger."""
    _die_at("before the effect")
    do(order)
    _die_at("after the effect")
    return f"The letter about order {order} is sent."


def between_messages() -> None:
    """Call this when the first message is answered, and before the second is sent."""
    _die_at("between the messages")


def play(converse: Callable[[str, Path], str], *packages: str) -> None:
    """Run a program: `converse(base_url, folder)` gives the last answer. Prints it, and the versions used, as JSON."""
    answer = converse(sys.argv[1], Path(sys.argv[2]))
    print(json.dumps({"answer": answer, "versions": {name: version(name) for name in packages}}))
