"""The calls of one reply: checked, started, run beside each other, each with exactly one result."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import anyio

from turnkeeper.core.answers import CALL_LIMIT, OUTCOME_UNKNOWN, invalid_input, unknown_tool
from turnkeeper.core.calls import Call, CallState
from turnkeeper.core.events import CallFinished, CallRejected, CallStarted
from turnkeeper.core.machine import RunCalls
from turnkeeper.driver.recorder import Recorder
from turnkeeper.errors import ArgumentsRejectedError
from turnkeeper.tools import Outcome, Registry, Tool, ToolContext, check_arguments, run_call
from turnkeeper.types import Principal
from turnkeeper.updates import CallFinished as CallFinishedUpdate
from turnkeeper.updates import CallStarted as CallStartedUpdate
from turnkeeper.updates import ToolProgress
from turnkeeper.wire.json import decode, encode

__all__ = ("CallRunner",)

OnProgress = Callable[[str, float | None], None]

RERUN = frozenset({"read", "idempotent"})
"""Effects that may be run again after a stop in the middle."""


@dataclass(frozen=True, slots=True)
class _Ready:
    call: Call
    tool: Tool
    arguments: Mapping[str, Any]
    input: Any


class CallRunner:
    """Runs calls for one conversation. `most_at_once` bounds the calls of a reply that run together (None: all)."""

    def __init__(
        self,
        *,
        registry: Registry,
        recorder: Recorder,
        conversation_id: str,
        principal: Principal | None,
        injected: Mapping[str, Any],
        clock: Callable[[], float],
        most_at_once: int | None,
    ) -> None:
        self._registry = registry
        self._recorder = recorder
        self._conversation_id = conversation_id
        self._principal = principal
        self._injected = injected
        self._clock = clock
        self._most_at_once = most_at_once

    async def run(self, decision: RunCalls, blocks: Sequence[str]) -> None:
        """Bring every call of the decision to its end. `blocks` are the reply's blocks, for the inputs."""
        for call in decision.over:
            self._reject(call, "limit_reached", CALL_LIMIT)
        ready: list[_Ready] = []
        for call in decision.calls:
            if call.state is CallState.STARTED and call.effect not in RERUN:
                self._finish_unknown(call)
            elif (one := self._checked(call, blocks)) is not None:
                ready.append(one)
        chain = [one for one in ready if not _beside_others(one.tool)]
        free = [one for one in ready if _beside_others(one.tool)]
        if self._most_at_once == 1:
            chain, free = ready, []
        if len(ready) == 1:
            await self._run_one(ready[0])
        elif ready:
            await self._run_all(chain, free)

    async def _run_all(self, chain: list[_Ready], free: list[_Ready]) -> None:
        limiter = anyio.CapacityLimiter(self._most_at_once) if self._most_at_once else None
        if limiter is None:
            # Start them all in one append; the first of the chain goes with them.
            for one in [*free, *chain[:1]]:
                self._start(one)
            await self._recorder.flush()
        async with anyio.create_task_group() as group:
            for one in free:
                group.start_soon(self._limited, one, limiter)
            if chain:
                group.start_soon(self._in_order, chain, limiter)

    async def _in_order(self, chain: list[_Ready], limiter: anyio.CapacityLimiter | None) -> None:
        for position, one in enumerate(chain):
            if limiter is None and position == 0:
                await self._work(one)
            elif limiter is None:
                await self._run_one(one)
            else:
                await self._limited(one, limiter)

    async def _limited(self, one: _Ready, limiter: anyio.CapacityLimiter | None) -> None:
        if limiter is None:
            await self._work(one)
            return
        async with limiter:
            await self._run_one(one)

    async def _run_one(self, one: _Ready) -> None:
        self._start(one)
        await self._recorder.flush()
        await self._work(one)

    def _checked(self, call: Call, blocks: Sequence[str]) -> _Ready | None:
        tool = self._registry.get(call.name)
        if tool is None:
            self._reject(call, "unknown_tool", unknown_tool(call.name, self._registry.names))
            return None
        if call.invalid_input is not None:
            self._reject(call, "bad_arguments", invalid_input(call.invalid_input))
            return None
        given = decode(blocks[call.index]).get("input")
        try:
            arguments = check_arguments(tool, given)
        except ArgumentsRejectedError as error:
            self._reject(call, "bad_arguments", str(error))
            return None
        return _Ready(call, tool, arguments, given)

    def _reject(self, call: Call, reason: str, text: str) -> None:
        event = CallRejected(at=self._clock(), call_id=call.id, reason=reason, content=encode(text))
        self._recorder.stage(event, _update(call, "rejected", text, is_error=True))

    def _finish_unknown(self, call: Call) -> None:
        event = CallFinished(
            at=self._clock(),
            call_id=call.id,
            state="outcome_unknown",
            content=encode(OUTCOME_UNKNOWN),
            is_error=True,
        )
        self._recorder.stage(event, _update(call, "outcome_unknown", OUTCOME_UNKNOWN, is_error=True))

    def _start(self, one: _Ready) -> None:
        event = CallStarted(
            at=self._clock(),
            call_id=one.call.id,
            tool=one.tool.name,
            effect=one.tool.effect,
            key=self._key(one.call),
        )
        update = CallStartedUpdate(call_id=one.call.id, name=one.call.name, input=one.input)
        self._recorder.stage(event, update)

    def _key(self, call: Call) -> str:
        return f"{self._conversation_id}:{call.id}"

    async def _work(self, one: _Ready) -> None:
        if self._recorder.emit is None:
            outcome = await run_call(one.tool, one.arguments, self._context(one.call, None))
        else:
            outcome = await self._with_progress(one)
        event = CallFinished(
            at=self._clock(),
            call_id=one.call.id,
            state=outcome.state,
            content=encode(outcome.content),
            is_error=outcome.is_error,
            seconds=outcome.seconds,
            error_id=outcome.error_id,
        )
        update = _update(one.call, outcome.state, outcome.content, is_error=outcome.is_error, seconds=outcome.seconds)
        self._recorder.stage(event, update)
        turn = self._recorder.state.turn
        # The last result of a reply becomes durable together with the request that carries it.
        if turn is not None and turn.open_calls:
            await self._recorder.flush()

    def _context(self, call: Call, on_progress: OnProgress | None) -> ToolContext:
        return ToolContext(
            principal=self._principal,
            conversation_id=self._conversation_id,
            call_id=call.id,
            key=self._key(call),
            injected=self._injected,
            on_progress=on_progress,
        )

    async def _with_progress(self, one: _Ready) -> Outcome:
        """Run the call while what it reports is passed on."""
        send, receive = anyio.create_memory_object_stream[ToolProgress](math.inf)

        def report(message: str, fraction: float | None = None) -> None:
            send.send_nowait(ToolProgress(call_id=one.call.id, message=message, fraction=fraction))

        async def pass_on() -> None:
            async for note in receive:
                await self._recorder.tell(note)

        async with send, receive, anyio.create_task_group() as group:
            group.start_soon(pass_on)
            outcome = await run_call(one.tool, one.arguments, self._context(one.call, report))
            send.close()
        return outcome


def _beside_others(tool: Tool) -> bool:
    return tool.parallel and tool.effect != "transactional"


def _update(call: Call, outcome: str, content: Any, *, is_error: bool, seconds: float = 0.0) -> CallFinishedUpdate:
    return CallFinishedUpdate(
        call_id=call.id, name=call.name, outcome=outcome, is_error=is_error, content=content, seconds=seconds
    )
