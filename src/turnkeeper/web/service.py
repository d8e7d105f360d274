"""What all doors of the web share: taking messages in, driving turns in the background, following a conversation.

A message is durable before it is acknowledged, and its turn is driven here afterwards, or by a worker elsewhere, or by
the next process if this one is killed. Following gives the journal's events with their numbers, and between them the
text that streams in; it works the same wherever the turn is driven, only the text before its reply is whole needs the
turn to be driven here.
"""

from __future__ import annotations

import logging
import math
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass

import anyio
from anyio.abc import TaskGroup

from turnkeeper.core.events import ConversationStarted, Event, ReplyReceived, RequestFailed, RequestStarted, TurnEnded
from turnkeeper.core.identity import same_person
from turnkeeper.driver.conversation import Conversation
from turnkeeper.driver.inbox import Inject, recoverable
from turnkeeper.driver.keeper import Keeper
from turnkeeper.errors import TurnkeeperError, UnknownConversationError
from turnkeeper.journal import Summary
from turnkeeper.types import Principal
from turnkeeper.updates import (
    CallFinished,
    ReplyDiscarded,
    RetryScheduled,
    TextDelta,
    ThinkingDelta,
    ToolProgress,
    Update,
)
from turnkeeper.updates import ReplyReceived as ReplyReceivedUpdate
from turnkeeper.updates import RequestStarted as RequestStartedUpdate
from turnkeeper.updates import TurnEnded as TurnEndedUpdate
from turnkeeper.web.ledger import Ledger
from turnkeeper.web.live import Filter, Live, Switchboard
from turnkeeper.web.metrics import Metrics
from turnkeeper.web.stafflog import StaffLog, is_staff_log

__all__ = ("CaughtUp", "Delta", "Durable", "Item", "Progress", "Service")

_log = logging.getLogger("turnkeeper.web")

LOOK_SECONDS = 1.0
"""How often the journal is looked at for what other processes did, and for turns that nobody drives."""
_MOST_LOOKED_AT = 200
_MOST_AT_ONCE = 256
_MOST_RECOVERED = 1_000


@dataclass(frozen=True, slots=True)
class Durable:
    """Event `seq` of the conversation, from the journal."""

    seq: int
    event: Event


@dataclass(frozen=True, slots=True)
class Delta:
    """More of a reply's text that streams in: `text` begins at character `offset` of it.

    `reply` is the number of the event that began the request (`Durable.seq` of its `RequestStarted`).
    """

    reply: int
    offset: int
    text: str


@dataclass(frozen=True, slots=True)
class Progress:
    """What a running call reported last."""

    call_id: str
    message: str
    fraction: float | None


@dataclass(frozen=True, slots=True)
class CaughtUp:
    """Everything that was there has been given; what follows happens from now on. Given once."""

    last: int


Item = Durable | Delta | Progress | CaughtUp


