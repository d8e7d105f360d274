"""A conversation as people read it: a projection of the journal's events."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from turnkeeper.cli.escapes import clean, clean_line
from turnkeeper.cli.terminal import Style
from turnkeeper.cli.wording import call_line, content_text, explain, moment, spent, way_on
from turnkeeper.core.events import (
    ApprovalDecided,
    ApprovalRequested,
    CallFinished,
    CallRejected,
    CallResolved,
    CallUnresolved,
    ConversationStarted,
    Event,
    MessagesImported,
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
from turnkeeper.core.history import History
from turnkeeper.types import Message, TurnStatus, Usage
from turnkeeper.wire.blocks import text_of
from turnkeeper.wire.json import decode

if TYPE_CHECKING:
    from turnkeeper.journal import Journal

__all__ = ("Call", "Entry", "Transcript", "lines_of", "read_transcript", "transcript_of")

ASSISTANT_MARK = "│ "
"""Stands before each line of the assistant's."""
LONGEST_RESULT = 400
"""Characters of a result that are shown; the export has all of it."""


@dataclass(slots=True, kw_only=True)
class Call:
    """A call and its result; `outcome` is None while it has none."""

    id: str
    name: str
    input: Any
    outcome: str | None = None
    content: Any = None
    seconds: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One thing that was said or done: `kind` is `user`, `assistant`, `call`, `note`. `at` is seconds since 1970."""

    kind: str
    at: float
    text: str = ""
    call: Call | None = None


@dataclass(slots=True, kw_only=True)
class Transcript:
    """A conversation. `status` is the last turn's, None while it is open; `cost` None if a request had no price."""

    id: str
    principal: dict[str, str] | None = None
    started_at: float = 0.0
    entries: list[Entry] = field(default_factory=list)
    turns: int = 0
    status: str | None = None
    reason: str = ""
    model: str = ""
    usage: Usage = field(default_factory=Usage)
    cost: Decimal | None = Decimal(0)
    messages: list[Message] = field(default_factory=list)


async def read_transcript(journal: Journal, conversation_id: str) -> Transcript | None:
    """The transcript of a conversation; None if the journal doesn't have it."""
    events = await journal.read(conversation_id)
    return transcript_of(conversation_id, events) if events else None


def transcript_of(conversation_id: str, events: Sequence[Event]) -> Transcript:
    """The transcript of these events, of which there is at least one."""
    writer = _Writer(conversation_id, events)
    for event in events:
        if (write := _WRITERS.get(type(event))) is not None:
            write(writer, event)
    return writer.made


class _Writer:
    """Writes the transcript down, event by event."""

    def __init__(self, conversation_id: str, events: Sequence[Event]) -> None:
        self.made = Transcript(id=conversation_id, started_at=events[0].at, messages=History(events).messages())
        self._calls: dict[str, Call] = {}

    def started(self, event: ConversationStarted) -> None:
        self.made.principal = event.principal

    def imported(self, event: MessagesImported) -> None:
        for raw in event.messages:
            message = decode(raw)
            content = message.get("content")
            text = _said(content)
            if text.strip():
                self._add(str(message.get("role")), event.at, text)
            for block in content if isinstance(content, list) else ():
                if block.get("type") == "tool_use":
                    call = Call(id=str(block.get("id")), name=str(block.get("name")), input=block.get("input"))
                    self._call(call, event.at)
                elif block.get("type") == "tool_result":
                    outcome = "failed" if block.get("is_error") else "succeeded"
                    self._finish(str(block.get("tool_use_id")), outcome, block.get("content"), None)

    def turn(self, event: TurnStarted) -> None:
        self.made.turns += 1
        self.made.status, self.made.reason = None, ""
        if event.content is not None:
            self._add("user", event.at, _said(decode(event.content)))

    def request(self, event: RequestStarted) -> None:
        self.made.model = event.model

    def reply(self, event: ReplyReceived) -> None:
        self._count(event.usage, event.cost)
        blocks = [decode(raw) for raw in event.blocks]
        if event.kept or event.status == TurnStatus.TRUNCATED:
            text = text_of(blocks)
            if text.strip():
                self._add("assistant", event.at, text)
        for asked in event.calls:
            given = blocks[asked.index].get("input") if asked.index < len(blocks) else None
            self._call(Call(id=asked.id, name=asked.name, input=given), event.at)

    def failure(self, event: RequestFailed) -> None:
        if event.usage:
            self._count(event.usage, event.cost)
        if event.delay is None:
            self._add("note", event.at, f"request failed: {event.kind}: {event.message}")

    def finished(self, event: CallFinished) -> None:
        self._finish(event.call_id, event.state, decode(event.content), event.seconds)

    def rejected(self, event: CallRejected) -> None:
        self._finish(event.call_id, "rejected", decode(event.content), None)

    def asked(self, event: ApprovalRequested) -> None:
        self._add("note", event.at, f"{event.tool} waits for approval {event.approval_id}: {event.policy}")

    def decided(self, event: ApprovalDecided) -> None:
        by = f" by {_who(event.by)}" if event.by else ""
        self._add("note", event.at, f"{event.decision}{by}{f': {event.reason}' if event.reason else ''}")
        if event.input is not None and event.call_id in self._calls:
            self._calls[event.call_id].input = decode(event.input)
        if event.content is not None:
            self._finish(event.call_id, event.decision, decode(event.content), None)

    def unresolved(self, event: CallUnresolved) -> None:
        self._finish(event.call_id, "outcome_unknown", None, None)

    def resolved(self, event: CallResolved) -> None:
        word = "happened" if event.happened else "did not happen"
        who = _who(event.by)
        self._add("note", event.at, f"{who} says that it {word}{f': {event.reason}' if event.reason else ''}")
        if event.content is not None:
            self._finish(event.call_id, "resolved", decode(event.content), None)

    def parked(self, event: TurnParked) -> None:
        self.made.status = event.status

    def woken(self, event: TurnWoken | TurnResumed) -> None:
        del event
        self.made.status = None

    def warned(self, event: TurnWarned) -> None:
        self._add("note", event.at, f"warning: {event.message}")

    def ended(self, event: TurnEnded) -> None:
        self.made.status, self.made.reason = event.status, event.reason
        kind = self.made.principal.get("kind") if self.made.principal else None
        said = explain(event.status, event.reason, way_on(self.made.id, kind))
        if said is not None:
            self._add("note", event.at, said)

    def _add(self, kind: str, at: float, text: str) -> None:
        self.made.entries.append(Entry(kind=kind, at=at, text=text))

    def _call(self, call: Call, at: float) -> None:
        self._calls[call.id] = call
        self.made.entries.append(Entry(kind="call", at=at, call=call))

    def _finish(self, call_id: str, outcome: str, content: Any, taken: float | None) -> None:
        call = self._calls.get(call_id)
        if call is not None:
            call.outcome, call.content, call.seconds = outcome, content, taken

    def _count(self, usage: dict[str, Any], cost: Decimal | None) -> None:
        self.made.usage += Usage.of(usage)
        self.made.cost = None if cost is None or self.made.cost is None else self.made.cost + cost


