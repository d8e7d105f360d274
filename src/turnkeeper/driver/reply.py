"""What one turn came to, for the caller."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from turnkeeper.core.accepting import given_out
from turnkeeper.types import Message, TurnStatus, Usage

__all__ = ("CallRecord", "Reply")


@dataclass(frozen=True, slots=True, kw_only=True)
class CallRecord:
    """One call of the turn: what the model asked, how it ended, what the model read of it."""

    id: str
    name: str
    input: Any
    outcome: str
    is_error: bool
    content: Any
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """The end of a turn. Switch on `status`; `text` is the model's last text (of a truncated turn: what there was).

    `reason` is a stable word where the status alone doesn't say why (`max_tokens`, `requests`, `refusal`, …).
    `cost` is in USD, None where the model has no known price. `stop_details` is the API's own object for a refusal.
    """

    text: str
    status: TurnStatus
    reason: str = ""
    usage: Usage = field(default_factory=Usage)
    cost: Decimal | None = None
    model: str = ""
    calls: tuple[CallRecord, ...] = ()
    stop_reason: str | None = None
    stop_details: dict[str, Any] | None = None
    warnings: tuple[str, ...] = ()
    conversation_id: str = ""
    _encoded: bytes = field(default=b"", repr=False)

    @property
    def messages(self) -> list[Message]:
        """The conversation so far, plain dicts in the API's own format, made anew on each access."""
        return given_out(self._encoded)

    def __str__(self) -> str:
        return self.text
