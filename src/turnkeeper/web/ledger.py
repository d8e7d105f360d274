"""What lists, figures and the record of decisions need of each conversation, folded from its events and kept.

Only what came since the last look is read, so a list that is looked at again costs nothing for what did not change.
Everything here can be made again from the journal at any time; what is forgotten is read anew when it is asked for.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import anyio

from turnkeeper.core.events import (
    ApprovalDecided,
    ApprovalRequested,
    CallResolved,
    CallStarted,
    Event,
    MessagesImported,
    TurnEnded,
    TurnParked,
    TurnWarned,
    TurnWoken,
)
from turnkeeper.driver.spending import Entry, Spending, Total
from turnkeeper.errors import InputError, JournalError
from turnkeeper.journal import Journal, Summary
from turnkeeper.types import Principal
from turnkeeper.web.projection import HANDED_BACK, TAKEN_OVER
from turnkeeper.wire.json import decode

__all__ = ("Decision", "Ledger", "Line", "Wait")

_log = logging.getLogger("turnkeeper.web")

MOST_KEPT = 20_000
"""Conversations of which lines are kept; figures leave out what is older."""
_MOST_DECISIONS = 500
_PAGE = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What a person did in a conversation. `by` is None for an approval that ran out.

    `what` is `approved`, `edited`, `denied`, `expired`, `happened`, `did_not_happen`, `taken_over` or `handed_back`.
    """

    at: float
    conversation: str
    seq: int
    what: str
    by: Principal | None
    tool: str = ""
    call: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """For what the conversation waits (`awaiting_approval`, `awaiting_resolution`, or `answer` of the person who has
    taken it over), and since when."""

    what: str
    since: float


@dataclass(slots=True, kw_only=True)
class Line:
    """One conversation as it stood after event `seq`. `spent` is by day, model and tool."""

    conversation: str
    first: Event | None = None
    seq: int = 0
    taken_over: str | None = None
    parked: Wait | None = None
    unanswered: float | None = None
    is_readable: bool = True
    whole: Total = field(default_factory=lambda: Total(name=""))
    spent: dict[tuple[str, str, str], Total] = field(default_factory=dict)
    decisions: list[Decision] = field(default_factory=list)
    _tools: dict[str, str] = field(default_factory=dict)
    _spending: Spending = field(init=False)

    def __post_init__(self) -> None:
        self._spending = Spending(self.conversation)

    @property
    def wait(self) -> Wait | None:
        """What a person is waited for."""
        if self.parked is not None:
            return self.parked
        if self.taken_over is not None and self.unanswered is not None:
            return Wait(what="answer", since=self.unanswered)
        return None

    def take(self, events: Iterable[Event]) -> list[Entry]:
        """The next events; what they were billed for."""
        billed: list[Entry] = []
        for event in events:
            self.first = self.first or event
            self.seq += 1
            entries = self._spending.take(event)
            for entry in entries:
                self.whole.add(entry)
                self.spent.setdefault(_key(entry), Total(name="")).add(entry)
            billed += entries
            self._stand(event)
            if (decision := self._decision(event)) is not None:
                self.decisions = [*self.decisions, decision][-_MOST_DECISIONS:]
        return billed

    def _stand(self, event: Event) -> None:
        match event:
            case TurnParked():
                self.parked = Wait(what=event.status, since=event.at)
            case TurnWoken() | TurnEnded():
                self.parked = None
            case TurnWarned() if event.code in (TAKEN_OVER, HANDED_BACK):
                self.taken_over = event.message if event.code == TAKEN_OVER else None
                self.unanswered = None
            case MessagesImported() if self.taken_over is not None:
                roles = [decode(message).get("role") for message in event.messages]
                if "assistant" in roles:
                    self.unanswered = None
                elif self.unanswered is None:
                    self.unanswered = event.at
            case ApprovalRequested() | CallStarted():
                self._tools[event.call_id] = event.tool
            case _:
                pass

    def _decision(self, event: Event) -> Decision | None:
        def made(what: str, by: Principal | None, call: str = "", reason: str = "") -> Decision:
            tool = self._tools.pop(call, "")
            return Decision(
                at=event.at,
                conversation=self.conversation,
                seq=self.seq,
                what=what,
                by=by,
                tool=tool,
                call=call,
                reason=reason,
            )

        match event:
            case ApprovalDecided():
                return made(event.decision, Principal(**event.by) if event.by else None, event.call_id, event.reason)
            case CallResolved():
                what = "happened" if event.happened else "did_not_happen"
                return made(what, Principal(**event.by), event.call_id, event.reason)
            case TurnWarned() if event.code in (TAKEN_OVER, HANDED_BACK):
                return made(event.code, Principal("staff", event.message))
            case _:
                return None


