"""The measurements as Markdown tables."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

__all__ = ("VARIANTS", "Results", "growth_table", "requests_table", "spread_line", "versions_line")

VARIANTS = ("sync", "async", "sync stream", "async stream")
POINTS = (10, 30, 100, 300, 1000)
"""The rounds whose cost the growth table shows."""


@dataclass(frozen=True)
class Results:
    """Everything measured, by client and variant, in the order of the cycles; None where a client failed."""

    runs: dict[tuple[str, str], list[dict[str, Any] | None]] = field(default_factory=dict)
    failures: dict[tuple[str, str], str] = field(default_factory=dict)

    def add(self, client: str, variant: str, result: dict[str, Any] | None) -> None:
        self.runs.setdefault((client, variant), []).append(result)

    def values(self, client: str, variant: str) -> list[float]:
        return [run["per_request_ms"] for run in self.runs.get((client, variant), []) if run]

    def ratio(self, client: str, base: str, variant: str) -> float | None:
        """How many times the base's time the client took: the median over the cycles, each against its own base."""
        pairs = zip(self.runs.get((client, variant), []), self.runs.get((base, variant), []), strict=False)
        ratios = [ours["per_request_ms"] / theirs["per_request_ms"] for ours, theirs in pairs if ours and theirs]
        return statistics.median(ratios) if ratios else None

    def growth(self, client: str, variant: str) -> list[float]:
        """Milliseconds of each round, the median over the cycles."""
        runs = [run["growth_ms"] for run in self.runs.get((client, variant), []) if run]
        return [statistics.median(column) for column in zip(*runs, strict=True)]


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "|---" + "|---:" * (len(head) - 1) + "|"]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)])


def factor(value: float | None) -> str:
    return "" if value is None else f" ({value:.2f})"


def requests_table(results: Results, clients: Sequence[str], variants: Sequence[str], base: str) -> str:
    """Milliseconds per request: median, in brackets the ratio to `base`."""
    rows = []
    for client in clients:
        row = [f"`{client}`"]
        for variant in variants:
            values = results.values(client, variant)
            shown = f"{statistics.median(values):.2f}" if values else "failed"
            row.append(shown + factor(results.ratio(client, base, variant)))
        rows.append(row)
    return table(["client", *variants], rows)


def spread_line(results: Results, clients: Sequence[str], variants: Sequence[str]) -> str:
    """The widest spread between runs of one kind, so that a reader knows what a small difference is worth."""
    spreads = [
        max(values) / min(values) - 1
        for client in clients
        for variant in variants
        if len(values := results.values(client, variant)) > 1
    ]
    return f"Runs of the same kind differ by up to {max(spreads):.0%}." if spreads else "One run of each kind."


def growth_table(results: Results, clients: Sequence[str], variant: str, rounds: int) -> str:
    """Milliseconds of one request after so many rounds of history, each the mean of the rounds around it."""
    points = [point for point in POINTS if point <= rounds]
    rows = []
    for client in clients:
        curve = results.growth(client, variant)
        row = [f"`{client}`"]
        for point in points:
            reach = max(2, point // 20)
            # The curve's first entry is the cost of round 1: what passes between the calls of rounds 0 and 1.
            around = curve[max(0, point - 1 - reach) : point + reach]
            row.append(f"{statistics.mean(around):.2f}" if around else "failed")
        total = [run["seconds"] for run in results.runs.get((client, variant), []) if run]
        row.append(f"{statistics.median(total):.2f} s" if total else "failed")
        rows.append(row)
    return table(["client", *(f"round {point}" for point in points), "whole conversation"], rows)


def versions_line(results: Results) -> str:
    """The versions of all that was measured."""
    found: dict[str, str] = {}
    for runs in results.runs.values():
        for run in runs:
            found |= run["versions"] if run else {}
    return ", ".join(f"{package} {version}" for package, version in sorted(found.items()))
