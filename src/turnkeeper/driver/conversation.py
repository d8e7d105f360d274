"""One conversation: send, resume, cancel."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from typing import Any, Literal

import anyio
from anyio.abc import TaskGroup

from turnkeeper.client.api import APIClient
from turnkeeper.core.checking import check_ending, check_messages, check_user_content, open_call_ids
from turnkeeper.core.events import ConversationStarted, Event, MessagesImported, TurnResumed, TurnStarted
from turnkeeper.core.identity import same_person
from turnkeeper.core.machine import Phase
from turnkeeper.core.tool_choice import AUTO
from turnkeeper.driver import conditions
from turnkeeper.driver.importing import as_reply
from turnkeeper.driver.leasing import Hold, held, new_holder
from turnkeeper.driver.loop import Loop, Plan, close_open_turn
from turnkeeper.driver.observing import observed
from turnkeeper.driver.people import expire, wake
from turnkeeper.driver.preparing import Preparer
from turnkeeper.driver.recorder import Recorder
from turnkeeper.driver.records import reply_of, settled
from turnkeeper.driver.reply import Reply
from turnkeeper.driver.running import CallRunner, Surroundings
from turnkeeper.driver.standing import Identity, Standing
from turnkeeper.driver.turn import Emit, Turn
from turnkeeper.driver.waiting import as_dict
from turnkeeper.errors import ConversationBusyError, InputError, UnknownConversationError
from turnkeeper.journal.port import Journal
from turnkeeper.tools import Registry
from turnkeeper.types import Message, Principal, TurnStatus
from turnkeeper.wire.json import encode

__all__ = ("Conversation", "MovedOnError", "WhenBusy")

WhenBusy = Literal["refuse", "wait", "interrupt"]
Opening = Callable[[], Sequence[Event] | None]


class MovedOnError(Exception):
    """The conversation is not as it was when it was looked at: look again."""


class Conversation:
    """A conversation in a journal; made by `keeper.conversation(…)`.

    It is driven by one turn at a time; a second `send` while one runs raises ConversationBusyError.
    """

    def __init__(  # noqa: PLR0913 - the keeper is the only caller
        self,
        conversation_id: str,
        *,
        plan: Plan,
        registry: Registry,
        client: Callable[[], APIClient],
        journal: Journal,
        principal: Principal | None,
        identity: Identity | None,
        injected: Mapping[str, Any],
        most_at_once: int | None,
        approval_seconds: float,
        lease_seconds: float,
        group: TaskGroup | None,
        shared: bool,
    ) -> None:
        self.id = conversation_id
        self.principal = principal
        self.of_anybody = False
        """Whether turns may run in nobody's name though the conversation is somebody's: messages of the application."""
        self._plan = plan
        self._registry = registry
        self._client = client
        self._journal = journal
        self._injected = injected
        self._most_at_once = most_at_once
        self._approval_seconds = approval_seconds
        self._lease_seconds = lease_seconds
        self._group = group
        self._shared = shared
        self._holder = new_holder()
        self._recorder = Recorder(journal, conversation_id)
        self._standing = Standing(principal, conversation_id=conversation_id, identity=identity, clock=plan.clock)
        self._running: anyio.CancelScope | None = None
        self._ended = anyio.Event()
        self._left = False

    async def load(self) -> None:
        """Read the journal. UnknownConversationError if the conversation belongs to another principal."""
        await self._recorder.load()
        self.speak_as(self.principal)

    async def admit(self) -> None:
        """UnconfirmedError if it was held by somebody who had proven who they are, and the principal has not."""
        if self._recorder.state.holder is not None:
            await self._standing.now()
            self._standing.check(self._recorder)

    def speak_as(self, principal: Principal | None, injected: Mapping[str, Any] | None = None) -> None:
        """Go on in that principal's name, with these Injected parameters if any are given.

        UnknownConversationError if the conversation belongs to another one, or to anyone where nobody is named; nothing
        is changed then.
        """
        theirs, unnamed = self._recorder.owner, principal is None and self.of_anybody
        if theirs is not None and not unnamed and (principal is None or not same_person(principal, theirs)):
            self._recorder = Recorder(self._journal, self.id)  # what was read meanwhile is not theirs to see
            raise UnknownConversationError(f"no conversation {self.id!r} in this journal")
        self.principal = self._standing.given = principal
        self._injected = self._injected if injected is None else injected

    @property
    def who(self) -> Principal | None:
        """Who was talking, with the level that was proven, when the journal last heard of it."""
        return self._recorder.state.who

    @property
    def messages(self) -> list[Message]:
        """The history as the API is sent it: plain dicts, made anew on each access."""
        return self._recorder.history.messages()

    @property
    def status(self) -> TurnStatus | None:
        """The last turn's status; None before the first turn and while a turn is open."""
        turn, phase = self._recorder.state.turn, self._recorder.state.phase
        if turn is None or phase not in (Phase.IDLE, Phase.PARKED):
            return None
        return turn.waits_for if phase is Phase.PARKED else turn.status

    @property
    def is_running(self) -> bool:
        """A turn runs right now, driven by this object."""
        return self._running is not None

    @property
    def is_open(self) -> bool:
        """A turn was begun and has not ended: it runs, or it was interrupted and can be resumed."""
        return self._recorder.state.phase is not Phase.IDLE

    @property
    def recorder(self) -> Recorder:
        """State, history and events as far as they are known here; for the driver's own modules."""
        return self._recorder

    def send(
        self,
        content: str | Sequence[Mapping[str, Any]],
        *,
        key: str | None = None,
        when_busy: WhenBusy = "refuse",
    ) -> Turn:
        """One turn: the user's message and all that follows from it.

        `content` is text or a list of content blocks; blank text is refused (InputError) and nothing is stored. A turn
        left open by an interruption is closed first: its open calls get their results.

        `key` is the sender's own id for the message: sent again, it does not start a second turn, but goes on with the
        turn it started, or gives that turn's end. `when_busy` says what happens while another turn runs or waits for a
        person: `refuse` raises ConversationBusyError, `wait` waits for the turn, `interrupt` cancels it. A turn that
        another process runs is taken from it: it can write nothing more, and ends with ConversationBusyError.
        """
        conditions.check_when_busy(when_busy)
        body = check_user_content(content, accept=self._plan.accept)

        def opening() -> Sequence[Event] | None:
            state = self._recorder.state
            if key is not None and key in self._recorder.keys:
                return self._again(key, body)
            if state.phase is Phase.PARKED and when_busy != "interrupt":
                waits_for = state.turn.waits_for if state.turn is not None else None
                raise ConversationBusyError(
                    f"conversation {self.id!r} is {waits_for}: decide first, or send with when_busy='interrupt'"
                )
            started = self._started(encode(body), key)
            close_open_turn(self._recorder, at=self._now(), reason="interrupted")
            return [started]

        return self._turn(opening, when_busy=when_busy, key=key)

    def take_up(self, content: str | None, key: str | None, *, after: int) -> Turn:
        """Go on with the open turn or, where none is, begin the one of a message (`content` is JSON text).

        MovedOnError, and nothing is changed, if event `after` is not the conversation's last one any more.
        """

        def opening() -> list[Event]:
            if self._recorder.last != after:
                raise MovedOnError
            if self.is_open:
                return self._continuing()
            return [self._started(content, key)]

        return self._turn(opening)

    def _started(self, content: str | None, key: str | None = None) -> TurnStarted:
        self._standing.check(self._recorder)
        who, bound = (
            as_dict(self.principal) if self.principal else None,
            conditions.bound_names(self._registry, self._injected),
        )
        choice = None if self._plan.tool_choice == AUTO else self._plan.tool_choice
        begun = TurnStarted(at=self._now(), content=content, key=key, principal=who, injected=bound, tool_choice=choice)
        return replace(begun, ends_with_call=True) if self._plan.ends_with_call else begun

    def _check_bound(self) -> None:
        conditions.check_bound(self._recorder, self.id, self._registry, self._injected)

    def _again(self, key: str, body: Any) -> list[Event] | None:
        """A message that was sent before: what its turn needs to go on; None if that is over, for its end."""
        self._standing.check(self._recorder)
        turn = self._recorder.state.turn
        if turn is None or turn.key != key:
            raise InputError(f"the message {key!r} of conversation {self.id!r} was answered in an earlier turn")
        conditions.check_same(self._recorder.begun, body, key=key, conversation_id=self.id)
        if self.is_open:
            return self._continuing()
        if turn.status is not TurnStatus.FAILED or not self._recorder.history.waits_for_model:
            return None
        self._check_bound()
        return [TurnResumed(at=self._now())]

    def _continuing(self) -> list[Event]:
        """What a turn that was left open needs before it goes on: overdue approvals expire, it wakes if it can."""
        self._check_bound()
        self._recorder.note(*settled(self._recorder.turn_events))
        expire(self._recorder, self._now())
        wake(self._recorder, self._now())
        return []

    def resume(self) -> Turn:
        """Go on with the last turn: one that was interrupted, failed, or met a limit. InputError if there is none."""

        def opening() -> list[Event]:
            self._standing.check(self._recorder)
            state = self._recorder.state
            if state.phase is not Phase.IDLE:
                return self._continuing()
            waits = self._recorder.history.waits_for_model or (state.turn and state.turn.reason == "pause_turn")
            if state.turn is None or not waits:
                raise InputError(f"conversation {self.id!r} has nothing to resume: its last turn is complete")
            self._check_bound()
            return [TurnResumed(at=self._now())]

        return self._turn(opening)

    def answer(self, messages: Sequence[Message]) -> Turn:
        """Start from messages that exist already and answer the last one; only in a conversation without any.

        The last message may be the user's, or the assistant's with calls that have no results yet: they are run.
        HistoryError says what the API would refuse.
        """
        given = check_messages(messages, accept=self._plan.accept)
        check_ending(given, prefill=self._plan.model.prefill, model=self._plan.model.id)
        calls = open_call_ids(given[-1])

        def opening() -> list[Event]:
            if len(self._recorder.history):
                raise InputError(f"conversation {self.id!r} has messages already")
            now = self._now()
            before = given[:-1] if calls else given
            events: list[Event] = []
            if before:
                events.append(MessagesImported(at=now, messages=tuple(encode(message) for message in before)))
            events.append(self._started(None))
            if calls:
                events.append(as_reply(given[-1]["content"], now))
            return events

        return self._turn(opening)

    async def cancel(self) -> None:
        """End the running or interrupted turn as `cancelled`; every open call gets a result that says so."""
        if self._running is not None:
            self._running.cancel()
            with anyio.CancelScope(shield=True):
                await self._ended.wait()
        if self.is_open:
            await self._close("cancelled")

    async def _close(self, reason: str) -> None:
        if self._shared:
            async with self._held() as hold:
                self._recorder.token = hold.token
                await self._recorder.load()
                self.speak_as(self.principal)
                await self._end_open_turn(reason)
        else:
            await self._end_open_turn(reason)

    async def _end_open_turn(self, reason: str) -> None:
        close_open_turn(self._recorder, at=self._now(), reason=reason)
        await self._recorder.save()

    def _now(self) -> float:
        return self._plan.clock()

    def _turn(self, opening: Opening, *, when_busy: WhenBusy = "refuse", key: str | None = None) -> Turn:
        async def work(emit: Emit | None) -> Reply:
            while self._running is not None and (when_busy != "refuse" or self._left):
                turn = self._recorder.state.turn
                mine = key is not None and turn is not None and turn.key == key  # its own first delivery
                if when_busy == "interrupt" and not mine:
                    self._running.cancel()
                await self._ended.wait()
            if self._running is not None:
                raise ConversationBusyError(f"conversation {self.id!r} has a turn under way in this program")
            self._ended = anyio.Event()
            self._running = anyio.CancelScope()
            self._left = False
            reply: Reply | None = None
            try:
                with self._running:
                    reply = await self._drive(opening, emit, when_busy, key)
            finally:
                self._running = None
                self._ended.set()
            if reply is None:
                raise InputError(f"the turn of conversation {self.id!r} was cancelled before it began")
            return reply

        return Turn(work, self._group, self._leave)

    def _leave(self) -> None:
        """The reader of the running turn has gone: the turn ends soon, and the next one waits for that."""
        self._left = True

    async def _drive(self, opening: Opening, emit: Emit | None, when_busy: WhenBusy, key: str | None) -> Reply:
        client = self._client()
        conditions.check_journal(self._journal, self._registry)
        if self._recorder.broken is not None:
            self._recorder = Recorder(self._journal, self.id)
        if not self._shared:
            return await self._perform(client, opening, emit)
        take_over = when_busy == "interrupt" and not await conditions.is_begun_by(self._recorder, key)
        async with self._held(wait=when_busy != "refuse", take_over=take_over) as hold:
            self._recorder.token = hold.token
            return await self._perform(client, opening, emit)

    def _held(self, *, wait: bool = False, take_over: bool = False) -> AbstractAsyncContextManager[Hold]:
        how: dict[str, Any] = {"wait": wait, "take_over": take_over, "seconds": self._lease_seconds}
        return held(self._journal, self.id, holder=self._holder, clock=self._plan.clock, **how)

    async def _perform(self, client: APIClient, opening: Opening, emit: Emit | None) -> Reply:
        recorder = self._recorder
        await recorder.load()
        self.speak_as(self.principal)  # another's first message may have come before this one
        conditions.check_tools(recorder, self.id, has_tools=bool(self._plan.names))
        recorder.listen(emit)
        who = await self._standing.now()
        events = opening()
        if events is None:
            return reply_of(recorder, self.id)
        conditions.check_choice(conditions.choice_of(recorder, events, self._plan.tool_choice), self._registry, who)
        error = None
        with observed(self._plan, recorder, self.id, self.principal, events):
            if recorder.last == 0 and recorder.state.turns == 0:
                recorder.stage(self._first_event())
            self._standing.note(recorder, who)
            for event in events:
                recorder.stage(event)
            self._running = anyio.CancelScope()
            with self._running as scope:
                error = await Loop(plan=self._plan, client=client, recorder=recorder, runner=self._runner()).run()
            if scope.cancelled_caught:  # by cancel(): the turn is closed while the lease is still held
                await self._end_open_turn("cancelled")
        if error is not None:
            error.reply = reply_of(recorder, self.id)
            raise error
        return reply_of(recorder, self.id)

    def _runner(self) -> CallRunner:
        preparer = Preparer(
            registry=self._registry,
            conversation_id=self.id,
            clock=self._plan.clock,
            approval_seconds=self._approval_seconds,
        )
        return CallRunner(
            preparer=preparer,
            recorder=self._recorder,
            surroundings=Surroundings(
                conversation_id=self.id,
                standing=self._standing,
                injected=self._injected,
                head=self._plan.result_head,
                recorded=self._plan.recorded,
            ),
            clock=self._plan.clock,
            most_at_once=self._most_at_once,
            one_call=bool(self._plan.tool_choice.get("disable_parallel_tool_use")),
        )

    def _first_event(self) -> ConversationStarted:
        return ConversationStarted(at=self._now(), principal=as_dict(self.principal) if self.principal else None)
