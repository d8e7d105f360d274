"""The facts of a conversation, as the journal keeps them, and their JSON form.

A conversation is a list of these and nothing else. A field marked raw holds JSON text exactly as it was received; it
stands in the payload as it is, so that reading a payload with SQL shows ordinary JSON.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from turnkeeper.core.fact import CallRequest, Event

__all__ = (
    "EVENT_TYPES",
    "FORMAT_VERSION",
    "FORMAT_VERSION_SUMMARIES",
    "ApprovalDecided",
    "ApprovalRequested",
    "CallFinished",
    "CallRejected",
    "CallRequest",
    "CallResolved",
    "CallStarted",
    "CallUnresolved",
    "ChoiceGuided",
    "ConversationStarted",
    "Event",
    "IdentityChanged",
    "MessagesImported",
    "ReplyReceived",
    "RequestFailed",
    "RequestStarted",
    "TurnEnded",
    "TurnParked",
    "TurnResumed",
    "TurnStarted",
    "TurnWarned",
    "TurnWoken",
)

FORMAT_VERSION_SUMMARIES: dict[int, str] = {
    1: "the first format",
}
FORMAT_VERSION = max(FORMAT_VERSION_SUMMARIES)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationStarted(Event):
    """The conversation exists. `principal` is `{"kind", "id", "level"}` or None.

    `forked_from` is `{"conversation", "seq"}` where it began as another's first events: those behind this one, up to
    that number, were copied, without what they cost."""

    type = "conversation_started"
    principal: dict[str, str] | None = None
    forked_from: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class IdentityChanged(Event):
    """Who is talking has changed: from here on it is `principal`, with the level that is proven now.

    `reason` is `raised`, `lowered` or `another`; whoever was talking before is in the events before.
    """

    type = "identity_changed"
    principal: dict[str, str]
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MessagesImported(Event):
    """Messages that were there before, or that a person answers: each the JSON text of a whole message.

    `key` is the sender's own id for it, where it is a single message that came with one.
    """

    type = "messages_imported"
    raw_lists = frozenset({"messages"})
    messages: tuple[str, ...] = ()
    key: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnStarted(Event):
    """A user's message: the JSON text of its `content`, None to answer what was imported.

    `key` is the sender's own id for the message, where it gave one: the same message never starts a second turn.
    `principal` is who spoke, as the application named them: whoever goes on with the turn acts for them.
    `trace` is the W3C `traceparent` of the work that began here, where somebody watched it (as in TurnResumed and
    TurnParked): whoever goes on, in whatever process, can link to it.
    `injected` names the tools' parameters that the application had bound: whoever goes on with the turn must bind them.
    `tool_choice` is the choice that the turn keeps to, as the API's object; None where it is the default, `auto`.
    `ends_with_call`: the turn is over once the choice was kept and those calls have results; they are not sent.
    """

    type = "turn_started"
    raw = frozenset({"content"})
    content: str | None = None
    key: str | None = None
    principal: dict[str, str] | None = None
    trace: str | None = None
    injected: tuple[str, ...] | None = None
    tool_choice: dict[str, Any] | None = None
    ends_with_call: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnResumed(Event):
    """Work on the last turn goes on: it was left open, or ended before the model had answered."""

    type = "turn_resumed"
    trace: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChoiceGuided(Event):
    """The tool choice in words: `content` is the JSON text of the blocks that join the history, in a message of `role`.

    `unmet` is how many replies of the turn had broken the choice before.
    """

    type = "choice_guided"
    raw = frozenset({"content"})
    role: str
    content: str
    unmet: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestStarted(Event):
    """A request goes out. `number` counts requests of the turn from 1, `attempt` tries of this one from 1.

    `setup` is the JSON text of what every request holds besides the messages (`{"system", "tools", "extra"}`), written
    down with a conversation's first request and where it has changed.
    `reserved` is the most that it may cost, in USD, where a limit on money asks for that. The event that ends the
    request says it again, so that what was held is let go with it.
    """

    type = "request_started"
    raw = frozenset({"setup"})
    number: int
    attempt: int
    model: str
    max_tokens: int
    tool_choice: dict[str, Any] | None = None
    reserved: Decimal | None = None
    setup: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestFailed(Event):
    """A request came to nothing. `delay` is the wait in seconds before it goes out again, None if it does not.

    `partial` holds the blocks of a stream that broke, for the record only; `usage` what they are billed for.
    `choice_refused`: the endpoint doesn't take the tool choice, which is said in words from now on.
    """

    type = "request_failed"
    raw_lists = frozenset({"partial"})
    number: int
    attempt: int
    kind: str
    message: str
    status: int | None = None
    request_id: str | None = None
    delay: float | None = None
    partial: tuple[str, ...] = ()
    usage: dict[str, Any] = field(default_factory=dict)
    cost: Decimal | None = None
    choice_refused: bool | None = None
    reserved: Decimal | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplyReceived(Event):
    """A whole reply, and what the reply table said of it when it came (`action`, `kept`, `status`, `reason`).

    The verdict is stored so that a later version with another table reads the same history. `choice` is `met` or
    `unmet` where the reply was held against the turn's tool choice. `first_at` is when the first part of its content
    came (seconds since 1970), None where it was not streamed, and in what was written before that was kept.
    """

    type = "reply_received"
    raw_lists = frozenset({"blocks"})
    number: int
    blocks: tuple[str, ...]
    stop_reason: str | None
    usage: dict[str, Any]
    action: str
    kept: bool
    status: str | None = None
    reason: str = ""
    max_tokens: int | None = None
    calls: tuple[CallRequest, ...] = ()
    invalid_inputs: dict[str, str] = field(default_factory=dict)
    fields: dict[str, Any] = field(default_factory=dict)
    request_id: str | None = None
    cost: Decimal | None = None
    choice: str | None = None
    reserved: Decimal | None = None
    first_at: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CallRejected(Event):
    """A call that is not run: `reason` is a stable word, `content` the JSON text of what the model is told."""

    type = "call_rejected"
    raw = frozenset({"content"})
    call_id: str
    reason: str
    content: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CallStarted(Event):
    """From here on the call's effect may have happened. `key` is the same over retries and restarts."""

    type = "call_started"
    call_id: str
    tool: str
    effect: str
    key: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CallFinished(Event):
    """A call's end: `state` is `succeeded`, `failed`, `timed_out` or `cancelled`.

    `content` is the JSON text of the result's `content`; `untrusted` names where it came from, if the text is not to be
    trusted: it is labelled then. Of a result too large for the model `content` is the head, and `whole`, the JSON text
    of a text, all of it.
    """

    type = "call_finished"
    raw = frozenset({"content", "whole"})
    call_id: str
    state: str
    content: str
    is_error: bool
    seconds: float = 0.0
    error_id: str | None = None
    untrusted: str | None = None
    whole: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalRequested(Event):
    """A call waits for a person. `digest` binds the decision to the exact arguments, `policy` says what asked for it.

    `policy_version` says which version of it that was; empty in what was written before versions were kept.

    `requester` is the principal for whom the call would run (`{"kind", "id", "level"}`), None where nobody was named;
    `input` is the JSON text of the arguments as the model gave them; `expires_at` in seconds since 1970.
    `requester_level` is the level at which the requester may decide themself, None if only another person may.
    """

    type = "approval_requested"
    raw = frozenset({"input"})
    approval_id: str
    call_id: str
    tool: str
    input: str
    digest: str
    policy: str
    expires_at: float
    requester: dict[str, str] | None = None
    requester_level: str | None = None
    policy_version: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalDecided(Event):
    """What was decided: `approved`, `edited` (with the new arguments), `denied` or `expired`. It counts once.

    `by` is the principal who decided, None for an expiry. `digest` is that of the arguments that may now run;
    `content` is the JSON text of what the model reads where the call will not run.
    """

    type = "approval_decided"
    raw = frozenset({"input", "content"})
    approval_id: str
    call_id: str
    decision: str
    by: dict[str, str] | None = None
    reason: str = ""
    digest: str | None = None
    input: str | None = None
    content: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CallUnresolved(Event):
    """A call that was under way when its program stopped, and whose outcome nobody knows: a person must say."""

    type = "call_unresolved"
    call_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CallResolved(Event):
    """A person says whether the effect of an unresolved call happened; if it did, `content` is the result's.

    If it did not, the call may run (again).
    """

    type = "call_resolved"
    raw = frozenset({"content"})
    call_id: str
    happened: bool
    by: dict[str, str]
    content: str | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnParked(Event):
    """The turn waits for a person; `status` is `awaiting_approval` or `awaiting_resolution`."""

    type = "turn_parked"
    status: str
    trace: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnWoken(Event):
    """Nobody is waited for any more: the turn can go on."""

    type = "turn_woken"


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnWarned(Event):
    """Something worth knowing that stopped nothing."""

    type = "turn_warned"
    code: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnEnded(Event):
    """The turn is over; `status` is a TurnStatus, `reason` a stable word or empty.

    `reserved` is what was held for a request that the end broke off: as nobody knows what it cost, all of it counts.
    """

    type = "turn_ended"
    status: str
    reason: str = ""
    reserved: Decimal | None = None


EVENT_TYPES: dict[str, type[Event]] = {
    kind.type: kind
    for kind in (
        ConversationStarted,
        IdentityChanged,
        MessagesImported,
        TurnStarted,
        TurnResumed,
        ChoiceGuided,
        RequestStarted,
        RequestFailed,
        ReplyReceived,
        CallRejected,
        CallStarted,
        CallFinished,
        ApprovalRequested,
        ApprovalDecided,
        CallUnresolved,
        CallResolved,
        TurnParked,
        TurnWoken,
        TurnWarned,
        TurnEnded,
    )
}
