"""What a conversation has spent, and what its request under way may still cost: the part of the state that budgets ask.

A request that was sent and whose end nobody wrote down, because the program died or the turn was cancelled, may have
been billed: then all that was reserved for it counts as spent.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from turnkeeper.core.events import (
    Event,
    ReplyReceived,
    RequestFailed,
    RequestStarted,
    TurnEnded,
    TurnResumed,
    TurnStarted,
)

__all__ = ("NOTHING", "Money", "spent")

_ZERO = Decimal(0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Money:
    """USD spent in the last turn and in the whole conversation; `pending` is reserved for the request under way."""

    turn: Decimal = _ZERO
    conversation: Decimal = _ZERO
    pending: Decimal | None = None


NOTHING = Money()


def spent(money: Money, event: Event) -> Money:
    """The sums after the event."""
    if isinstance(event, TurnStarted | TurnResumed):
        return Money(conversation=money.conversation, pending=money.pending)
    if isinstance(event, RequestStarted):
        return _plus(money, money.pending, pending=event.reserved)
    if isinstance(event, ReplyReceived | RequestFailed):
        return _plus(money, event.cost)
    if isinstance(event, TurnEnded) and money.pending is not None:
        return _plus(money, money.pending)
    return money


def _plus(money: Money, usd: Decimal | None, *, pending: Decimal | None = None) -> Money:
    more = usd or _ZERO
    return Money(turn=money.turn + more, conversation=money.conversation + more, pending=pending)
