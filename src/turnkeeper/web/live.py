"""What is not in the journal yet: the text of replies that are streaming in, and who waits for news of what.

A reply's text is kept once, however many read it. A reader has no queue: it keeps a place (the last event's number, the
length of text it has) and comes back for what is behind it, so a slow one costs nothing, and none can miss or repeat a
word.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol

import anyio

from turnkeeper.web.cleaning import clean

__all__ = ("BOARD", "Channel", "Filter", "Live", "Switchboard")

BOARD = ""
"""The channel on which every change is announced; no conversation has this id."""


class Filter(Protocol):
    """Chooses the user's part of a reply that streams in; `turnkeeper.desk.ReplyFilter` is one."""

    def feed(self, delta: str) -> str:
        """Take the next piece; what can be shown by now."""
        ...

    def finish(self) -> str:
        """The text has ended; what was held back."""
        ...


class Live:
    """A reply that streams in: `reply` is the number of the event that began its request.

    `raw` is the model's text so far, `shown` the customer's part of it. Both only grow.
    """

    def __init__(self, reply: int, chosen: Filter | None) -> None:
        self.reply = reply
        self.raw = ""
        self.shown = ""
        self._chosen = chosen

    def add(self, delta: str) -> None:
        """The next piece of the model's text."""
        self.raw += delta
        part = self._chosen.feed(delta) if self._chosen is not None else delta
        if part:
            self.shown += clean(part, before=self.shown)


class Channel:
    """News of one conversation. `progress` is the last report of each call that runs, as (message, fraction).

    `version` counts news of any kind, `events` those after which the journal may hold more.
    """

    def __init__(self) -> None:
        self.live: Live | None = None
        self.progress: dict[str, tuple[str, float | None]] = {}
        self.version = 0
        self.events = 0
        self.readers = 0
        self._news = anyio.Event()

    def announce(self, *, events: bool) -> None:
        """There is something new: everybody who waits looks; in the journal too, if there may be events."""
        self.version += 1
        self.events += events
        news, self._news = self._news, anyio.Event()
        news.set()

    async def changed(self, seen: int) -> int:
        """Wait until the version isn't `seen`; the new one."""
        while self.version == seen:
            await self._news.wait()
        return self.version


class Switchboard:
    """The channels of the conversations that somebody reads or that are driven here."""

    def __init__(self, make_filter: Callable[[], Filter] | None) -> None:
        self._make_filter = make_filter
        self._channels: dict[str, Channel] = {}

    def __len__(self) -> int:
        return len(self._channels)

    @property
    def readers(self) -> int:
        """How many streams are open."""
        return sum(channel.readers for channel in self._channels.values())

    def find(self, conversation_id: str) -> Channel | None:
        """The conversation's channel, where there is one."""
        return self._channels.get(conversation_id)

    def begin(self, conversation_id: str, reply: int) -> Live:
        """A reply begins to stream in."""
        live = Live(reply, self._make_filter() if self._make_filter is not None else None)
        self._channels.setdefault(conversation_id, Channel()).live = live
        return live

    def end(self, conversation_id: str, call_id: str | None = None) -> None:
        """Nothing streams in that conversation any more; with `call_id`, only that call's reports are over."""
        channel = self._channels.get(conversation_id)
        if channel is None:
            return
        if call_id is not None:
            channel.progress.pop(call_id, None)
        else:
            channel.live = None
        self._let_go(conversation_id, channel)

    def report(self, conversation_id: str, call_id: str, message: str, fraction: float | None) -> None:
        """A running call says how far it is."""
        self._channels.setdefault(conversation_id, Channel()).progress[call_id] = (message, fraction)

    def announce(self, conversation_id: str, *, events: bool = True) -> None:
        """Something changed in that conversation; not in the journal, where `events` says so."""
        for name in (conversation_id, BOARD) if events else (conversation_id,):
            channel = self._channels.get(name)
            if channel is not None:
                channel.announce(events=events)

    @contextmanager
    def reading(self, conversation_id: str) -> Iterator[Channel]:
        """The conversation's channel, for as long as the block runs."""
        channel = self._channels.setdefault(conversation_id, Channel())
        channel.readers += 1
        try:
            yield channel
        finally:
            channel.readers -= 1
            self._let_go(conversation_id, channel)

    def _let_go(self, conversation_id: str, channel: Channel) -> None:
        unused = not channel.readers and channel.live is None and not channel.progress
        if unused and self._channels.get(conversation_id) is channel:
            del self._channels[conversation_id]
