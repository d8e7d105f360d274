"""The metrics: histograms by the convention, and a counter of our own for money."""

from __future__ import annotations

from dataclasses import dataclass

from opentelemetry.metrics import Counter, Histogram, Meter

from turnkeeper.telemetry.conventions import Convention, Metric

__all__ = ("Instruments",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Instruments:
    """What measurements are recorded with."""

    agent_duration: Histogram
    request_duration: Histogram
    first_chunk: Histogram
    later_chunk: Histogram
    tokens: Histogram
    tool_duration: Histogram
    cost: Counter

    @classmethod
    def of(cls, meter: Meter, names: Convention) -> Instruments:
        """The instruments of a meter, named as the convention says."""

        def histogram(metric: Metric) -> Histogram:
            return meter.create_histogram(
                metric.name,
                unit=metric.unit,
                description=metric.description,
                explicit_bucket_boundaries_advisory=list(metric.bounds),
            )

        return cls(
            agent_duration=histogram(names.agent_duration),
            request_duration=histogram(names.request_duration),
            first_chunk=histogram(names.first_chunk),
            later_chunk=histogram(names.later_chunk),
            tokens=histogram(names.tokens),
            tool_duration=histogram(names.tool_duration),
            cost=meter.create_counter(
                "turnkeeper.cost",
                unit="USD",
                description="What replies cost by the price list; the convention has none.",
            ),
        )
