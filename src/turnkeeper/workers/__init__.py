"""Many machines: DBOS queues on PostgreSQL hand turns to worker processes; leases rescue the turns of dead ones.

The names below load DBOS when they are first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from turnkeeper.workers.dispatching import Dispatcher, open_dispatcher
    from turnkeeper.workers.queueing import Rate
    from turnkeeper.workers.serving import run_worker, serve_worker

__all__ = ("Dispatcher", "Rate", "open_dispatcher", "run_worker", "serve_worker")

_HOMES = {
    "Dispatcher": "turnkeeper.workers.dispatching",
    "Rate": "turnkeeper.workers.queueing",
    "open_dispatcher": "turnkeeper.workers.dispatching",
    "run_worker": "turnkeeper.workers.serving",
    "serve_worker": "turnkeeper.workers.serving",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)
