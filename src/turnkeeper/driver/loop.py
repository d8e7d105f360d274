"""The loop: ask the core what comes next, do it, write it down, until the turn is over."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import anyio

from turnkeeper.client.api import APIClient
from turnkeeper.core.answers import for_cancelled
from turnkeeper.core.compacting import BETA, WINDOW_FULL, Compaction, is_full
from turnkeeper.core.events import (
    CallFinished,
    CallRequest,
    ReplyReceived,
    RequestFailed,
    RequestStarted,
    TurnEnded,
    TurnParked,
    TurnWoken,
)
from turnkeeper.core.machine import TIME_IS_UP, EndTurn, Park, Phase, RunCalls, SendRequest, Wait, decide
from turnkeeper.core.replies import Action, Shape, judge
from turnkeeper.core.retries import RetryPolicy, wait_before_retry
from turnkeeper.core.tool_choice import BROKEN, UNMET, held_against, said, was_refused
from turnkeeper.driver.asking import NO_HEADERS, BrokenReplyError, ask
from turnkeeper.driver.bodies import RequestBody
from turnkeeper.driver.budgeting import reserve
from turnkeeper.driver.choosing import Choosing, choice_unmet, choosing, guide, warn, warn_if_gone
from turnkeeper.driver.observing import watched_request
from turnkeeper.driver.recorder import Recorder
from turnkeeper.driver.running import CallRunner, Recorded
from turnkeeper.errors import APIError, ToolChoiceUnmet
from turnkeeper.models import Model, cost_of
from turnkeeper.telemetry.port import Observer
from turnkeeper.types import Limits, TurnStatus, Usage
from turnkeeper.updates import (
    ReplyDiscarded,
    RetryScheduled,
    Update,
)
from turnkeeper.updates import ReplyReceived as ReplyReceivedUpdate
from turnkeeper.updates import (
    RequestStarted as RequestStartedUpdate,
)
from turnkeeper.updates import (
    TurnEnded as TurnEndedUpdate,
)
from turnkeeper.wire.blocks import CLIENT_CALL, text_of
from turnkeeper.wire.json import decode, encode
from turnkeeper.wire.reply import WireReply

__all__ = ("Loop", "Plan", "close_open_turn", "final_text")


_WORTH_A_WARNING = frozenset(
    {"tool_use_without_calls", "unknown_stop_reason", "empty_reply", "no_stop_reason", "too_many_calls"}
)
"""Reasons in a reply's verdict that the caller hears of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What an agent brings to each of its turns."""

    body: RequestBody
    model: Model
    max_tokens: int
    tool_choice: dict[str, Any]
    tool_choice_asks: int
    ends_with_call: bool = False
    thinking: str | None
    names: tuple[str, ...]
    limits: Limits
    retry: RetryPolicy
    stream: bool
    clock: Callable[[], float]
    chance: Callable[[], float]
    sleep: Callable[[float], Any]
    accept: frozenset[str] = frozenset()
    result_head: int | None = None
    keeps_setup: bool = False
    compaction: Compaction | None = None
    recorded: Recorded | None = None
    agent: str = ""
    observer: Observer | None = None


