"""The calls of one reply: checked, approved where needed, started, run beside each other, each with one result."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Any

import anyio

from turnkeeper.core.answers import ABORTED, CALL_LIMIT, NOT_ALLOWED, ONE_CALL_ONLY, UNDONE
from turnkeeper.core.approvals import with_note
from turnkeeper.core.calls import Call, CallState
from turnkeeper.core.events import CallFinished, CallRejected, CallStarted, CallUnresolved
from turnkeeper.core.identity import reaches
from turnkeeper.core.machine import RunCalls
from turnkeeper.core.trust import labelled, mark_of
from turnkeeper.driver.choosing import warn
from turnkeeper.driver.observing import watched_call
from turnkeeper.driver.preparing import Preparer, Ready, Rejection
from turnkeeper.driver.recorder import Recorder
from turnkeeper.driver.recovery import RERUN, NotHappenedError, ask_the_world
from turnkeeper.driver.standing import Standing, hidden_from
from turnkeeper.errors import ToolError
from turnkeeper.tools import MOST_KEPT, READ_RESULT, RESULT_LIMIT, Outcome, ToolContext, head_of, run_call
from turnkeeper.types import Block, Principal
from turnkeeper.updates import CallFinished as CallFinishedUpdate
from turnkeeper.updates import CallStarted as CallStartedUpdate
from turnkeeper.updates import ToolProgress
from turnkeeper.wire.json import decode, encode

__all__ = ("CallRunner", "Recorded", "Surroundings")

Recorded = Callable[[str], CallFinished | None]
"""How a call of that id ended before, where turns are replayed: it is not run then."""
OnProgress = Callable[[str, float | None], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What every call of a conversation is told about it."""

    conversation_id: str
    standing: Standing
    injected: Mapping[str, Any]
    head: int | None = None
    """Characters of a large result that the model gets at once; None where large results are cut and not kept."""
    recorded: Recorded | None = None


