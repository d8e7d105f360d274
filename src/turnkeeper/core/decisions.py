"""What may come next in a conversation: what `decide` gives and a driver performs."""

from __future__ import annotations

from dataclasses import dataclass

from turnkeeper.core.calls import Call
from turnkeeper.types import TurnStatus

__all__ = ("Decision", "EndTurn", "Park", "RunCalls", "SendRequest", "Wait")


@dataclass(frozen=True, slots=True)
class Wait:
    """Nothing to do until someone speaks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SendRequest:
    """Send the conversation, after `delay` seconds."""

    number: int
    attempt: int
    max_tokens: int | None
    delay: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RunCalls:
    """Run `calls`; answer `over` with a refusal: the limit on calls leaves no room for them."""

    calls: tuple[Call, ...]
    over: tuple[Call, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Park:
    """Write down that the turn waits for a person."""

    status: TurnStatus


@dataclass(frozen=True, slots=True, kw_only=True)
class EndTurn:
    """Write down that the turn is over."""

    status: TurnStatus
    reason: str = ""


Decision = Wait | SendRequest | RunCalls | Park | EndTurn