class Loop:
    """Drives one turn. `run` gives the error that ended it, if one did: of the API, or of a tool choice not kept."""

    def __init__(self, *, plan: Plan, client: APIClient, recorder: Recorder, runner: CallRunner) -> None:
        self._plan = plan
        self._client = client
        self._recorder = recorder
        self._runner = runner
        self._error: APIError | ToolChoiceUnmet | None = None

    async def run(self) -> APIError | ToolChoiceUnmet | None:
        """Perform decisions until the turn is over."""
        plan, recorder = self._plan, self._recorder
        try:
            while True:
                decision = decide(recorder.state, plan.limits, now=plan.clock())
                if isinstance(decision, SendRequest):
                    await self._send(decision)
                elif isinstance(decision, RunCalls):
                    await self._runner.run(decision, self._last_blocks())
                elif isinstance(decision, EndTurn):
                    await self._close(_ended(recorder, plan.clock(), decision.status, decision.reason))
                elif isinstance(decision, Park):
                    await self._close(TurnParked(at=plan.clock(), status=decision.status))
                elif isinstance(decision, Wait):
                    await recorder.flush()
                    return self._error
        finally:
            await recorder.save()

    def _last_blocks(self) -> tuple[str, ...]:
        for event in reversed(self._recorder.turn_events):
            if isinstance(event, ReplyReceived):
                return event.blocks
        raise AssertionError("calls without a reply")

    async def _close(self, event: TurnEnded | TurnParked) -> None:
        recorder = self._recorder
        recorder.stage(event)
        if isinstance(event, TurnEnded) and event.reason == BROKEN:
            self._error = choice_unmet(recorder)
        turn = recorder.state.turn
        assert turn is not None
        await recorder.flush()
        await recorder.tell(
            TurnEndedUpdate(
                status=TurnStatus(event.status),
                reason=event.reason if isinstance(event, TurnEnded) else "",
                text=final_text(recorder),
                usage=turn.usage,
                cost=turn.cost if turn.priced else None,
            )
        )

    async def _send(self, decision: SendRequest) -> None:
        plan, recorder = self._plan, self._recorder
        if decision.delay > 0:
            await recorder.flush()
            left = self._time_left()
            if left is not None and left < decision.delay:
                await plan.sleep(max(left, 0.0))
                return
            await plan.sleep(decision.delay)
        max_tokens = decision.max_tokens or plan.max_tokens
        hidden = await self._runner.hidden()
        choice = choosing(recorder, plan.model, plan.thinking, [name for name in plan.names if name not in hidden])
        warn_if_gone(recorder, choice, at=plan.clock())
        guide(recorder, plan.model, choice, at=plan.clock())
        limit, reserved = await reserve(
            recorder, plan.body, model=plan.model, limits=plan.limits, max_tokens=max_tokens, now=plan.clock()
        )
        if limit is not None:
            await self._close(_ended(recorder, plan.clock(), TurnStatus.LIMIT_REACHED, limit))
            return
        made = plan.body.without(hidden, tools_used=recorder.history.tools_used)
        setup = made.setup if plan.keeps_setup else None
        event = RequestStarted(
            at=plan.clock(),
            number=decision.number,
            attempt=decision.attempt,
            model=plan.model.id,
            max_tokens=max_tokens,
            tool_choice=choice.sent,
            reserved=reserved,
            setup=None if setup == recorder.setup else setup,
        )
        recorder.stage(
            event, RequestStartedUpdate(number=decision.number, attempt=decision.attempt, model=plan.model.id)
        )
        await recorder.flush()
        takes_system = plan.model.system_role is True
        member = self._compacting()
        body = made.encode(
            recorder.history,
            max_tokens=max_tokens,
            tool_choice=choice.sent,
            system_role=takes_system,
            member=member,
        )
        lenient = decision.attempt > 1
        reply: WireReply | None = None
        try:
            with watched_request(recorder.watch, event, body) as watch, anyio.move_on_after(self._time_left()):
                reply = await ask(
                    self._client,
                    body,
                    stream=plan.stream,
                    lenient=lenient,
                    emit=recorder.emit,
                    watch=watch,
                    clock=plan.clock,
                    headers=NO_HEADERS if member is None else {"anthropic-beta": BETA},
                )
        except BrokenReplyError as broken:
            self._broken(decision, broken, choice)
            return
        if reply is None:
            self._fail(decision, APIError("the limit on seconds is reached", kind=TIME_IS_UP), None, None)
        else:
            self._received(decision, reply, max_tokens, choice)

    def _compacting(self) -> str | None:
        """The member of the request that asks the API to compact the conversation, where that is due."""
        if self._plan.compaction is None:
            return None
        tokens, _ = self._recorder.history.tokens(self._plan.model.image_tokens or 0)
        return self._plan.compaction.member(tokens, compacted=self._recorder.compacted)

    def _time_left(self) -> float | None:
        turn = self._recorder.state.turn
        seconds = self._plan.limits.seconds
        if seconds is None or turn is None:
            return None
        left = turn.started_at + seconds - self._plan.clock()
        return left if math.isfinite(left) else None

    def _broken(self, decision: SendRequest, broken: BrokenReplyError, choice: Choosing) -> None:
        plan, error = self._plan, broken.error
        support = plan.model.forced_tool_choice
        if was_refused(choice.sent, support=support, status=error.status, message=str(error)):
            self._fail(decision, error, broken.partial, 0.0, choice_refused=True)
            return
        if is_full(error.status, str(error)):
            full = APIError(str(error), kind=WINDOW_FULL, status=error.status, request_id=error.request_id)
            self._fail(decision, full, broken.partial, None)
            return
        delay = wait_before_retry(
            plan.retry,
            attempt=decision.attempt,
            retryable=error.retryable,
            retry_after=error.retry_after,
            chance=plan.chance(),
        )
        self._fail(decision, error, broken.partial, delay)

    def _fail(
        self,
        decision: SendRequest,
        error: APIError,
        partial: WireReply | None,
        delay: float | None,
        *,
        choice_refused: bool | None = None,
    ) -> None:
        usage = partial.usage if partial is not None else {}
        event = RequestFailed(
            at=self._plan.clock(),
            number=decision.number,
            attempt=decision.attempt,
            kind=error.kind,
            message=str(error),
            status=error.status,
            request_id=error.request_id,
            delay=delay,
            partial=partial.blocks if partial is not None else (),
            usage=usage,
            cost=self._cost(usage),
            choice_refused=choice_refused,
            reserved=self._recorder.state.money.pending,
        )
        updates: list[Update] = []
        if partial is not None or error.kind == TIME_IS_UP:
            updates.append(ReplyDiscarded(reason=error.kind))
        if delay is not None:
            updates.append(RetryScheduled(reason=error.kind, delay=delay, attempt=decision.attempt + 1))
        elif error.kind not in (TIME_IS_UP, WINDOW_FULL):
            self._error = error
        self._recorder.stage(event, *updates)

    def _cost(self, usage: dict[str, Any]) -> Decimal | None:
        return cost_of(usage, self._plan.model) if usage else None

    def _received(self, decision: SendRequest, reply: WireReply, max_tokens: int, choice: Choosing) -> None:
        plan, recorder = self._plan, self._recorder
        turn = recorder.state.turn
        assert turn is not None
        blocks = reply.parsed()
        verdict = judge(
            reply.stop_reason,
            Shape.of(blocks),
            used=turn.used,
            max_tokens=max_tokens,
            most_tokens=plan.model.max_output,
            calls=sum(block.get("type") == CLIENT_CALL for block in blocks),
        )
        verdict, kept = held_against(
            verdict,
            turn.choice,
            blocks,
            names=choice.names,
            in_force=choice.in_force,
            unmet=turn.unmet,
            asks=plan.tool_choice_asks,
        )
        event = ReplyReceived(
            at=plan.clock(),
            number=decision.number,
            blocks=reply.blocks,
            stop_reason=reply.stop_reason,
            usage=reply.usage,
            action=verdict.action,
            kept=verdict.kept,
            status=verdict.status,
            reason=verdict.reason,
            max_tokens=verdict.max_tokens,
            calls=self._calls(blocks) if verdict.action is Action.RUN_CALLS else (),
            invalid_inputs={str(index): raw for index, raw in reply.invalid_inputs.items()},
            fields=reply.fields,
            request_id=reply.request_id,
            first_at=reply.first_at,
            reserved=recorder.state.money.pending,
            # a refusal before any output is not billed (docs, build-with-claude/handling-stop-reasons)
            cost=Decimal(0)
            if reply.stop_reason == "refusal" and not blocks
            else cost_of(reply.usage, plan.model, answered=reply.fields.get("model")),
            choice=kept,
        )
        text = text_of(blocks)
        updates: list[Update] = [
            ReplyReceivedUpdate(text=text, stop_reason=reply.stop_reason, usage=Usage.of(reply.usage))
        ]
        if not verdict.kept and verdict.status is not TurnStatus.TRUNCATED:
            updates.append(ReplyDiscarded(reason=verdict.reason))
        recorder.stage(event, *updates)
        if kept == UNMET and turn.choice is not None:
            warn(recorder, BROKEN, f"a reply was left out: it did not keep to {said(turn.choice)}", at=plan.clock())
        elif verdict.reason in _WORTH_A_WARNING:
            message = f"the reply stopped with {reply.stop_reason!r}: {verdict.reason.replace('_', ' ')}"
            warn(recorder, verdict.reason, message, at=plan.clock())

    def _calls(self, blocks: list[dict[str, Any]]) -> tuple[CallRequest, ...]:
        history = self._recorder.history
        reply = self._recorder.state.replies + 1
        taken: set[str] = set()
        named = [block.get("id") for block in blocks if block.get("type") == CLIENT_CALL]
        calls: list[CallRequest] = []
        for index, block in enumerate(blocks):
            if block.get("type") != CLIENT_CALL:
                continue
            given = block.get("id")
            free = isinstance(given, str) and given not in taken
            others = taken if free else taken | {one for one in named if isinstance(one, str)}
            call_id = history.fresh_id(given if free else None, reply=reply, index=index, taken=others)
            taken.add(call_id)
            calls.append(
                CallRequest(
                    id=call_id,
                    name=block["name"],
                    index=index,
                    given_id=None if call_id == given else str(given or ""),
                )
            )
        return tuple(calls)


