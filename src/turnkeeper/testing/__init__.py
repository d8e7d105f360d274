"""Parts for users' tests: the simulator in-process, scripts, faults, fixed clock and ids.

`MessagesAPI(script("Hello!")).client()` is an SDK client whose model answers "Hello!"; the rules of the API are checked
on every request. The pytest plugin offers the same as fixtures. Each name loads when it is first used, because every
pytest run that has Turnkeeper installed imports this package.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from turnkeeper.simulator import faults
    from turnkeeper.simulator.ledger import Ledger, Record, Refusal
    from turnkeeper.simulator.scripts import Script
    from turnkeeper.simulator.serving import serve
    from turnkeeper.testing.api import MessagesAPI
    from turnkeeper.testing.builders import call, reply, script, text, thinking
    from turnkeeper.testing.encyclopedia import Encyclopedia
    from turnkeeper.testing.fixed import FixedClock, FixedIds
    from turnkeeper.testing.replaying import assert_replays, recorded_agent, replay
    from turnkeeper.testing.twilio import TwilioAPI

__all__ = (
    "Encyclopedia",
    "FixedClock",
    "FixedIds",
    "Ledger",
    "MessagesAPI",
    "Record",
    "Refusal",
    "Script",
    "TwilioAPI",
    "assert_replays",
    "call",
    "faults",
    "recorded_agent",
    "replay",
    "reply",
    "script",
    "serve",
    "text",
    "thinking",
)

_HOMES = {
    "Encyclopedia": "turnkeeper.testing.encyclopedia",
    "FixedClock": "turnkeeper.testing.fixed",
    "FixedIds": "turnkeeper.testing.fixed",
    "Ledger": "turnkeeper.simulator.ledger",
    "MessagesAPI": "turnkeeper.testing.api",
    "Record": "turnkeeper.simulator.ledger",
    "Refusal": "turnkeeper.simulator.ledger",
    "Script": "turnkeeper.simulator.scripts",
    "TwilioAPI": "turnkeeper.testing.twilio",
    "assert_replays": "turnkeeper.testing.replaying",
    "call": "turnkeeper.testing.builders",
    "recorded_agent": "turnkeeper.testing.replaying",
    "replay": "turnkeeper.testing.replaying",
    "reply": "turnkeeper.testing.builders",
    "script": "turnkeeper.testing.builders",
    "serve": "turnkeeper.simulator.serving",
    "text": "turnkeeper.testing.builders",
    "thinking": "turnkeeper.testing.builders",
}


def __getattr__(name: str) -> Any:
    if name == "faults":
        return importlib.import_module("turnkeeper.simulator.faults")
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'turnkeeper.testing' has no attribute {name!r}")
    value = getattr(importlib.import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
