"""What a turn tells its caller while it runs: `async for update in conversation.send(…)`.

Each update is a frozen value with a `type` word; `to_json` gives the line that `--output-format stream-json` prints.
Text arrives as `TextDelta`; when a reply is thrown away (its stream broke, it was cut off), `ReplyDiscarded` says that
the deltas since the last `RequestStarted` are void. The last update of a turn is always `TurnEnded`.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from decimal import Decimal
from typing import Any, ClassVar

from turnkeeper.types import TurnStatus, Usage

__all__ = (
    "ApprovalNeeded",
    "CallFinished",
    "CallStarted",
    "ReplyDiscarded",
    "ReplyReceived",
    "RequestStarted",
    "RetryScheduled",
    "TextDelta",
    "ThinkingDelta",
    "ToolProgress",
    "TurnEnded",
    "Update",
    "Warned",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Update:
    """Base of all updates; `type` is the stable word for it."""

    type: ClassVar[str] = "update"

    def to_json(self) -> dict[str, Any]:
        """A JSON object: the type word, then the fields."""
        out: dict[str, Any] = {"type": self.type}
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, Usage):
                value = {f.name: getattr(value, f.name) for f in fields(value)}
            elif isinstance(value, Decimal):
                value = str(value)
            out[field.name] = value
        return out


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestStarted(Update):
    """A request goes out; `number` counts within the turn from 1, `attempt` counts tries of the same request."""

    type = "request_started"
    number: int
    attempt: int
    model: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TextDelta(Update):
    """A piece of the model's text, as it arrives."""

    type = "text"
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ThinkingDelta(Update):
    """A piece of the model's thinking, where the API shows it."""

    type = "thinking"
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplyDiscarded(Update):
    """The reply so far is void: drop its text. `reason` is a stable word such as `stream_cut` or `max_tokens`."""

    type = "reply_discarded"
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplyReceived(Update):
    """A whole reply is in the journal. `text` is its text, `stop_reason` the API's own word, None if it gave none."""

    type = "reply"
    text: str
    stop_reason: str | None
    usage: Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryScheduled(Update):
    """A request failed and is sent again in `delay` seconds; `reason` is the error's kind."""

    type = "retry"
    reason: str
    delay: float
    attempt: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CallStarted(Update):
    """A tool call runs now. `input` is what the model sent."""

    type = "call_started"
    call_id: str
    name: str
    input: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolProgress(Update):
    """What a running tool reported through `ctx.progress()`."""

    type = "progress"
    call_id: str
    message: str
    fraction: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CallFinished(Update):
    """A call has its result; `content` is what the model will read, `seconds` how long it ran.

    `outcome` is its end state: `succeeded`, `failed`, `timed_out`, `cancelled`; `rejected`, `denied` or `expired`
    where it was not run; `resolved` where a person said what became of it.
    """

    type = "call_finished"
    call_id: str
    name: str
    outcome: str
    is_error: bool
    content: Any
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalNeeded(Update):
    """A call waits for a person's decision; `policy` says what asked for it, `expires_at` in seconds since 1970.

    `requester_level` is the level at which whoever asked may confirm it themself, None if only another person may.
    """

    type = "approval_needed"
    approval_id: str
    call_id: str
    name: str
    input: Any
    policy: str
    expires_at: float
    requester_level: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Warned(Update):
    """Something the caller should know that stopped nothing; `code` is stable."""

    type = "warning"
    code: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnEnded(Update):
    """The turn is over. `reason` is a stable word when the status alone doesn't say why, else empty."""

    type = "turn_ended"
    status: TurnStatus
    reason: str
    text: str
    usage: Usage
    cost: Decimal | None
