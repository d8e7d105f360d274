"""What conversations have cost, from the journal's events: by conversation, model, tool and day."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import Literal, TypeAlias

from turnkeeper.core.events import Event, ReplyReceived, RequestFailed, RequestStarted
from turnkeeper.models import cost_by_model, find
from turnkeeper.types import Usage

__all__ = ("ANSWERING", "By", "Entry", "Spending", "Total", "spending", "totals")

By: TypeAlias = Literal["conversation", "model", "tool", "day"]

ANSWERING = "(messages)"
"""Stands for a tool where a request carried the user's words and no results."""

_TOKENS = (
    "input_tokens",
    "cache_read_input_tokens",
    "cache_write_5m_input_tokens",
    "cache_write_1h_input_tokens",
    "output_tokens",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A part of one request: what one model used to read the results of one tool. `day` is a date, in UTC.

    A request with results of several tools is shared among them by the number of results; `share` is this one's, and
    `cost` (USD, None without a known price) is already divided, `usage` is the whole.
    """

    conversation: str
    model: str
    tool: str
    day: str
    share: Fraction
    requests: Fraction
    usage: Usage
    cost: Fraction | None


@dataclass(slots=True, kw_only=True)
class Total:
    """A sum of entries. Requests and tokens of a shared request are shared as its cost is.

    `cost` leaves out what has no known price; `unpriced` counts the entries that have none.
    """

    name: str
    requests: Fraction = Fraction(0)
    tokens: dict[str, Fraction] = field(default_factory=lambda: dict.fromkeys(_TOKENS, Fraction(0)))
    cost: Fraction = Fraction(0)
    unpriced: int = 0

    @property
    def priced(self) -> bool:
        """Whether everything in it has a known price."""
        return not self.unpriced

    @property
    def usd(self) -> Decimal:
        """The cost as a decimal number."""
        return Decimal(self.cost.numerator) / Decimal(self.cost.denominator)

    def add(self, entry: Entry) -> None:
        """Count an entry in."""
        self.requests += entry.requests
        for name in _TOKENS:
            self.tokens[name] += getattr(entry.usage, name) * entry.share
        self.cost += entry.cost or 0
        self.unpriced += entry.cost is None

    def join(self, other: Total, times: int = 1) -> None:
        """Count another sum in; with `times` -1, out again."""
        self.requests += other.requests * times
        for name in _TOKENS:
            self.tokens[name] += other.tokens[name] * times
        self.cost += other.cost * times
        self.unpriced += other.unpriced * times


class Spending:
    """What a conversation spends, event by event in their order."""

    def __init__(self, conversation_id: str) -> None:
        self._conversation_id = conversation_id
        self._asked = ""
        self._carried: tuple[str, ...] = ()

    def take(self, event: Event) -> list[Entry]:
        """The next event; what it was billed for."""
        entries: list[Entry] = []
        if isinstance(event, RequestStarted):
            self._asked = event.model
        elif isinstance(event, ReplyReceived | RequestFailed):
            if event.usage:
                entries = _entries(self._conversation_id, self._asked, self._carried, event)
            if isinstance(event, ReplyReceived) and event.kept:
                self._carried = tuple(call.name for call in event.calls)
        return entries


def spending(conversation_id: str, events: Iterable[Event]) -> list[Entry]:
    """The conversation's requests that were billed, in their order."""
    taker = Spending(conversation_id)
    return [entry for event in events for entry in taker.take(event)]


def _entries(
    conversation_id: str, asked: str, carried: Sequence[str], event: ReplyReceived | RequestFailed
) -> list[Entry]:
    fields = event.fields if isinstance(event, ReplyReceived) else {}
    parts = cost_by_model(event.usage, find(asked), answered=fields.get("model"))
    names = list(carried) or [ANSWERING]
    day = datetime.datetime.fromtimestamp(event.at, tz=datetime.UTC).date().isoformat()
    found: list[Entry] = []
    for number, (model, usage, priced) in enumerate(parts):
        # what was written down when it was paid counts, whatever the catalogue says today
        cost = event.cost if len(parts) == 1 and event.cost is not None else priced
        for tool in dict.fromkeys(names):
            share = Fraction(names.count(tool), len(names))
            found.append(
                Entry(
                    conversation=conversation_id,
                    model=model,
                    tool=tool,
                    day=day,
                    share=share,
                    requests=share if number == 0 else Fraction(0),
                    usage=usage,
                    cost=None if cost is None else Fraction(cost) * share,
                )
            )
    return found


def totals(entries: Iterable[Entry], by: By) -> list[Total]:
    """The sums, the most expensive first; days in their order."""
    found: dict[str, Total] = {}
    for entry in entries:
        name = getattr(entry, by)
        found.setdefault(name, Total(name=name)).add(entry)
    if by == "day":
        return [found[name] for name in sorted(found)]
    return sorted(found.values(), key=lambda one: (-one.cost, one.name))