class Service:
    """One keeper behind the web. `async with service:` drives turns; on leaving they are interrupted, to be resumed."""

    def __init__(
        self,
        keeper: Keeper,
        *,
        inject: Inject | None = None,
        make_filter: Callable[[], Filter] | None = None,
        metrics: Metrics | None = None,
        drive: bool = True,
    ) -> None:
        self.keeper = keeper
        self.journal = keeper.journal
        self.make_filter = make_filter
        self.metrics = metrics or Metrics()
        self.switchboard = Switchboard(make_filter)
        self.ledger = Ledger(keeper.journal, skip=is_staff_log)
        self.staff_log = StaffLog(keeper.journal, keeper.agent.now)
        self._inject = inject
        self._drive = drive
        self._group: TaskGroup | None = None
        self._at_work: dict[str, Conversation | None] = {}
        self._again: set[str] = set()
        self._stopping: set[str] = set()
        self._room = anyio.Semaphore(_MOST_AT_ONCE)
        self._known: dict[str, Summary] = {}

    def now(self) -> float:
        """Seconds since 1970, by the agent's clock."""
        return self.keeper.agent.now()

    @property
    def at_work(self) -> int:
        """How many conversations are being driven here."""
        return len(self._at_work)

    # ----- running ---------------------------------------------------------------------------------------------------

    async def run(self, started: anyio.Event | None = None) -> None:
        """Look after the conversations until cancelled. Turns that were left open go on first."""
        async with anyio.create_task_group() as group:
            self._group = group
            try:
                await self._look_after(first=True)
                if started is not None:
                    started.set()
                while True:
                    await anyio.sleep(LOOK_SECONDS)
                    await self._look_after(first=False)
            finally:
                self._group = None

    async def _look_after(self, *, first: bool) -> None:
        """Kick what could go on, and announce what others changed."""
        try:
            if self._drive:
                # At the start also what a lease holds: its holder may be the process that this one replaces.
                now = math.inf if first else self.now()
                for name in await recoverable(self.keeper, now=now, limit=_MOST_RECOVERED):
                    self.kick(name)
            if not self.switchboard:
                return  # nobody reads, so nobody is to be told
            summaries = await self.journal.conversations(limit=_MOST_LOOKED_AT)
        except TurnkeeperError as error:
            _log.warning("the journal can't be looked at: %s", error)
            return
        known, self._known = self._known, {one.id: one for one in summaries}
        for one in summaries:
            if known and known.get(one.id) != one and one.id not in self._at_work:
                self.switchboard.announce(one.id)

    def kick(self, conversation_id: str) -> None:
        """Have somebody go on with the conversation, if there is anything to do."""
        if not self._drive or self._group is None:
            return
        if conversation_id in self._at_work:
            self._again.add(conversation_id)
            return
        self._at_work[conversation_id] = None
        self._group.start_soon(self._work, conversation_id)

    async def _work(self, name: str) -> None:
        try:
            async with self._room:
                while True:
                    self._again.discard(name)
                    if (await self.ledger.line(name)).taken_over is not None:
                        break  # a person answers
                    done = await self.keeper.work_off(name, inject=self._inject, watch=self._watch)
                    self.metrics.turns(done.replies)
                    if name not in self._again:
                        break
        except TurnkeeperError as error:
            _log.warning("conversation %s can't go on: %s", name, error)
        except Exception:  # noqa: BLE001 - one conversation must not end the others' service
            _log.exception("conversation %s can't go on", name)
        finally:
            self._at_work.pop(name, None)
            self._again.discard(name)
            self._stopping.discard(name)
            self.switchboard.end(name)
            self.switchboard.announce(name)

    async def _watch(self, conversation: Conversation, update: Update) -> None:
        """Keep the text that streams in, and tell those who wait."""
        name, board = conversation.id, self.switchboard
        self._at_work[name] = conversation
        if isinstance(update, RequestStartedUpdate):
            board.begin(name, conversation.recorder.last)
        elif isinstance(update, TextDelta):
            channel = board.find(name)
            if channel is not None and channel.live is not None:
                channel.live.add(update.text)
        elif isinstance(update, ToolProgress):
            board.report(name, update.call_id, update.message, update.fraction)
        elif isinstance(update, CallFinished):
            board.end(name, update.call_id)
        elif isinstance(update, ReplyReceivedUpdate | ReplyDiscarded | RetryScheduled | TurnEndedUpdate):
            board.end(name)
        board.announce(name, events=not isinstance(update, TextDelta | ThinkingDelta | ToolProgress))
        if name in self._stopping and self._group is not None and not isinstance(update, TurnEndedUpdate):
            self._stopping.discard(name)
            self._group.start_soon(conversation.cancel)

    # ----- what people do --------------------------------------------------------------------------------------------

    async def post(self, conversation_id: str, text: str, *, key: str, principal: Principal) -> bool:
        """Take a message in; False if one of that key has come before. Its turn follows by itself.

        Errors are those of `Keeper.post`.
        """
        added = await self.keeper.post(conversation_id, text, key=key, principal=principal) == "queued"
        if added:
            self.metrics.count("messages")
            self.switchboard.announce(conversation_id)
        self.kick(conversation_id)
        return added

    async def admit(self, conversation_id: str, principal: Principal) -> int:
        """The number of the newest event, 0 if the conversation has none yet.

        UnconfirmedError if it was held with proof of who somebody is, and the principal has none (any more);
        UnknownConversationError if it is another principal's, or begun by the application for nobody.
        """
        recorder = (await self.keeper.conversation(conversation_id, principal=principal)).recorder
        if recorder.last and recorder.owner is None:
            raise UnknownConversationError(f"no conversation {conversation_id!r} in this journal")
        return recorder.last

    async def own(self, conversation_id: str, principal: Principal) -> int:
        """As `admit`; UnknownConversationError also for a conversation that is not there, or nobody's."""
        await self.belongs(conversation_id, principal)
        return await self.admit(conversation_id, principal)

    async def belongs(self, conversation_id: str, principal: Principal) -> None:
        """UnknownConversationError unless it is that principal's, with proof of who they are or without."""
        owner = await self.owner(conversation_id)
        if owner is None or not same_person(owner, principal):
            raise UnknownConversationError(f"no conversation {conversation_id!r} in this journal")

    async def stop(self, conversation_id: str, *, principal: Principal | None) -> bool:
        """End the conversation's turn as cancelled, at once or as soon as it begins; False if there is none.

        ConversationBusyError if another process drives it.
        """
        running = self._at_work.get(conversation_id)
        if running is not None and running.is_running:
            await running.cancel()
            return True
        if conversation_id in self._at_work:
            self._stopping.add(conversation_id)
            return True
        who = principal or await self.owner(conversation_id)  # staff end it in its owner's name, proven or not
        conversation = self.keeper.unopened(conversation_id, principal=who)
        await conversation.load()
        if principal is not None:
            await conversation.admit()
        if not conversation.is_open:
            return False
        await conversation.cancel()
        self.switchboard.announce(conversation_id)
        self.kick(conversation_id)
        return True

    async def owner(self, conversation_id: str) -> Principal | None:
        """Whose conversation it is. UnknownConversationError if there is none of that id."""
        first = await self.journal.first(conversation_id)
        if first is None:
            if queued := await self.journal.queued(conversation_id, limit=1):
                return queued[0].principal
            # a message leaves the queue only as a turn, which may have begun between the two looks
            first = await self.journal.first(conversation_id)
        if first is None:
            raise UnknownConversationError(f"no conversation {conversation_id!r} in this journal")
        found = first.principal if isinstance(first, ConversationStarted) else None
        return Principal(**found) if found else None

    # ----- following -------------------------------------------------------------------------------------------------

    async def follow(self, conversation_id: str, *, after: int = 0, raw: bool = False) -> AsyncGenerator[Item]:
        """The conversation from event `after` on, for ever: its events, and text as it streams in.

        `raw` gives the model's text instead of the customer's part. Text of a reply is given in one piece up to where
        it is when one starts to follow, then piece by piece, each beginning where the last one ended; after an event
        that ends the reply (`ReplyReceived`, `RequestFailed`, `TurnEnded`) nothing of it comes any more.
        """
        place = _Place(after, raw)
        looked = -1
        with self.switchboard.reading(conversation_id) as channel:
            while True:
                version = channel.version
                if looked != channel.events:
                    looked = channel.events
                    for event in await self.journal.read(conversation_id, after=place.seq):
                        yield place.passed(event)
                for item in place.news(channel.live, channel.progress):
                    yield item
                if not place.told:
                    place.told = True
                    yield CaughtUp(place.seq)
                await channel.changed(version)


