"""A conversation that begins as another one's first events."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import replace

from turnkeeper.core.events import ConversationStarted, Event, ReplyReceived, RequestFailed, RequestStarted, TurnEnded
from turnkeeper.driver.loop import close_open_turn
from turnkeeper.driver.names import checked_name
from turnkeeper.driver.recorder import Recorder
from turnkeeper.errors import InputError, UnknownConversationError
from turnkeeper.journal import Journal, MemoryJournal

__all__ = ("fork",)


async def fork(journal: Journal, conversation_id: str, seq: int | None, *, new_id: str | None, now: float) -> str:
    """Begin a new conversation with the events up to number `seq` (None: all of them); gives its id.

    What was spent stays with the original. A turn that was open at `seq` is closed: each open call gets a result that
    says so, and none is run. InputError for a number that isn't there or an id that is taken.
    """
    events = await journal.read(conversation_id)
    if not events:
        raise UnknownConversationError(f"no conversation {conversation_id!r} in this journal")
    last = len(events) if seq is None else seq
    if not 1 <= last <= len(events):
        raise InputError(f"conversation {conversation_id!r} has the events 1 to {len(events)}, not {last}")
    name = uuid.uuid4().hex if new_id is None else checked_name(new_id)
    if await journal.read(name):
        raise InputError(f"there is a conversation {name!r} in this journal already; give the new one another id")
    copied = _copied(events[:last], {"conversation": conversation_id, "seq": last}, now)
    scratch = Recorder(MemoryJournal(), name)
    for event in copied:
        scratch.stage(event)
    close_open_turn(scratch, at=now, reason="forked")
    await scratch.flush()
    await journal.append(name, await scratch.written(), after=0)
    return name


def _copied(events: Sequence[Event], origin: dict[str, object], now: float) -> list[Event]:
    first, *rest = events
    if not isinstance(first, ConversationStarted):
        first, rest = ConversationStarted(at=now), list(events)
    return [replace(first, forked_from=origin), *map(_without_cost, rest)]


def _without_cost(event: Event) -> Event:
    if isinstance(event, ReplyReceived | RequestFailed):
        return replace(event, usage={}, cost=None, reserved=None)
    if isinstance(event, RequestStarted | TurnEnded):
        return replace(event, reserved=None)
    return event
