"""What the standard streams tell, before it has either's words: a fold from the journal's events and the text that
streams in.

Whoever reads it is shown the customer's part of the text, and calls only if `calls` says so: their names, arguments and
results are nothing for a customer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from turnkeeper.core.events import (
    ApprovalDecided,
    ApprovalRequested,
    CallFinished,
    CallRejected,
    CallResolved,
    CallUnresolved,
    Event,
    ReplyReceived,
    RequestFailed,
    RequestStarted,
    TurnEnded,
    TurnParked,
    TurnResumed,
    TurnStarted,
    TurnWarned,
    TurnWoken,
)
from turnkeeper.types import Usage
from turnkeeper.web.cleaning import clean
from turnkeeper.web.live import Filter
from turnkeeper.web.projection import HANDED_BACK, TAKEN_OVER, shown_part
from turnkeeper.web.service import Delta, Durable, Item, Progress
from turnkeeper.wire.blocks import text_of
from turnkeeper.wire.json import decode, encode

__all__ = (
    "Asked",
    "Began",
    "CallEnded",
    "CallMade",
    "Decided",
    "Ended",
    "Fold",
    "GoesOn",
    "Parked",
    "Part",
    "Replied",
    "Reported",
    "TextAdded",
    "TextEnded",
    "Thought",
    "Unknown",
    "Voided",
    "Waiting",
    "outcome_id",
)


@dataclass(frozen=True, slots=True)
class Began:
    """A turn began with the message of that key."""

    key: str | None


@dataclass(frozen=True, slots=True)
class TextAdded:
    """More of a reply's text. `reply` is the number of the event that began its request."""

    reply: int
    text: str


@dataclass(frozen=True, slots=True)
class TextEnded:
    """The reply's text is whole."""

    reply: int


@dataclass(frozen=True, slots=True)
class Voided:
    """The reply broke off or was left out: its text, if any was given, is void."""

    reply: int


@dataclass(frozen=True, slots=True)
class Thought:
    """A reply's thinking, where the API shows it."""

    reply: int
    text: str


@dataclass(frozen=True, slots=True)
class CallMade:
    """A call of a tool. `arguments` is JSON text."""

    reply: int
    call_id: str
    tool: str
    arguments: str


@dataclass(frozen=True, slots=True)
class CallEnded:
    """A call has its result; `outcome` is its end state, `denied` and `expired` among them."""

    call_id: str
    outcome: str
    is_error: bool
    text: str


@dataclass(frozen=True, slots=True)
class Reported:
    """What a running call says of itself."""

    call_id: str
    message: str
    fraction: float | None


@dataclass(frozen=True, slots=True)
class Replied:
    """A reply's model and what it is billed for."""

    model: str
    usage: Usage
    reasoning: int


@dataclass(frozen=True, slots=True)
class Asked:
    """A call waits for a person's approval."""

    id: str
    call_id: str
    tool: str
    policy: str
    expires_at: float


@dataclass(frozen=True, slots=True)
class Unknown:
    """A call's outcome is unknown: a person must say."""

    id: str
    call_id: str


@dataclass(frozen=True, slots=True)
class Decided:
    """A person decided on a call, or nobody did in time."""

    id: str
    call_id: str
    decision: str
    reason: str


Waiting = Asked | Unknown


@dataclass(frozen=True, slots=True)
class Parked:
    """The turn waits for a person, for these."""

    status: str
    waiting: tuple[Waiting, ...]


@dataclass(frozen=True, slots=True)
class GoesOn:
    """Nobody is waited for any more."""


@dataclass(frozen=True, slots=True)
class Ended:
    """The turn is over."""

    status: str
    reason: str


Part = (
    Began
    | TextAdded
    | TextEnded
    | Voided
    | Thought
    | CallMade
    | CallEnded
    | Reported
    | Replied
    | Asked
    | Unknown
    | Decided
    | Parked
    | GoesOn
    | Ended
)


def outcome_id(conversation: str, call_id: str) -> str:
    """The id of the question what became of a call; an approval's id can't look like this."""
    return f"outcome:{clean(call_id).replace('%', '%25').replace('@', '%40')}@{conversation}"


