"""Who signed in and out: what staff do that belongs to no conversation.

It is kept where everything is kept: in the journal, append-only and hash-chained, as a conversation of its own for each
month, so that none grows without end. Its id is one that no customer can ask for.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from turnkeeper.core.events import ConversationStarted, Event, TurnWarned
from turnkeeper.errors import ConversationBusyError, JournalError
from turnkeeper.journal import Journal, Summary
from turnkeeper.wire.json import decode, encode

__all__ = ("StaffLog", "Visit", "is_staff_log")

_PREFIX = "staff log "
_OWNER = {"kind": "system", "id": "turnkeeper.web", "level": "anonymous"}
_TRIES = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Visit:
    """`what` is `signed_in`, `sign_in_refused`, `signed_out` or `exported`; `about` says more, such as the address."""

    at: float
    what: str
    who: str
    about: str


def is_staff_log(summary: Summary) -> bool:
    """Whether it is no conversation but the staff log."""
    who = summary.principal
    return who is not None and (who.kind, who.id) == (_OWNER["kind"], _OWNER["id"])


class StaffLog:
    """The log in that journal."""

    def __init__(self, journal: Journal, clock: Callable[[], float]) -> None:
        self._journal = journal
        self._clock = clock
        self._last: dict[str, int] = {}

    async def write(self, what: str, who: str, about: str = "") -> None:
        """Write down what somebody did. JournalError if it can't be."""
        now = self._clock()
        name = _name(_month(now))
        event = TurnWarned(at=now, code=what, message=encode({"who": who, "about": about}))
        for _ in range(_TRIES):
            after = self._last.get(name)
            if after is None:
                after = len(await self._sound(name))
            begin: list[Event] = [] if after else [ConversationStarted(at=now, principal=_OWNER)]
            try:
                self._last = {name: await self._journal.append(name, [*begin, event], after=after)}
            except ConversationBusyError:
                self._last.pop(name, None)  # another process wrote
            else:
                return
        raise JournalError("the staff log can't be written: others write without end")

    async def visits(self, month: str) -> list[Visit]:
        """What is written of a month (`2026-12`), oldest first."""
        found = []
        for event in await self._sound(_name(month)):
            if isinstance(event, TurnWarned):
                said = decode(event.message)
                found.append(Visit(at=event.at, what=event.code, who=said["who"], about=said["about"]))
        return found

    async def _sound(self, name: str) -> list[Event]:
        events = await self._journal.read(name)
        first = events[0] if events else None
        if first is not None and not (isinstance(first, ConversationStarted) and first.principal == _OWNER):
            raise JournalError(f"{name!r} is somebody's conversation, not the staff log")
        return events


def _name(month: str) -> str:
    return _PREFIX + month


def _month(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m")
