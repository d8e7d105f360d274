"""One conversation: send, resume, cancel."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import anyio
from anyio.abc import TaskGroup

from turnkeeper.client.api import APIClient
from turnkeeper.core.checking import check_messages, check_user_content, open_call_ids
from turnkeeper.core.events import (
    CallFinished,
    CallRejected,
    CallRequest,
    ConversationStarted,
    Event,
    MessagesImported,
    ReplyReceived,
    TurnResumed,
    TurnStarted,
    TurnWarned,
)
from turnkeeper.core.machine import Phase
from turnkeeper.core.replies import Action
from turnkeeper.driver.leasing import held, new_holder
from turnkeeper.driver.loop import Loop, Plan, close_open_turn, final_text
from turnkeeper.driver.recorder import Recorder
from turnkeeper.driver.reply import CallRecord, Reply
from turnkeeper.driver.running import CallRunner
from turnkeeper.driver.turn import Emit, Turn
from turnkeeper.errors import ConversationBusyError, InputError, UnknownConversationError
from turnkeeper.journal.port import Journal
from turnkeeper.tools import Registry
from turnkeeper.types import Message, Principal, TurnStatus
from turnkeeper.wire.json import decode, encode

__all__ = ("Conversation",)


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
        injected: Mapping[str, Any],
        most_at_once: int | None,
        group: TaskGroup | None,
        shared: bool,
    ) -> None:
        self.id = conversation_id
        self.principal = principal
        self._plan = plan
        self._registry = registry
        self._client = client
        self._journal = journal
        self._injected = injected
        self._most_at_once = most_at_once
        self._group = group
        self._shared = shared
        self._holder = new_holder()
        self._recorder = Recorder(journal, conversation_id)
        self._running: anyio.CancelScope | None = None
        self._ended = anyio.Event()

    async def load(self) -> None:
        """Read the journal. UnknownConversationError if the conversation belongs to another principal."""
        first = await self._recorder.load()
        if not isinstance(first, ConversationStarted) or first.principal is None or self.principal is None:
            return
        if (first.principal["kind"], first.principal["id"]) != (self.principal.kind, self.principal.id):
            raise UnknownConversationError(f"no conversation {self.id!r} in this journal")

    @property
    def messages(self) -> list[Message]:
        """The history as the API is sent it: plain dicts, made anew on each access."""
        return self._recorder.history.messages()

    @property
    def status(self) -> TurnStatus | None:
        """The last turn's status; None before the first turn and while a turn is open."""
        turn = self._recorder.state.turn
        return turn.status if turn is not None and self._recorder.state.phase is Phase.IDLE else None

    @property
    def is_running(self) -> bool:
        """A turn runs right now, driven by this object."""
        return self._running is not None

    @property
    def is_open(self) -> bool:
        """A turn was begun and has not ended: it runs, or it was interrupted and can be resumed."""
        return self._recorder.state.phase is not Phase.IDLE

    def send(self, content: str | Sequence[Mapping[str, Any]]) -> Turn:
        """One turn: the user's message and all that follows from it.

        `content` is text or a list of content blocks; blank text is refused (InputError) and nothing is stored. A turn
        left open by an interruption is closed first: its open calls get their results.
        """
        body = content if isinstance(content, str) else [dict(block) for block in content]
        check_user_content(body)
        return self._turn(lambda: [TurnStarted(at=self._now(), content=encode(body))])

    def resume(self) -> Turn:
        """Go on with the last turn: one that was interrupted, failed, or met a limit. InputError if there is none."""

        def opening() -> list[Event]:
            state = self._recorder.state
            if state.phase is not Phase.IDLE:
                return []
            if state.turn is None or self._recorder.history.last_role != "user":
                raise InputError(f"conversation {self.id!r} has nothing to resume: its last turn is complete")
            return [TurnResumed(at=self._now())]

        return self._turn(opening, keep_open=True)

    def answer(self, messages: Sequence[Message]) -> Turn:
        """Start from messages that exist already and answer the last one; only in a conversation without any.

        The last message may be the user's, or the assistant's with calls that have no results yet: they are run.
        HistoryError says what the API would refuse.
        """
        check_messages(messages)
        given = [dict(message) for message in messages]
        calls = open_call_ids(given[-1])

        def opening() -> list[Event]:
            if len(self._recorder.history):
                raise InputError(f"conversation {self.id!r} has messages already")
            now = self._now()
            before = given[:-1] if calls else given
            events: list[Event] = []
            if before:
                events.append(MessagesImported(at=now, messages=tuple(encode(message) for message in before)))
            events.append(TurnStarted(at=now))
            if calls:
                events.append(_as_reply(given[-1]["content"], now))
            return events

        return self._turn(opening)

    async def cancel(self) -> None:
        """End the running or interrupted turn as `cancelled`; every open call gets a result that says so."""
        if self._running is not None:
            self._running.cancel()
            with anyio.CancelScope(shield=True):
                await self._ended.wait()
        else:
            await self._close("cancelled")

    async def _close(self, reason: str) -> None:
        if self._shared:
            async with held(self._journal, self.id, holder=self._holder, clock=self._plan.clock) as hold:
                self._recorder.token = hold.token
                await self._recorder.load()
                await self._end_open_turn(reason)
        else:
            await self._end_open_turn(reason)

    async def _end_open_turn(self, reason: str) -> None:
        close_open_turn(self._recorder, at=self._now(), reason=reason)
        await self._recorder.save()

    def _now(self) -> float:
        return self._plan.clock()

    def _turn(self, opening: Callable[[], Sequence[Event]], *, keep_open: bool = False) -> Turn:
        async def work(emit: Emit | None) -> Reply:
            if self._running is not None:
                raise ConversationBusyError(f"conversation {self.id!r} has a turn under way in this program")
            self._ended = anyio.Event()
            self._running = anyio.CancelScope()
            reply: Reply | None = None
            try:
                with self._running:
                    reply = await self._drive(opening, emit, keep_open=keep_open)
                if reply is None:  # cancel() stopped it
                    await self._close("cancelled")
                    reply = self._reply()
            finally:
                self._running = None
                self._ended.set()
            return reply

        return Turn(work, self._group)

    async def _drive(self, opening: Callable[[], Sequence[Event]], emit: Emit | None, *, keep_open: bool) -> Reply:
        client = self._client()
        if self._recorder.broken is not None:
            self._recorder = Recorder(self._journal, self.id)
        recorder = self._recorder
        if not self._shared:
            return await self._perform(recorder, client, opening, emit, keep_open=keep_open)
        async with held(self._journal, self.id, holder=self._holder, clock=self._plan.clock) as hold:
            recorder.token = hold.token
            return await self._perform(recorder, client, opening, emit, keep_open=keep_open)

    async def _perform(
        self,
        recorder: Recorder,
        client: APIClient,
        opening: Callable[[], Sequence[Event]],
        emit: Emit | None,
        *,
        keep_open: bool,
    ) -> Reply:
        await recorder.load()
        recorder.listen(emit)
        events = opening()
        if not keep_open:
            close_open_turn(recorder, at=self._now(), reason="interrupted")
        if recorder.last == 0 and recorder.state.turns == 0:
            recorder.stage(self._first_event())
        for event in events:
            recorder.stage(event)
        runner = CallRunner(
            registry=self._registry,
            recorder=recorder,
            conversation_id=self.id,
            principal=self.principal,
            injected=self._injected,
            clock=self._plan.clock,
            most_at_once=self._most_at_once,
        )
        loop = Loop(plan=self._plan, client=client, recorder=recorder, runner=runner)
        error = await loop.run()
        if error is not None:
            raise error
        return self._reply()

    def _first_event(self) -> ConversationStarted:
        who = self.principal
        principal = None if who is None else {"kind": who.kind, "id": who.id, "level": who.level}
        return ConversationStarted(at=self._now(), principal=principal)

    def _reply(self) -> Reply:
        recorder = self._recorder
        turn = recorder.state.turn
        assert turn is not None
        last = next((e for e in reversed(recorder.turn_events) if isinstance(e, ReplyReceived)), None)
        details = last.fields.get("stop_details") if last is not None else None
        return Reply(
            text=final_text(recorder),
            status=turn.status or TurnStatus.FAILED,
            reason=turn.reason,
            usage=turn.usage,
            cost=turn.cost if turn.priced else None,
            model=str(last.fields.get("model", "")) if last is not None else "",
            calls=_records(recorder.turn_events),
            stop_reason=last.stop_reason if last is not None else None,
            stop_details=details if isinstance(details, dict) else None,
            warnings=tuple(e.message for e in recorder.turn_events if isinstance(e, TurnWarned)),
            conversation_id=self.id,
            _encoded=recorder.history.messages_json(),
        )