@dataclass
class Fold:
    """Takes the items of a conversation, from the first on, and gives what they tell.

    Also kept: whether a person answers in the model's place (`taken_over`), the key of the turn that is open or was
    last (`key`), the calls that wait (`waiting`).
    """

    conversation: str
    calls: bool
    make_filter: Callable[[], Filter] | None = None
    taken_over: bool = False
    waiting: dict[str, Waiting] = field(default_factory=dict)
    seq: int = 0
    _reply: int = 0
    _text: str = ""

    def take(self, item: Item) -> list[Part]:
        """What the item tells."""
        if isinstance(item, Durable):
            self.seq = item.seq
            return self._event(item.event)
        if isinstance(item, Delta):
            return self._added(item.text) if item.reply == self._reply and item.offset == len(self._text) else []
        if isinstance(item, Progress) and self.calls:
            return [Reported(item.call_id, clean(item.message), item.fraction)]
        return []

    def _added(self, text: str) -> list[Part]:
        self._text += text
        return [TextAdded(self._reply, text)] if text else []

    def _event(self, event: Event) -> list[Part]:
        if isinstance(event, TurnWarned) and event.code in (TAKEN_OVER, HANDED_BACK):
            self.taken_over = event.code == TAKEN_OVER
        match event:
            case TurnStarted():
                self.waiting.clear()
                return [Began(event.key)]
            case RequestStarted():
                # A request that was under way when its program was killed: nothing says that it broke off.
                void: list[Part] = [Voided(self._reply)] if self._text else []
                self._reply, self._text = self.seq, ""
                return void
            case RequestFailed():
                return [*self._spent("", event.usage), *self._void()]
            case ReplyReceived():
                return self._replied(event)
            case TurnParked():
                return [Parked(event.status, tuple(self.waiting.values()))]
            case TurnWoken() | TurnResumed():
                return [GoesOn()]
            case TurnEnded():
                self.waiting.clear()
                return [*self._void(), Ended(event.status, event.reason)]
            case _:
                return self._call(event)

    def _void(self) -> list[Part]:
        if not self._text:
            return []
        self._text = ""
        return [Voided(self._reply)]

    def _spent(self, model: str, usage: dict[str, Any]) -> list[Part]:
        if not usage:
            return []
        details = usage.get("output_tokens_details")
        thought = details.get("thinking_tokens") if isinstance(details, dict) else 0
        return [Replied(model, Usage.of(usage), thought if isinstance(thought, int) and thought > 0 else 0)]

    def _replied(self, event: ReplyReceived) -> list[Part]:
        model = clean(str(event.fields.get("model") or ""))
        spent = self._spent(model, event.usage)
        if not event.kept and event.status != "truncated":
            return [*spent, *self._void()]
        blocks = [decode(block) for block in event.blocks]
        text = clean(shown_part(text_of(blocks), self.make_filter))
        parts: list[Part] = []
        if not text.startswith(self._text):  # the whole reads otherwise than its beginning did: once more, then
            parts += self._void()
        parts += self._added(text[len(self._text) :])
        if self._text:
            parts.append(TextEnded(self._reply))
        self._text = ""
        if self.calls:
            parts += [
                Thought(self._reply, clean(str(block["thinking"])))
                for block in blocks
                if block.get("type") == "thinking" and block.get("thinking")
            ]
            for call in event.calls:
                given = event.invalid_inputs.get(str(call.index)) or encode(blocks[call.index].get("input"))
                parts.append(CallMade(self._reply, clean(call.id), clean(call.name), clean(given)))
        return [*parts, *spent]

    def _call(self, event: Event) -> list[Part]:
        match event:
            case CallRejected():
                return self._ended(event.call_id, "rejected", event.content, is_error=True)
            case CallFinished():
                self._settled(event.call_id)
                return self._ended(event.call_id, event.state, event.content, is_error=event.is_error)
            case ApprovalRequested():
                name, call = clean(event.approval_id), clean(event.call_id)
                asked = Asked(name, call, clean(event.tool), clean(event.policy), event.expires_at)
                self.waiting[event.call_id] = asked
                return [asked]
            case CallUnresolved():
                unknown = Unknown(outcome_id(self.conversation, event.call_id), clean(event.call_id))
                self.waiting[event.call_id] = unknown
                return [unknown]
            case ApprovalDecided():
                self._settled(event.call_id)
                name, call = clean(event.approval_id), clean(event.call_id)
                decided = Decided(name, call, event.decision, clean(event.reason))
                ended = (
                    self._ended(event.call_id, event.decision, event.content, is_error=True) if event.content else []
                )
                return [decided, *ended]
            case CallResolved():
                self._settled(event.call_id)
                word = "happened" if event.happened else "did_not_happen"
                name = outcome_id(self.conversation, event.call_id)
                said = Decided(name, clean(event.call_id), word, clean(event.reason))
                ended = self._ended(event.call_id, "resolved", event.content, is_error=False) if event.content else []
                return [said, *ended]
            case _:
                return []

    def _settled(self, call_id: str) -> None:
        self.waiting.pop(call_id, None)

    def _ended(self, call_id: str, outcome: str, content: str, *, is_error: bool) -> list[Part]:
        if not self.calls:
            return []
        value = decode(content)
        text = value if isinstance(value, str) else _text_in(value)
        return [CallEnded(clean(call_id), outcome, is_error, clean(text))]


def _text_in(value: Any) -> str:
    """A result that is content blocks: their text; what is no text is named."""
    if not isinstance(value, list):
        return encode(value)
    named = [str(one.get("text", "")) if one.get("type") == "text" else f"[{one.get('type')}]" for one in value]
    return "\n".join(named)