_WRITERS: dict[type[Event], Callable[[_Writer, Any], None]] = {
    ConversationStarted: _Writer.started,
    MessagesImported: _Writer.imported,
    TurnStarted: _Writer.turn,
    RequestStarted: _Writer.request,
    ReplyReceived: _Writer.reply,
    RequestFailed: _Writer.failure,
    CallFinished: _Writer.finished,
    CallRejected: _Writer.rejected,
    ApprovalRequested: _Writer.asked,
    ApprovalDecided: _Writer.decided,
    CallUnresolved: _Writer.unresolved,
    CallResolved: _Writer.resolved,
    TurnParked: _Writer.parked,
    TurnWoken: _Writer.woken,
    TurnResumed: _Writer.woken,
    TurnWarned: _Writer.warned,
    TurnEnded: _Writer.ended,
}
"""What each kind of event adds; the other kinds add nothing that people read."""


def _who(principal: Mapping[str, Any]) -> str:
    """Somebody, as a journal has them, whoever wrote it."""
    return clean_line(f"{principal.get('kind', '?')} {principal.get('id', '?')}")


def _said(content: Any) -> str:
    if isinstance(content, str):
        return content
    shown = [block for block in content if block.get("type") not in ("tool_use", "tool_result")]
    return content_text(shown)


def lines_of(
    transcript: Transcript, *, width: int | None, chosen: Callable[[str], str] = str
) -> Iterator[tuple[str, Style]]:
    """The transcript as lines that are safe to print, each with its style; `chosen` is what of a reply is shown."""
    count = transcript.turns
    status = clean_line(transcript.status or "open")
    head = f"Conversation {clean_line(transcript.id)}, {moment(transcript.started_at)}"
    if transcript.principal is not None:
        head += f", {_who(transcript.principal)}"
    yield f"{head}, {count} turn{'' if count == 1 else 's'}, {status.replace('_', ' ')}", "dim"
    for entry in transcript.entries:
        yield from _entry_lines(entry, width, chosen)
    yield "", "plain"
    yield spent(transcript.usage, transcript.cost), "dim"


def _entry_lines(entry: Entry, width: int | None, chosen: Callable[[str], str]) -> Iterator[tuple[str, Style]]:
    if entry.call is not None:
        call = entry.call
        yield call_line(call.name, call.input, call.outcome or "no result yet", call.seconds, width=width), "dim"
        result = clean_line(content_text(call.content))
        if result:
            yield f"    {result if len(result) <= LONGEST_RESULT else result[: LONGEST_RESULT - 1] + '…'}", "dim"
    elif entry.kind == "note":
        yield f"  ({clean_line(entry.text)})", "dim"
    else:
        yield "", "plain"
        text = chosen(entry.text) if entry.kind == "assistant" else entry.text
        # every line has its mark: no text of others looks like a call, a result or a note
        by_user = entry.kind == "user"
        for line in clean(text).strip("\n").split("\n"):
            yield f"{'> ' if by_user else ASSISTANT_MARK}{line}".rstrip(), "bold" if by_user else "plain"
