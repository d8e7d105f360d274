"""The small values that every part shares: ids, JSON aliases, limits, usage, turn status."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from decimal import Decimal
from typing import Any, Literal, TypeAlias

from turnkeeper.errors import InputError

__all__ = (
    "JSON",
    "LEVELS",
    "Block",
    "Effect",
    "Limits",
    "Message",
    "OwnConfirmation",
    "Principal",
    "ToolChoice",
    "TurnStatus",
    "Usage",
    "fold_surrogates",
)

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
    InputError for what is no text, or none that can be written down.
    """

    kind: str
    id: str
    level: str = "anonymous"

    def __post_init__(self) -> None:
        for name in ("kind", "id", "level"):
            value = getattr(self, name)
            try:
                sound = isinstance(value, str) and bool(value.encode())
            except UnicodeEncodeError:
                sound = False
            if not sound:  # it would not be the same when it comes back from the journal
                raise InputError(f"a principal's {name} is text that UTF-8 can carry, and not empty; not {value!r}")


class OwnConfirmation(str):
    """A reason that an approval policy gives: the person for whom the call would run may confirm it themself.

    They do so outside of what the model reads and writes, with at least this `level`; InputError for a word that is no
    level. Another person who may decide can do it too.
    """

    __slots__ = ("level",)
    level: str

    def __new__(cls, reason: str, *, level: str = "confirmed") -> OwnConfirmation:  # noqa: D102 - said above
        if level not in LEVELS:
            raise InputError(f"level is one of {', '.join(LEVELS)}, not {level!r}")
        made = super().__new__(cls, reason)
        made.level = level
        return made


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one turn may use; None means no limit. A turn that meets one ends `limit_reached`, history sound.

    `requests`: calls of the API (retries of a failed one not counted); `calls`: tool calls run; `tokens`: input
    (cached ones too) plus output; `seconds`: wall time, kept by requests and waits (a call has its tool's timeout).

    Money, in USD, needs a model with a known price: `usd` for the turn, `conversation_usd` for all of the
    conversation's turns, `principal_usd_per_day` and `usd_per_day` for what a principal's and all conversations of the
    journal spend in a day (UTC) through agents that have such a limit. A request goes out only if the most that it can
    cost still fits.
    """

    requests: int | None = 50
    calls: int | None = None
    tokens: int | None = None
    seconds: float | None = None
    usd: Decimal | float | None = None
    conversation_usd: Decimal | float | None = None
    principal_usd_per_day: Decimal | float | None = None
    usd_per_day: Decimal | float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens that are billed, as the API counts them.

    `input_tokens` excludes what was read from or written to the cache. What the API charges besides tokens (its own
    tools, by the use) is not counted here and is in no price of the catalogue; the journal keeps each reply's whole
    `usage` object.
    """

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
        """Read one reply's `usage` object. What is absent or no count is 0 (compatible endpoints send anything).

        Where the reply took several steps (`iterations`: a compaction, a fallback to another model), they are summed,
        since the counts beside them leave some of those out (platform docs, build-with-claude/compaction).
        """
        beside = _counts(usage)
        steps = usage.get("iterations") if isinstance(usage, Mapping) else None
        summed = sum((_counts(step) for step in steps), cls()) if isinstance(steps, list) else cls()
        billed = max(beside, summed, key=lambda counts: counts.total_tokens)
        return replace(billed, requests=1)

    @classmethod
    def counted(cls, step: Any) -> Usage:
        """The counts of one step of a reply (an element of `iterations`)."""
        return _counts(step)


def _counts(usage: Any) -> Usage:
    if not isinstance(usage, Mapping):
        return Usage()
    made = usage.get("cache_creation")
    hour = minutes = 0
    if isinstance(made, Mapping):
        hour = _count(made.get("ephemeral_1h_input_tokens"))
        minutes = _count(made.get("ephemeral_5m_input_tokens"))
    return Usage(
        input_tokens=_count(usage.get("input_tokens")),
        output_tokens=_count(usage.get("output_tokens")),
        cache_read_input_tokens=_count(usage.get("cache_read_input_tokens")),
        cache_write_5m_input_tokens=max(_count(usage.get("cache_creation_input_tokens")) - hour, minutes),
        cache_write_1h_input_tokens=hour,
    )


def _count(value: Any) -> int:
    return value if type(value) is int and 0 <= value < 2**53 else 0


def fold_surrogates(text: str) -> str:
    """Join surrogate pairs and turn each lone surrogate into U+FFFD: UTF-8 can't carry it, and the API refuses it."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text
