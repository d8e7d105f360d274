"""Budgets: which limit a turn has met."""

from __future__ import annotations

from decimal import Decimal

from turnkeeper.types import Limits, Usage

__all__ = ("reached",)


def reached(requests: int, usage: Usage, cost: Decimal, seconds: float, limits: Limits) -> str | None:
    """The name of the first limit that leaves no room for another request, or None."""
    if limits.requests is not None and requests >= limits.requests:
        return "requests"
    if limits.tokens is not None and usage.total_tokens >= limits.tokens:
        return "tokens"
    if limits.seconds is not None and seconds >= limits.seconds:
        return "seconds"
    if limits.usd is not None and cost >= Decimal(str(limits.usd)):
        return "usd"
    return None
