"""OpenTelemetry spans and metrics of turns, by the GenAI conventions (extra `otel`).

`Agent(observer=Telemetry())` is all there is to do; the application sets up the OpenTelemetry SDK and its exporter, and
without one nothing is recorded. Content (prompts, arguments, results) is left out unless it is asked for. Importing
this package loads OpenTelemetry's API; `import turnkeeper` does not.
"""

from __future__ import annotations

from turnkeeper.errors import ConfigurationError

try:
    from turnkeeper.telemetry.conventions import CONVENTIONS, NEWEST
    from turnkeeper.telemetry.observer import Telemetry, from_environment
    from turnkeeper.telemetry.propagation import TraceContextMiddleware, continuing
except ModuleNotFoundError as error:
    if not (error.name or "").startswith("opentelemetry"):
        raise
    raise ConfigurationError("telemetry needs OpenTelemetry's API: install turnkeeper[otel]") from error

__all__ = ("CONVENTIONS", "NEWEST", "Telemetry", "TraceContextMiddleware", "continuing", "from_environment")
