"""Money that requests may still cost: what is held for those under way, and what has been spent, by account.

An account is a name that drivers choose, such as one for a principal's day; several agents of one journal share it. A
conversation holds for one request at a time. Amounts are whole billionths of a USD, rounded up.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal

from turnkeeper.core.events import Event, ReplyReceived, RequestFailed, TurnEnded

__all__ = ("Account", "Accounts", "Held", "settled_cost", "units")

_UNIT = Decimal("1e-9")


@dataclass(frozen=True, slots=True)
class Account:
    """What was spent on an account and what is held on it, in USD."""

    spent: Decimal = Decimal(0)
    held: Decimal = Decimal(0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """What a request asks to have held: `most` it may cost, and per account the limit that holds there, in USD.

    `lost` says what becomes of a hold that the conversation left behind: whether its request went out, so that it
    counts as spent, or never did. `id` is this hold's own.
    """

    id: str
    most: Decimal
    limits: Mapping[str, Decimal]
    lost: bool = False


def units(usd: Decimal) -> int:
    """The amount in whole billionths."""
    return int((usd / _UNIT).to_integral_value(rounding=ROUND_CEILING))


def in_usd(amount: int) -> Decimal:
    """The amount in USD."""
    return amount * _UNIT


def settled_cost(events: Iterable[Event]) -> tuple[bool, Decimal | None]:
    """Whether the events end a request for which money is held, and what it cost; None: nobody knows, so all of it."""
    for event in events:
        if isinstance(event, ReplyReceived | RequestFailed | TurnEnded) and event.reserved is not None:
            return True, None if isinstance(event, TurnEnded) else event.cost or Decimal(0)
    return False, None


class Accounts:
    """The accounts of a journal in memory."""

    def __init__(self) -> None:
        self._spent: dict[str, int] = {}
        self._held: dict[str, tuple[str, int, tuple[str, ...]]] = {}

    def hold(self, conversation_id: str, held: Held) -> str | None:
        """Hold the money on every account, or on none: then the first account that has no room."""
        self.settle(conversation_id, None if held.lost else Decimal(0))
        most = units(held.most)
        for name in sorted(held.limits):
            if self._spent.get(name, 0) + self._on(name) + most > units(held.limits[name]):
                return name
        self._held[conversation_id] = (held.id, most, tuple(held.limits))
        return None

    def settle(self, conversation_id: str, cost: Decimal | None) -> None:
        """Let go of what the conversation holds, and count `cost` as spent; None: all that was held."""
        _, most, names = self._held.pop(conversation_id, ("", 0, ()))
        for name in names:
            self._spent[name] = self._spent.get(name, 0) + (most if cost is None else units(cost))

    def look(self, names: Sequence[str]) -> dict[str, Account]:
        """The accounts of these names."""
        return {name: Account(in_usd(self._spent.get(name, 0)), in_usd(self._on(name))) for name in names}

    def _on(self, name: str) -> int:
        return sum(most for _, most, names in self._held.values() if name in names)