class Ledger:
    """The lines of a journal's conversations. `skip` says which conversations are none.

    `spent` is the sum over all of them by day, model and tool; `left_out` is true where there are more conversations
    than lines are kept of.
    """

    def __init__(self, journal: Journal, skip: Callable[[Summary], bool]) -> None:
        self._journal = journal
        self._skip = skip
        self.spent: dict[tuple[str, str, str], Total] = {}
        self.left_out = False
        self._lines: OrderedDict[str, Line] = OrderedDict()
        self._catching_up = anyio.Lock()

    @property
    def lines(self) -> list[Line]:
        """What is known by now."""
        return list(self._lines.values())

    async def line(self, conversation_id: str) -> Line:
        """That conversation's, up to date; an empty one where there is none. JournalError where it can't be read."""
        line = self._lines.get(conversation_id)
        if line is not None and (not line.seq or not line.is_readable):
            line = None
        if line is not None and line.first != await self._journal.first(conversation_id):
            line = None  # erased meanwhile, and perhaps begun anew
        if line is None:
            line = Line(conversation=conversation_id)
        self._keep(line)
        after = line.seq
        try:
            events = await self._journal.read(conversation_id, after=after)
            billed = line.take(events[line.seq - after :])  # another may have read the same meanwhile
            if self._lines.get(conversation_id) is line:
                for entry in billed:
                    self.spent.setdefault(_key(entry), Total(name="")).add(entry)
        finally:
            if not line.seq and self._lines.get(conversation_id) is line:
                self._drop(conversation_id)
        return line

    async def of(self, summary: Summary) -> Line:
        """The line of a conversation that was listed; where it can't be read, one that says so."""
        line = self._lines.get(summary.id)
        if line is not None and _is_current(line, summary):
            return line
        try:
            return await self.line(summary.id)
        except (JournalError, InputError) as error:
            _log.warning("conversation %s can't be read: %s", summary.id, error)
            line = Line(conversation=summary.id, seq=summary.events, is_readable=False)
            self._keep(line)
            return line

    async def catch_up(self, *, most: int) -> bool:
        """Look at every conversation there is; read `most` of those that changed. Whether that was all."""
        async with self._catching_up:
            found: set[str] = set()
            offset = read = 0
            while page := await self._journal.conversations(limit=_PAGE, offset=offset):
                offset += len(page)
                for one in page:
                    found.add(one.id)
                    line = self._lines.get(one.id)
                    if self._skip(one) or (line is not None and _is_current(line, one)):
                        continue
                    if len(found) > MOST_KEPT:
                        self.left_out = True
                        return True
                    if read == most:
                        return False
                    await self.of(one)
                    read += 1
            for name in [name for name in self._lines if name not in found]:
                self._drop(name)  # erased
            self.left_out = False
            return True

    def _keep(self, line: Line) -> None:
        if self._lines.get(line.conversation) is not line:
            self._drop(line.conversation)
            self._lines[line.conversation] = line
        self._lines.move_to_end(line.conversation)
        while len(self._lines) > MOST_KEPT:
            self._drop(next(iter(self._lines)))

    def _drop(self, conversation_id: str) -> None:
        line = self._lines.pop(conversation_id, None)
        for key, total in line.spent.items() if line is not None else ():
            whole = self.spent[key]
            whole.join(total, -1)
            if not (whole.requests or whole.cost or any(whole.tokens.values())):
                del self.spent[key]


def _key(entry: Entry) -> tuple[str, str, str]:
    return (entry.day, entry.model, entry.tool)


def _is_current(line: Line, summary: Summary) -> bool:
    begun = line.first is None or line.first.at == summary.created_at
    return begun and line.seq == summary.events
