"""Parts for users' tests: the simulator in-process, scripts, faults, fixed clock and ids.

`MessagesAPI(script("Hello!")).client()` is an SDK client whose model answers "Hello!"; the rules of the API are
checked on every request. The pytest plugin offers the same as fixtures.
"""

from __future__ import annotations

from turnkeeper.simulator import faults
from turnkeeper.simulator.ledger import Ledger, Record, Refusal
from turnkeeper.simulator.scripts import Script
from turnkeeper.testing.api import MessagesAPI
from turnkeeper.testing.builders import call, reply, script, text, thinking
from turnkeeper.testing.fixed import FixedClock, FixedIds

__all__ = (
    "FixedClock",
    "FixedIds",
    "Ledger",
    "MessagesAPI",
    "Record",
    "Refusal",
    "Script",
    "call",
    "faults",
    "reply",
    "script",
    "text",
    "thinking",
)
