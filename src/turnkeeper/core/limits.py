"""Budgets: which limit a turn has met, and whether there is money left for another request."""

from __future__ import annotations

from decimal import Decimal

from turnkeeper.core.money import Money
from turnkeeper.types import Limits, Usage

__all__ = ("reached", "room_for")


def reached(requests: int, usage: Usage, money: Money, seconds: float, limits: Limits) -> str | None:
    """The name of the first limit that leaves no room for another request, or None."""
    if limits.requests is not None and requests >= limits.requests:
        return "requests"
    if limits.tokens is not None and usage.total_tokens >= limits.tokens:
        return "tokens"
    if limits.seconds is not None and seconds >= limits.seconds:
        return "seconds"
    if limits.usd is not None and money.turn >= Decimal(str(limits.usd)):
        return "usd"
    if limits.conversation_usd is not None and money.conversation >= Decimal(str(limits.conversation_usd)):
        return "conversation_usd"
    return None


def room_for(most: Decimal, money: Money, limits: Limits) -> str | None:
    """The limit on money that a request costing `most` USD could break, or None. What is pending counts as spent."""
    lost = money.pending or Decimal(0)
    if limits.usd is not None and money.turn + lost + most > Decimal(str(limits.usd)):
        return "usd"
    if limits.conversation_usd is not None and money.conversation + lost + most > Decimal(str(limits.conversation_usd)):
        return "conversation_usd"
    return None
