"""The messages of a conversation as a standard front end keeps them: the server's own, under ids that stay the same.

A user's message has the id under which its sender sent it, an assistant's the number of the event that began its
request. A front end that has other messages than these is given them; what it sends is never taken for them.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from turnkeeper.core.events import MessagesImported, TurnStarted
from turnkeeper.web.cleaning import clean
from turnkeeper.web.projection import event_text, from_staff, said
from turnkeeper.web.service import Durable, Item
from turnkeeper.web.standard.parts import (
    Asked,
    CallEnded,
    CallMade,
    Decided,
    Fold,
    Part,
    TextAdded,
    TextEnded,
    Thought,
    Voided,
)
from turnkeeper.wire.json import decode

__all__ = ("Call", "History", "Message", "reply_id")


def reply_id(reply: int) -> str:
    """The id of the assistant's message whose request began with that event."""
    return f"r{reply}"


@dataclass(frozen=True, slots=True)
class Call:
    """A call, with its result once it has one; `order` says which of them came first."""

    id: str
    tool: str
    arguments: str
    approval: str | None = None
    ended: CallEnded | None = None
    order: int = 0


@dataclass(frozen=True, slots=True)
class Message:
    """One message; `turn` is the number of the event that began its turn, `answers` the id of its user's message."""

    id: str
    role: str
    text: str = ""
    thought: str = ""
    calls: tuple[Call, ...] = ()
    turn: int = 0
    answers: str = ""


@dataclass
class History:
    """Takes each item together with what a `Fold` told of it. `messages` holds what is whole, in order.

    `turn` is the number of the event that began the last turn, `asked` the id of its user's message.
    """

    messages: list[Message] = field(default_factory=list)
    turn: int = 0
    asked: str = ""
    _open: dict[int, str] = field(default_factory=dict)
    _calls: dict[str, str] = field(default_factory=dict)
    _ended: int = 0

    def take(self, item: Item, parts: list[Part], fold: Fold) -> None:
        """The next item."""
        if isinstance(item, Durable):
            self._said(item, fold)
        for part in parts:
            self._part(part)

    def _said(self, item: Durable, fold: Fold) -> None:
        event = item.event
        if isinstance(event, TurnStarted):
            self.turn, self.asked = item.seq, clean(event.key or f"u{item.seq}")
            if event.content is not None:
                self.messages.append(Message(self.asked, "user", said(event.content), turn=item.seq))
        elif isinstance(event, MessagesImported):
            for index, raw in enumerate(event.messages):
                message = decode(raw)
                text = clean(event_text(message["content"]))
                if message["role"] == "assistant" and fold.taken_over:
                    text = from_staff(text)
                if text:
                    self.messages.append(Message(f"m{item.seq}.{index}", str(message["role"]), text, turn=item.seq))

    def _part(self, part: Part) -> None:
        match part:
            case TextAdded():
                self._open[part.reply] = self._open.get(part.reply, "") + part.text
            case Voided():
                self._open.pop(part.reply, None)
            case TextEnded():
                self._change(part.reply, text=self._open.pop(part.reply, ""))
            case Thought():
                self._change(part.reply, thought=part.text)
            case CallMade():
                self._calls[part.call_id] = reply_id(part.reply)
                self._change(part.reply, call=Call(part.call_id, part.tool, part.arguments))
            case CallEnded() | Asked() | Decided():
                self._call(part)
            case _:
                pass

    def _change(self, reply: int, *, text: str = "", thought: str = "", call: Call | None = None) -> None:
        name = reply_id(reply)
        if not self.messages or self.messages[-1].id != name:
            self.messages.append(Message(name, "assistant", turn=self.turn, answers=self.asked))
        last = self.messages[-1]
        self.messages[-1] = replace(
            last,
            text=last.text + text,
            thought=last.thought + thought,
            calls=last.calls if call is None else (*last.calls, call),
        )

    def _call(self, part: CallEnded | Asked | Decided) -> None:
        name = self._calls.get(part.call_id)
        self._ended += isinstance(part, CallEnded)
        for index in range(len(self.messages) - 1, -1, -1):
            message = self.messages[index]
            if message.id == name:
                calls = tuple(
                    _changed(call, part, self._ended) if call.id == part.call_id else call for call in message.calls
                )
                self.messages[index] = replace(message, calls=calls)
                return


def _changed(call: Call, part: CallEnded | Asked | Decided, order: int) -> Call:
    if isinstance(part, CallEnded):
        return replace(call, ended=part, order=order)
    return replace(call, approval=part.id) if isinstance(part, Asked) else call
