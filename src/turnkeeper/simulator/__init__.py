"""A strict local Messages API: it judges every request by the rules of the real one and answers from a script.

`Exchange` is the API without HTTP; `turnkeeper.testing` drives it in-process, `app` and `serving` put it on a
socket. It shares the shapes of the wire with the rest of Turnkeeper, never its rules.
"""

from __future__ import annotations

from turnkeeper.simulator.exchange import Exchange, Incoming, Options
from turnkeeper.simulator.imitations import IMITATIONS
from turnkeeper.simulator.ledger import Ledger, Record, Refusal
from turnkeeper.simulator.script_files import read_script
from turnkeeper.simulator.scripts import Script

__all__ = ("IMITATIONS", "Exchange", "Incoming", "Ledger", "Options", "Record", "Refusal", "Script", "read_script")
