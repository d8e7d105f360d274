"""OpenTelemetry spans and metrics of turns, by the GenAI conventions (extra `otel`).

`Agent(observer=Telemetry())` is all there is to do; the application sets up the OpenTelemetry SDK and its exporter, and
without one nothing is recorded. Content (prompts, arguments, results) is left out unless it is asked for.
OpenTelemetry's API is loaded when one of these names is first used; ConfigurationError if it isn't installed.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from turnkeeper.errors import ConfigurationError

if TYPE_CHECKING:
    from turnkeeper.telemetry.conventions import CONVENTIONS, NEWEST
    from turnkeeper.telemetry.observer import Telemetry, from_environment
    from turnkeeper.telemetry.propagation import TraceContextMiddleware, continuing

__all__ = ("CONVENTIONS", "NEWEST", "Telemetry", "TraceContextMiddleware", "continuing", "from_environment")

_HOMES = {
    "CONVENTIONS": "conventions",
    "NEWEST": "conventions",
    "Telemetry": "observer",
    "TraceContextMiddleware": "propagation",
    "continuing": "propagation",
    "from_environment": "observer",
}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'turnkeeper.telemetry' has no attribute {name!r}")
    try:
        value = getattr(importlib.import_module(f"turnkeeper.telemetry.{home}"), name)
    except ModuleNotFoundError as error:
        if not (error.name or "").startswith("opentelemetry"):
            raise
        raise ConfigurationError("telemetry needs OpenTelemetry's API: install turnkeeper[otel]") from error
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