def close_open_turn(recorder: Recorder, *, at: float, reason: str) -> None:
    """Stage the end of a turn that was left open: each open call gets its result, the turn is cancelled."""
    state = recorder.state
    turn = state.turn
    if turn is None or state.phase is Phase.IDLE:
        return
    for call in turn.open_calls:
        recorder.stage(
            CallFinished(at=at, call_id=call.id, state="cancelled", content=encode(for_cancelled(call)), is_error=True)
        )
    if recorder.state.phase is Phase.PARKED:
        recorder.stage(TurnWoken(at=at))
    closing = recorder.state.turn
    if recorder.state.phase is Phase.CLOSING and closing is not None and closing.status is not None:
        recorder.stage(_ended(recorder, at, closing.status, closing.reason))
    else:
        recorder.stage(_ended(recorder, at, TurnStatus.CANCELLED, reason))


def _ended(recorder: Recorder, at: float, status: TurnStatus, reason: str) -> TurnEnded:
    return TurnEnded(at=at, status=status, reason=reason, reserved=recorder.state.money.pending)


def final_text(recorder: Recorder) -> str:
    """The last reply's text in this turn; of a refused reply nothing, of a truncated one what there was."""
    for event in reversed(recorder.turn_events):
        if isinstance(event, ReplyReceived) and event.status == TurnStatus.REFUSED:
            return ""
        if isinstance(event, ReplyReceived) and (event.kept or event.status == TurnStatus.TRUNCATED):
            return text_of([decode(raw) for raw in event.blocks])
    return ""