class _Place:
    """How far one reader has come."""

    def __init__(self, after: int, raw: bool) -> None:
        self.seq = after
        self.told = False
        self._raw = raw
        self._over = 0  # the newest reply that an event has ended
        self._reply = 0
        self._length = 0
        self._progress: dict[str, tuple[str, float | None]] = {}

    def passed(self, event: Event) -> Durable:
        self.seq += 1
        if isinstance(event, RequestStarted):
            self._over = self.seq - 1
        elif isinstance(event, ReplyReceived | RequestFailed | TurnEnded):
            self._over = self.seq
        return Durable(self.seq, event)

    def news(self, live: Live | None, progress: dict[str, tuple[str, float | None]]) -> list[Item]:
        items: list[Item] = []
        # Text comes between the event that began its reply and the one that ends it, whatever was read first.
        if live is not None and self._over < live.reply <= self.seq:
            if live.reply != self._reply:
                self._reply, self._length = live.reply, 0
            text = live.raw if self._raw else live.shown
            if len(text) > self._length:
                items.append(Delta(live.reply, self._length, text[self._length :]))
                self._length = len(text)
        for call_id, report in progress.items():
            if self._progress.get(call_id) != report:
                items.append(Progress(call_id, *report))
        self._progress = dict(progress)
        return items