def _as_reply(content: list[dict[str, Any]], now: float) -> ReplyReceived:
    """An imported assistant message with open calls, as the reply it once was."""
    calls = tuple(
        CallRequest(id=block["id"], name=str(block.get("name")), index=index)
        for index, block in enumerate(content)
        if block.get("type") == "tool_use"
    )
    return ReplyReceived(
        at=now,
        number=0,
        blocks=tuple(encode(block) for block in content),
        stop_reason="tool_use",
        usage={},
        action=Action.RUN_CALLS,
        kept=True,
        calls=calls,
    )


def _records(events: Sequence[Event]) -> tuple[CallRecord, ...]:
    asked: dict[str, tuple[CallRequest, str]] = {}
    records: list[CallRecord] = []
    for event in events:
        if isinstance(event, ReplyReceived):
            asked |= {call.id: (call, event.blocks[call.index]) for call in event.calls}
        elif isinstance(event, CallFinished | CallRejected):
            call, block = asked[event.call_id]
            records.append(
                CallRecord(
                    id=call.id,
                    name=call.name,
                    input=decode(block).get("input"),
                    outcome=event.state if isinstance(event, CallFinished) else "rejected",
                    is_error=event.is_error if isinstance(event, CallFinished) else True,
                    content=decode(event.content),
                    seconds=event.seconds if isinstance(event, CallFinished) else 0.0,
                )
            )
    return tuple(records)