class CallRunner:
    """Runs calls for one conversation. `most_at_once` bounds the calls of a reply that run together (None: all)."""

    def __init__(
        self,
        *,
        preparer: Preparer,
        recorder: Recorder,
        surroundings: Surroundings,
        clock: Callable[[], float],
        most_at_once: int | None,
        one_call: bool = False,
    ) -> None:
        self._preparer = preparer
        self._recorder = recorder
        self._about = surroundings
        self._clock = clock
        self._most_at_once = most_at_once
        self._read_from: dict[str, str] = {}
        self._one_call = one_call

    async def run(self, decision: RunCalls, blocks: Sequence[str]) -> None:
        """Bring every call of the decision to its end, or to where a person is needed.

        `blocks` are the reply's blocks, for the inputs.
        """
        for call in decision.over:
            self._reject(call, Rejection("limit_reached", CALL_LIMIT))
        calls = self._one_of(decision.calls) if self._one_call else decision.calls
        ready: list[Ready] = []
        now = await self._about.standing.refresh(self._recorder)
        for call in calls:
            prepared = self._preparer.prepare(call, blocks, await self._who(call, now))
            if isinstance(prepared, Rejection):
                self._settle_unprepared(call, prepared)
            elif call.state is CallState.STARTED and call.effect not in RERUN:
                if await self._may_run_again(prepared):
                    ready.append(prepared)
            elif isinstance(request := await self._preparer.approval_for(prepared), Rejection):
                self._settle_unprepared(call, request)
            elif request is not None:
                self._recorder.stage(request, *self._preparer.updates_for(request, prepared))
            else:
                ready.append(prepared)
        chain = [one for one in ready if not _beside_others(one)]
        free = [one for one in ready if _beside_others(one)]
        if self._most_at_once == 1:
            chain, free = ready, []
        if len(ready) == 1:
            await self._run_one(ready[0])
        elif ready:
            await self._run_all(chain, free)

    def _one_of(self, calls: Sequence[Call]) -> list[Call]:
        """The calls without those beside the reply's first one, which are refused: not every endpoint keeps to one."""
        turn = self._recorder.state.turn
        first = turn.calls[0].id if turn is not None and turn.calls else None
        beside = [call for call in calls if call.id != first and call.state is CallState.REQUESTED]
        for call in beside:
            self._reject(call, Rejection("one_call_only", ONE_CALL_ONLY))
        if beside:
            message = f"{len(beside) + 1} calls in one reply, though only one was allowed: the first one counts"
            warn(self._recorder, "parallel_calls", message, at=self._clock())
        return [call for call in calls if call not in beside]

    async def _run_all(self, chain: list[Ready], free: list[Ready]) -> None:
        limiter: AbstractAsyncContextManager[Any] = nullcontext()
        begun: set[str] = set()
        if self._most_at_once is not None:
            limiter = anyio.CapacityLimiter(self._most_at_once)
        else:  # start them all in one append; the first of the chain goes with them
            for one in [*free, *chain[:1]]:
                if await self._start(one):
                    begun.add(one.call.id)
            await self._recorder.flush()
            free = [one for one in free if one.call.id in begun]
            chain = [one for one in chain[:1] if one.call.id in begun] + chain[1:]

        async def run(calls: list[Ready]) -> None:
            for one in calls:
                async with limiter:
                    if one.call.id in begun:
                        await self._work(one)
                    else:
                        await self._run_one(one)

        try:
            async with anyio.create_task_group() as group:
                for one in free:
                    group.start_soon(run, [one])
                if chain:
                    group.start_soon(run, chain)
        except BaseExceptionGroup as failed:
            # Tools don't raise: it is the journal's refusal, the same for all, or an interrupt; the caller's to catch.
            raise failed.exceptions[0] from None

    async def _run_one(self, one: Ready) -> None:
        begun = await self._start(one)
        await self._recorder.flush()
        if begun:
            await self._work(one)

    async def hidden(self) -> frozenset[str]:
        """The names of the tools that whoever is talking now may not use."""
        who = await self._about.standing.refresh(self._recorder)
        return hidden_from(self._preparer.registry, who)

    async def _who(self, call: Call, now: Principal | None) -> Principal | None:
        """For whom a call runs: who is talking, or, where people took their time to decide, was when it was asked."""
        return now if call.requested_at is None else await self._about.standing.at(call.requested_at)

    def _settle_unprepared(self, call: Call, rejection: Rejection) -> None:
        """A call that can't be run (any more): refuse it, or, if it was started once, leave it to a person."""
        if call.state is CallState.STARTED:
            self._recorder.stage(CallUnresolved(at=self._clock(), call_id=call.id))
        else:
            self._reject(call, rejection)

    async def _may_run_again(self, one: Ready) -> bool:
        """A started call found after a stop: ask the world where the tool can, else leave it to a person."""
        found: str | list[Block] | None = None
        if one.tool.effect == "reconcile":
            try:
                found = await ask_the_world(one.tool, one.arguments, self._context(one, None, None))
            except NotHappenedError:
                return True
        if found is None:
            self._recorder.stage(CallUnresolved(at=self._clock(), call_id=one.call.id))
        else:
            self._finish(
                one, Outcome(state="succeeded", content=found, is_error=False, untrusted=bool(one.tool.untrusted))
            )
        return False

    def _reject(self, call: Call, rejection: Rejection) -> None:
        event = CallRejected(at=self._clock(), call_id=call.id, reason=rejection.reason, content=encode(rejection.text))
        update = CallFinishedUpdate(
            call_id=call.id, name=call.name, outcome="rejected", is_error=True, content=rejection.text, seconds=0.0
        )
        self._recorder.stage(event, update)

    async def _start(self, one: Ready) -> bool:
        """Note that the call starts; False if whoever asked may not do it any more, and then it is refused."""
        if one.tool.requires is not None:  # other calls, or a policy, may have taken their time
            now = await self._about.standing.now()
            if not reaches(await self._who(one.call, now), one.tool.requires):
                self._settle_unprepared(one.call, Rejection("not_allowed", NOT_ALLOWED))
                return False
        event = CallStarted(
            at=self._clock(),
            call_id=one.call.id,
            tool=one.tool.name,
            effect=one.tool.effect,
            key=self._key(one.call),
        )
        self._recorder.stage(event, CallStartedUpdate(call_id=one.call.id, name=one.call.name, input=one.input))
        return True

    def _key(self, call: Call) -> str:
        # The first colon ends the conversation's id, whatever characters that has: no two calls share a key.
        return f"{self._about.conversation_id.replace('%', '%25').replace(':', '%3A')}:{call.id}"

    async def _work(self, one: Ready) -> None:
        if self._about.recorded is not None and (ended := self._about.recorded(one.call.id)) is not None:
            self._recorder.stage(ended)
            return
        if one.tool.effect == "transactional":
            await self._in_transaction(one)
            return
        self._finish(one, await self._outcome(one, None))
        turn = self._recorder.state.turn
        # The last result of a reply becomes durable together with the request that carries it.
        if turn is not None and turn.left:
            await self._recorder.flush()

    async def _in_transaction(self, one: Ready) -> None:
        """The tool's writes and the call's result are committed together, or, if it fails, only the result is.

        A failure may ask to keep what was written: a refusal that leaves a line in an audit.
        """
        outcome: Outcome | None = None
        async with self._recorder.transaction() as opened:
            try:
                outcome = await self._outcome(one, opened.connection)
            finally:
                if outcome is None or outcome.state == "timed_out":
                    opened.abandon()
            if outcome.state == "timed_out":
                outcome = replace(outcome, content=UNDONE)
            kept = outcome.state == "succeeded" or outcome.keep_writes
            if kept and not await opened.is_usable():
                # PostgreSQL takes nothing more in a transaction in which a statement failed, even if the tool coped.
                outcome = Outcome(state="failed", content=ABORTED, is_error=True, seconds=outcome.seconds)
                kept = False
            if kept:
                self._finish(one, outcome)
                await self._recorder.commit(opened)
        if not kept:
            self._finish(one, outcome)
        await self._recorder.flush()

    async def _outcome(self, one: Ready, connection: Any) -> Outcome:
        with watched_call(self._recorder.watch, one.call.id, one.tool.name, one.tool.effect, one.input) as watch:
            if self._recorder.emit is None:
                outcome = await run_call(one.tool, one.arguments, self._context(one, connection, None))
            else:
                outcome = await self._with_progress(one, connection)
            watch.ended(outcome)
        return outcome

    def _finish(self, one: Ready, outcome: Outcome) -> None:
        content, whole, note = outcome.content, None, ""
        limit = self._limit(one)
        if isinstance(content, str) and limit is not None and (head := head_of(content, limit, one.call.id)):
            whole, (content, note) = content, head
        source = self._read_from.pop(one.call.id, one.tool.name if outcome.untrusted else None)
        if source is not None:
            content = labelled(content, source=source, mark=mark_of(self._about.conversation_id, one.call.id))
        if isinstance(content, str):
            content += note
        if one.call.edited_input is not None:
            content = with_note(one.call.edited_input, content)
        event = CallFinished(
            at=self._clock(),
            call_id=one.call.id,
            state=outcome.state,
            content=encode(content),
            is_error=outcome.is_error,
            seconds=outcome.seconds,
            error_id=outcome.error_id,
            untrusted=source,
            whole=None if whole is None else encode(whole),
        )
        update = CallFinishedUpdate(
            call_id=one.call.id,
            name=one.call.name,
            outcome=outcome.state,
            is_error=outcome.is_error,
            content=content,
            seconds=outcome.seconds,
        )
        self._recorder.stage(event, update)

    def _context(self, one: Ready, connection: Any, on_progress: OnProgress | None) -> ToolContext:
        return ToolContext(
            principal=one.who,
            approved_by=Principal(**one.call.decided_by) if one.call.decided_by is not None else None,
            conversation_id=self._about.conversation_id,
            call_id=one.call.id,
            key=self._key(one.call),
            injected=self._about.injected,
            connection=connection,
            on_progress=on_progress,
            keeps=MOST_KEPT if self._limit(one) is not None else None,
            whole=functools.partial(self._whole, one.call.id) if one.tool is READ_RESULT else None,
        )

    def _limit(self, one: Ready) -> int | None:
        """How many characters of the call's result the model gets at once; None: what fits its tool's limit."""
        if self._about.head is None or one.tool is READ_RESULT:
            return None
        return min(self._about.head, one.tool.result_limit)

    async def _whole(self, reader: str, call_id: str) -> tuple[str, int] | None:
        """The whole of a large result of this conversation, for the call `reader` of the tool that reads on."""
        kept: CallFinished | None = None
        for event in reversed(await self._recorder.written()):
            if isinstance(event, CallFinished) and event.call_id == call_id and event.whole is not None:
                kept = event
            elif isinstance(event, CallStarted) and event.call_id == call_id and kept is not None:
                await self._check_may_read(event.tool)
                if kept.untrusted is not None:
                    self._read_from[reader] = kept.untrusted
                return str(decode(str(kept.whole))), self._about.head or RESULT_LIMIT
        return None

    async def _check_may_read(self, name: str) -> None:
        """ToolError unless whoever is talking may use the tool whose result is read; of one that is gone nobody may."""
        tool = self._preparer.registry.get(name)
        if tool is None or (tool.requires is not None and not reaches(await self._about.standing.now(), tool.requires)):
            raise ToolError(NOT_ALLOWED)

    async def _with_progress(self, one: Ready, connection: Any) -> Outcome:
        """Run the call while what it reports is passed on; with a transaction open nobody is waited for: afterwards."""
        send, receive = anyio.create_memory_object_stream[ToolProgress](math.inf)

        def report(message: str, fraction: float | None = None) -> None:
            send.send_nowait(ToolProgress(call_id=one.call.id, message=message, fraction=fraction))

        async def pass_on() -> None:
            async for note in receive:
                await self._recorder.tell(note)

        work = run_call(one.tool, one.arguments, self._context(one, connection, report))
        async with send, receive:
            if connection is not None:
                outcome = await work
                send.close()
                self._recorder.note(*[note async for note in receive])
                return outcome
            try:
                async with anyio.create_task_group() as group:
                    group.start_soon(pass_on)
                    outcome = await work
                    send.close()
            except BaseExceptionGroup as failed:
                raise failed.exceptions[0] from None
            return outcome


def _beside_others(one: Ready) -> bool:
    return bool(one.tool.parallel) and one.tool.effect != "transactional"
