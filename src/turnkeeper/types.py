"""The small values that every part shares: ids, JSON aliases, limits, usage, turn status."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, fields
from decimal import Decimal
from typing import Any, Literal, TypeAlias

__all__ = ("JSON", "LEVELS", "Block", "Effect", "Limits", "Message", "Principal", "ToolChoice", "TurnStatus", "Usage")

JSON: TypeAlias = "bool | int | float | str | list[JSON] | dict[str, JSON] | None"
Block: TypeAlias = dict[str, Any]
"""One content block as the API writes it; unknown types and fields are kept."""
Message: TypeAlias = dict[str, Any]
"""One message as the API takes it: `{"role": …, "content": str | [Block, …]}`."""
Effect: TypeAlias = Literal["read", "idempotent", "transactional", "reconcile", "once"]
LEVELS = ("anonymous", "claimed", "confirmed", "signed_in", "step_up")
"""Assurance levels of a principal, the weakest first."""
ToolChoice: TypeAlias = "str | dict[str, Any]"
"""`auto`, `any`, `none`, a tool's name, or the API's own object."""


class TurnStatus(enum.StrEnum):
    """How a turn stands; the one enum to switch on."""

    COMPLETED = "completed"
    AWAITING_APPROVAL = "awaiting_approval"
    AWAITING_RESOLUTION = "awaiting_resolution"
    REFUSED = "refused"
    TRUNCATED = "truncated"
    LIMIT_REACHED = "limit_reached"
    CANCELLED = "cancelled"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Principal:
    """Who is talking, as the application knows it; never taken from the model or from text.

    `kind` is a word such as `customer` or `staff`; `id` is unique within the kind; `level` is the assurance level.
    """

    kind: str
    id: str
    level: str = "anonymous"


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one turn may use; None means no limit. A turn that meets one ends `limit_reached`, history sound.

    `requests`: calls of the API (retries of a failed one not counted); `calls`: tool calls run; `tokens`: input
    (cached ones too) plus output; `seconds`: wall time, kept by requests and waits (a call has its tool's timeout);
    `usd`: money, which needs a model with a known price.
    """

    requests: int | None = 50
    calls: int | None = None
    tokens: int | None = None
    seconds: float | None = None
    usd: Decimal | float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens as the API counts them. `input_tokens` excludes what was read from or written to the cache."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_input_tokens: int = 0
    cache_write_5m_input_tokens: int = 0
    cache_write_1h_input_tokens: int = 0
    requests: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(**{f.name: getattr(self, f.name) + getattr(other, f.name) for f in fields(self)})

    @property
    def cache_creation_input_tokens(self) -> int:
        """Tokens written to the cache, both lifetimes."""
        return self.cache_write_5m_input_tokens + self.cache_write_1h_input_tokens

    @property
    def total_tokens(self) -> int:
        """Everything that passed: input, cached input, output."""
        return self.input_tokens + self.cache_read_input_tokens + self.cache_creation_input_tokens + self.output_tokens

    @classmethod
    def of(cls, usage: Mapping[str, Any] | None) -> Usage:
        """Read one reply's `usage` object; absent or null counts are 0 (compatible endpoints leave them out)."""
        usage = usage or {}
        written = usage.get("cache_creation_input_tokens") or 0
        by_ttl = usage.get("cache_creation") or {}
        hour = by_ttl.get("ephemeral_1h_input_tokens") or 0
        return cls(
            input_tokens=usage.get("input_tokens") or 0,
            output_tokens=usage.get("output_tokens") or 0,
            cache_read_input_tokens=usage.get("cache_read_input_tokens") or 0,
            cache_write_5m_input_tokens=max(written - hour, 0),
            cache_write_1h_input_tokens=hour,
            requests=1,
        )
