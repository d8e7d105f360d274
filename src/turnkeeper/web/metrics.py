"""Counters of the web door, in the text form that Prometheus reads. They hold no names and no content."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from turnkeeper.driver.reply import Reply

__all__ = ("Metrics",)

_HELP = {
    "messages": "Messages taken in.",
    "turns": "Turns driven to an end here, by status.",
    "requests": "Requests of the Messages API in those turns.",
    "tokens": "Tokens billed in those turns, by kind.",
    "cost_usd": "What those turns cost, where the model has a known price.",
    "decisions": "Approvals and outcomes decided by staff, by decision.",
    "refused": "Requests refused by this door, by reason.",
    "events": "Events sent on event streams.",
}


class Metrics:
    """Counts since the process began."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[str, str, str]] = Counter()
        self._cost = 0.0

    def count(self, name: str, *, by: str = "", value: str = "", amount: int = 1) -> None:
        """Add to a counter, or to one of its values."""
        self._counts[name, by, value] += amount

    def turns(self, replies: Iterable[Reply]) -> None:
        """Turns have ended."""
        for reply in replies:
            self.count("turns", by="status", value=str(reply.status))
            self.count("requests", amount=reply.usage.requests)
            self.count("tokens", by="kind", value="input", amount=reply.usage.input_tokens)
            self.count("tokens", by="kind", value="output", amount=reply.usage.output_tokens)
            self._cost += float(reply.cost or 0)

    def text(self, gauges: dict[str, float]) -> str:
        """All of them, and what is so now."""
        lines: list[str] = []
        for name, about in _HELP.items():
            full = f"turnkeeper_web_{name}_total"
            lines += [f"# HELP {full} {about}", f"# TYPE {full} counter"]
            if name == "cost_usd":
                lines.append(f"{full} {self._cost:.6f}")
                continue
            rows = sorted((by, value, n) for (one, by, value), n in self._counts.items() if one == name)
            lines += [f"{full}{{{by}={_quoted(value)}}} {n}" if by else f"{full} {n}" for by, value, n in rows]
        for name, now in gauges.items():
            lines += [f"# TYPE turnkeeper_web_{name} gauge", f"turnkeeper_web_{name} {now:g}"]
        return "\n".join(lines) + "\n"


def _quoted(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
