"""A telemetry whose spans and measurements stay in memory, over the same clock as the agent and the simulator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import HistogramDataPoint, InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import turnkeeper as tk
from turnkeeper.telemetry import Telemetry
from turnkeeper.testing import FixedClock, MessagesAPI

MODEL = "claude-opus-4-8"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Kept:
    """What was exported."""

    def __init__(self) -> None:
        self.clock = FixedClock()
        self.exporter = InMemorySpanExporter()
        self.tracers = TracerProvider(shutdown_on_exit=False)
        self.tracers.add_span_processor(SimpleSpanProcessor(self.exporter))
        self.reader = InMemoryMetricReader()
        self.meters = MeterProvider([self.reader], shutdown_on_exit=False)

    def telemetry(self, **options: Any) -> Telemetry:
        return Telemetry(
            tracer_provider=self.tracers, meter_provider=self.meters, clock=self.clock, **{"content": False, **options}
        )

    def api(self, script: Any, **options: Any) -> MessagesAPI:
        return MessagesAPI(script, clock=self.clock, **options)

    def agent(self, api: MessagesAPI, *, telemetry: Telemetry | None = None, **options: Any) -> tk.Agent:
        settings: dict[str, Any] = {
            "model": MODEL,
            "max_tokens": 1000,
            "name": "desk",
            "chance": lambda: 0.0,
            "clock": self.clock,
            "sleep": self.clock.sleep,
            "observer": telemetry or self.telemetry(),
        }
        return tk.Agent(client=api, **(settings | options))

    @property
    def spans(self) -> Sequence[ReadableSpan]:
        """Every span that has ended, in the order in which they began."""
        return sorted(self.exporter.get_finished_spans(), key=lambda span: (span.start_time or 0, span.name))

    def named(self, name: str) -> list[ReadableSpan]:
        return [span for span in self.spans if span.name == name]

    def only(self, name: str) -> ReadableSpan:
        (found,) = self.named(name)
        return found

    def tree(self) -> list[Any]:
        """Names in the form of the tree: a name, or a name with the list of what is below it."""
        spans = self.spans
        ids = {id_of(span) for span in spans}

        def below(parent: int | None) -> list[Any]:
            found: list[Any] = []
            for span in spans:
                above = span.parent.span_id if span.parent is not None else None
                if (above if above in ids else None) == parent:
                    inner = below(id_of(span))
                    found.append((span.name, inner) if inner else span.name)
            return found

        return below(None)

    def points(self, name: str) -> dict[tuple[tuple[str, Any], ...], Any]:
        """A metric's points by their attributes: (count, sum) of a histogram, the value of a counter."""
        data = self.reader.get_metrics_data()
        assert data is not None
        found: dict[tuple[tuple[str, Any], ...], Any] = {}
        for resource in data.resource_metrics:
            for scope in resource.scope_metrics:
                for metric in scope.metrics:
                    if metric.name != name:
                        continue
                    for point in metric.data.data_points:
                        key = tuple(sorted((point.attributes or {}).items()))
                        if isinstance(point, HistogramDataPoint):
                            found[key] = (point.count, round(point.sum, 9))
                        else:
                            found[key] = getattr(point, "value", None)
        return found


def id_of(span: ReadableSpan) -> int:
    assert span.context is not None
    return int(span.context.span_id)


@pytest.fixture
def kept() -> Kept:
    return Kept()
