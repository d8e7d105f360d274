"""A conversation as a customer may see it, and as staff see it: journal events to the JSON of the event streams.

A customer's items are made of a few words and never hold a tool's name, arguments or result. Staff see every event with
all its fields. Both are folds over the events from the first on; every item carries the `seq` of its event.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from turnkeeper.core.calls import Call
from turnkeeper.core.events import (
    ApprovalDecided,
    ApprovalRequested,
    CallFinished,
    CallRejected,
    CallResolved,
    CallStarted,
    CallUnresolved,
    Event,
    MessagesImported,
    ReplyReceived,
    RequestFailed,
    RequestStarted,
    TurnEnded,
    TurnParked,
    TurnStarted,
    TurnWarned,
    TurnWoken,
)
from turnkeeper.core.machine import State, advance
from turnkeeper.web.cleaning import clean, json_shown, visible, visible_value
from turnkeeper.web.live import Filter
from turnkeeper.web.markdown import to_html
from turnkeeper.wire.blocks import text_of
from turnkeeper.wire.json import decode

__all__ = (
    "HANDED_BACK",
    "TAKEN_OVER",
    "CustomerView",
    "StaffView",
    "View",
    "result_text",
    "shown_part",
    "text_of_content",
)

TAKEN_OVER, HANDED_BACK = "taken_over", "handed_back"
"""Codes of `turn_warned` events: a person answers instead of the model, and no longer. The message is who."""

Item = dict[str, Any]
_HANDLED = (
    CallStarted | CallFinished | CallRejected | ApprovalRequested | ApprovalDecided | CallUnresolved | CallResolved
)
_SETTLING = CallFinished | CallRejected | CallResolved | ApprovalDecided


class View:
    """Base of both: what every projection has to remember."""

    def __init__(self, make_filter: Callable[[], Filter] | None = None) -> None:
        self._make_filter = make_filter
        self.seq = 0
        self.reply = 0
        self.taken_over: str | None = None

    def take(self, event: Event) -> Item | None:
        """The next event; what is to be shown of it, None if nothing is."""
        self.skip(event)
        item = self._item(event)
        return None if item is None else {"seq": self.seq, "at": event.at, **item}

    def skip(self, event: Event) -> None:
        """The next event, of which the reader has what is to be shown: only what later items need is kept of it."""
        self.seq += 1
        if isinstance(event, RequestStarted):
            self.reply = self.seq
        elif isinstance(event, TurnWarned) and event.code in (TAKEN_OVER, HANDED_BACK):
            self.taken_over = event.message if event.code == TAKEN_OVER else None

    def _item(self, event: Event) -> Item | None:
        raise NotImplementedError


class CustomerView(View):
    """What a customer sees. Calls are counted, not named."""

    def __init__(self, make_filter: Callable[[], Filter] | None = None) -> None:
        super().__init__(make_filter)
        self._calls: dict[str, int] = {}

    def skip(self, event: Event) -> None:
        """As `View.skip`; a call has its number from the first that is heard of it."""
        super().skip(event)
        if isinstance(event, _HANDLED):
            self._calls.setdefault(event.call_id, len(self._calls) + 1)

    def _item(self, event: Event) -> Item | None:
        if isinstance(event, _HANDLED):
            return {"type": "call", "call": self._calls[event.call_id], "state": _state_of(event)}
        if isinstance(event, TurnStarted):
            if event.content is None:
                return None
            return {"type": "message", "from": "customer", "text": said(event.content), "key": event.key}
        if isinstance(event, MessagesImported):
            return self._imported(event)
        if isinstance(event, RequestStarted):
            return {"type": "reply_started", "reply": self.reply}
        if isinstance(event, RequestFailed):
            return {"type": "reply_discarded", "reply": self.reply}
        if isinstance(event, ReplyReceived):
            return self._reply(event)
        return self._turn(event)

    def _turn(self, event: Event) -> Item | None:
        if isinstance(event, TurnParked):
            return {"type": "waiting", "status": event.status}
        if isinstance(event, TurnWoken):
            return {"type": "going_on"}
        if isinstance(event, TurnEnded):
            return {"type": "ended", "status": event.status}
        if isinstance(event, TurnWarned) and event.code in (TAKEN_OVER, HANDED_BACK):
            return {"type": "staff", "present": event.code == TAKEN_OVER}
        return None

    def _reply(self, event: ReplyReceived) -> Item:
        if not event.kept and event.status != "truncated":
            return {"type": "reply_discarded", "reply": self.reply}
        raw = text_of([decode(block) for block in event.blocks])
        text = clean(shown_part(raw, self._make_filter)).strip()
        return {"type": "reply", "reply": self.reply, "text": text, "html": to_html(text)}

    def _imported(self, event: MessagesImported) -> Item | None:
        messages = [decode(message) for message in event.messages]
        if len(messages) != 1:
            return None
        role, content = messages[0]["role"], event_text(messages[0]["content"])
        if role == "assistant":
            text = clean(from_staff(content) if self.taken_over else shown_part(content, self._make_filter))
            return {
                "type": "message",
                "from": "staff" if self.taken_over else "model",
                "text": text,
                "html": to_html(text),
            }
        return {"type": "message", "from": "customer", "text": clean(content), "key": event.key}


class StaffView(View):
    """What staff see: each event, hidden characters written out, the reply's text also as HTML.

    Calls stand with a reply as the journal's events have them, never as a text says: each with its arguments as JSON
    `text`, the `effect` of its tool as `effect_of` knows it, and the source of untrusted text that the model had read
    before it wrote the call. What is long and seldom read (`LONG`) is left out, with its length in its place.
    """

    LONG = ("setup", "whole")

    def __init__(
        self,
        make_filter: Callable[[], Filter] | None = None,
        effect_of: Callable[[str], str | None] = lambda _: None,
    ) -> None:
        super().__init__(make_filter)
        self._effect_of = effect_of
        self._state = State()

    def skip(self, event: Event) -> None:
        """As `View.skip`; what the model had read before it wrote a call is known by the whole conversation."""
        super().skip(event)
        self._state = advance(self._state, event)

    @staticmethod
    def whole(event: Event) -> Item:
        """All fields of an event, hidden characters written out."""
        fields: Mapping[str, Any] = visible_value(decode(event.to_payload()))
        return {"type": event.type, **fields}

    def _item(self, event: Event) -> Item | None:
        item = self.whole(event)
        for name in self.LONG:
            if item.get(name) is not None:
                item[f"{name}_length"] = len(getattr(event, name))
                del item[name]
        if isinstance(event, ReplyReceived | RequestFailed | RequestStarted):
            item["reply"] = self.reply
        if isinstance(event, ReplyReceived):
            blocks = [decode(block) for block in event.blocks]
            text = text_of(blocks)
            item["html"] = to_html(visible(shown_part(text, self._make_filter))) if text.strip() else ""
            item["given"] = visible(text)
            item["calls"] = [self._call(call, blocks) for call in self._calls(event)]
        elif isinstance(event, ApprovalRequested):
            item["text"] = json_shown(decode(event.input))
            item["effect"] = self._effect_of(event.tool)
        elif isinstance(event, ApprovalDecided) and event.input is not None:
            item["text"] = json_shown(decode(event.input))
        elif isinstance(event, TurnStarted) and event.content is not None:
            item["text"] = visible(text_of_content(event.content))
        elif isinstance(event, MessagesImported):
            item["said"] = [self._said(decode(message)) for message in event.messages]
        if (
            isinstance(event, CallFinished | CallRejected | CallResolved | ApprovalDecided)
            and event.content is not None
        ):
            item["result"] = result_text(decode(event.content))
        return item

    def _calls(self, event: ReplyReceived) -> tuple[Call, ...]:
        turn = self._state.turn
        return turn.calls if event.kept and event.calls and turn is not None else ()

    def _call(self, call: Call, blocks: list[Any]) -> Item:
        return {
            "id": call.id,
            "name": visible(call.name),
            "index": call.index,
            "text": json_shown(blocks[call.index].get("input")),
            "invalid": call.invalid_input,
            "effect": self._effect_of(call.name),
            "untrusted": None if call.untrusted is None else visible(call.untrusted),
        }

    def _said(self, message: Any) -> Item:
        """An imported message: its text, whose it is, and what of it is no text."""
        role, content = message.get("role"), message.get("content")
        text = event_text(content)
        answered = role == "assistant"
        staff = answered and self.taken_over is not None
        others = [block for block in content if block.get("type") != "text"] if isinstance(content, list) else []
        shown = from_staff(text) if staff else shown_part(text, self._make_filter)
        return {
            "role": role,
            "staff": staff,
            "text": visible(from_staff(text) if staff else text),
            "html": to_html(visible(shown)) if answered and shown.strip() else "",
            "blocks": [json_shown(_without_data(block)) for block in others],
        }


def result_text(content: Any) -> str:
    """A result's content (as the API has it) as text: its texts, and what is none as JSON without its data."""
    if isinstance(content, str):
        return visible(content)
    parts = []
    for block in content if isinstance(content, list) else [content]:
        if isinstance(block, dict) and block.get("type") == "text":
            parts.append(visible(str(block.get("text", ""))))
        else:
            parts.append(json_shown(_without_data(block)))
    return "\n".join(parts)


def _without_data(block: Any) -> Any:
    source = block.get("source") if isinstance(block, dict) else None
    if isinstance(source, dict) and isinstance(source.get("data"), str):
        return {**block, "source": {**source, "data": f"({len(source['data'])} characters)"}}
    return block


def _state_of(event: _HANDLED) -> str:
    """A call's state in a customer's words."""
    match event:
        case CallStarted():
            return "running"
        case CallFinished():
            return "done" if not event.is_error else "failed"
        case CallRejected():
            return "failed"
        case ApprovalRequested():
            return "yours" if event.requester_level else "waiting"
        case ApprovalDecided():
            return {"approved": "running", "edited": "running"}.get(event.decision, "declined")
        case CallUnresolved():
            return "waiting"
        case CallResolved():
            return "done" if event.happened else "running"


def shown_part(text: str, make_filter: Callable[[], Filter] | None) -> str:
    """The customer's part of a finished text."""
    if make_filter is None:
        return text
    chosen = make_filter()
    return chosen.feed(text) + chosen.finish()


def said(content: str) -> str:
    """The text of a message's content (JSON text), fit to be shown."""
    return clean(text_of_content(content))


def text_of_content(content: str) -> str:
    """The text in the JSON text of a message's `content`."""
    return event_text(decode(content))


def event_text(content: Any) -> str:
    """The text in a message's `content`."""
    if isinstance(content, list):
        return text_of([block for block in content if isinstance(block, dict)])
    return content if isinstance(content, str) else ""


def from_staff(content: str) -> str:
    """A staff message without the line that tells the model who wrote it."""
    first, line, rest = content.partition("\n")
    return rest if line and first.startswith("[") and first.endswith("]") else content
