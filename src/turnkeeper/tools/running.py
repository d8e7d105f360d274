"""Running one call: worker threads, time-outs, retries, concurrency, and an outcome whatever happens.

The function runs in an asyncio task of its own. A cancel scope would wait without end for a tool whose clean-up hangs;
a task can be left behind. After the time-out, or when the caller is cancelled, the tool is cancelled and has
`CLEANUP_GRACE` seconds to finish its clean-up; then it is cancelled once more and no longer waited for. A sync function
can't be stopped at all: its thread is left alone, its context says `cancelled`, and its late end is logged and changes
nothing.
"""

from __future__ import annotations

import asyncio
import copy
import dataclasses
import inspect
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, Literal

import anyio

from turnkeeper.tools.context import ToolContext
from turnkeeper.tools.definition import Tool
from turnkeeper.tools.failures import (
    failure_text,
    keeps_writes,
    log_failure,
    new_error_id,
    told_error,
    unrendered_text,
)
from turnkeeper.tools.json_forms import Collecting, collected
from turnkeeper.tools.options import REPEATABLE
from turnkeeper.tools.results import render_result
from turnkeeper.tools.threads import run_in_thread, runs_on_the_loop
from turnkeeper.types import Block

__all__ = ("CLEANUP_GRACE", "Outcome", "backoff", "run_call")

logger = logging.getLogger("turnkeeper.tools")

CLEANUP_GRACE = 1.0
"""Seconds that a cancelled async tool has for its clean-up."""
_PAUSES = (0.5, 1.0, 2.0, 4.0, 8.0)
State = Literal["succeeded", "failed", "timed_out"]

# Left-behind tasks: the loop itself keeps only weak references to them.
_left_behind: set[asyncio.Task[Any]] = set()


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How a call ended. `content` is for its `tool_result`: text, or content blocks; text only, and never blank, if
    `is_error`. `error_id` links an unexpected failure to the log. `seconds` is the whole time, attempts and pauses too.
    `keep_writes` says of a failure that what a transactional tool wrote is committed all the same. `untrusted`: the
    content holds text from outside.
    """

    state: State
    content: str | list[Block]
    is_error: bool
    error_id: str | None = None
    seconds: float = 0.0
    attempts: int = 1
    keep_writes: bool = False
    untrusted: bool = False


@dataclass(frozen=True, slots=True)
class _Returned:
    content: str | list[Block]


@dataclass(frozen=True, slots=True)
class _Raised:
    exception: BaseException
    finished: bool = False
    """The function itself returned; only its result could not be rendered."""


@dataclass(frozen=True, slots=True)
class _TimedOut:
    text: str


_Ending = _Returned | _Raised | _TimedOut


def backoff(failures: int) -> float:
    """Seconds to wait after that many failed attempts: 0.5, 1, 2, 4, and 8 from then on."""
    return _PAUSES[min(failures, len(_PAUSES)) - 1]


async def run_call(
    tool: Tool[..., Any],
    arguments: Mapping[str, Any],
    context: ToolContext | None = None,
    *,
    limiter: AbstractAsyncContextManager[Any] | None = None,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], Awaitable[Any]] = anyio.sleep,
    error_ids: Callable[[], str] = new_error_id,
    grace: float = CLEANUP_GRACE,
) -> Outcome:
    """Run a tool with arguments that `check_arguments` returned, and say how it ended.

    Raises nothing but cancellation (of the caller) and KeyboardInterrupt. SystemExit in a tool is a failure like any
    other. `limiter` stands in for the tool's own concurrency limit; waiting for it is not counted to the time-out. A
    time-out or an unexpected exception is retried `tool.retries` times if the effect is `read` or `idempotent`; a
    `ToolError` never is. Needs asyncio as the event loop.
    """
    context = context or ToolContext()
    began = clock()
    most = 1 + (tool.retries if tool.effect in REPEATABLE else 0)
    attempt = 1
    while True:
        # A tool may change its arguments in place; the next attempt starts from what was validated.
        given = _copied(arguments) if attempt < most else arguments
        async with limiter if limiter is not None else _slot(tool):
            ending = await _attempt(tool, given, context, grace)
        if isinstance(ending, _Raised) and (interrupt := _interrupt(ending.exception)) is not None:
            raise interrupt
        if attempt >= most or not _may_pass(ending):
            return _outcome(tool, context, ending, clock() - began, attempt, error_ids)
        logger.info("Tool %s (call %s) will run again: attempt %d of %d", tool.name, context.call_id, attempt + 1, most)
        await sleep(backoff(attempt))
        attempt += 1
        context = dataclasses.replace(context, state=type(context.state)())


def _interrupt(exception: BaseException) -> BaseException | None:
    if isinstance(exception, BaseExceptionGroup):
        return exception.subgroup(KeyboardInterrupt)
    return exception if isinstance(exception, KeyboardInterrupt) else None


def _copied(arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    try:
        return copy.deepcopy(arguments)
    except Exception:  # noqa: BLE001 - a value of the application's own type may refuse to be copied
        return arguments


def _slot(tool: Tool[..., Any]) -> AbstractAsyncContextManager[Any]:
    if tool.concurrency is None:
        return nullcontext()
    semaphore = tool.slots.get(None)
    if semaphore is None:
        semaphore = anyio.Semaphore(tool.concurrency)
        tool.slots.set(semaphore)
    return semaphore


def _may_pass(ending: _Ending) -> bool:
    if isinstance(ending, _Raised):
        return (
            not ending.finished and isinstance(ending.exception, Exception) and told_error(ending.exception, 1) is None
        )
    return isinstance(ending, _TimedOut)


def _outcome(
    tool: Tool[..., Any],
    context: ToolContext,
    ending: _Ending,
    seconds: float,
    attempts: int,
    error_ids: Callable[[], str],
) -> Outcome:
    untrusted = tool.untrusted or context.state.untrusted
    if isinstance(ending, _Returned):
        return Outcome(
            state="succeeded",
            content=ending.content,
            is_error=False,
            seconds=seconds,
            attempts=attempts,
            untrusted=untrusted,
        )
    if isinstance(ending, _TimedOut):
        return Outcome(state="timed_out", content=ending.text, is_error=True, seconds=seconds, attempts=attempts)
    exception = ending.exception
    error_id = None
    text = None if ending.finished else told_error(exception, tool.result_limit)
    if text is None:
        error_id = error_ids()
        if ending.finished:
            text, what = unrendered_text(exception, error_id), "returned what can't be sent"
        else:
            # a transaction is rolled back, and left nothing
            text = failure_text(exception, error_id, changes=tool.effect not in ("read", "transactional"))
            what = "failed"
        log_failure(exception, tool=tool.name, call_id=context.call_id, error_id=error_id, what=what)
    return Outcome(
        state="failed",
        content=text,
        is_error=True,
        error_id=error_id,
        seconds=seconds,
        attempts=attempts,
        keep_writes=not ending.finished and keeps_writes(exception),
        untrusted=untrusted and error_id is None,
    )


async def _attempt(tool: Tool[..., Any], arguments: Mapping[str, Any], context: ToolContext, grace: float) -> _Ending:
    state = context.state
    loop = state.loop = asyncio.get_running_loop()
    work = _in_task if runs_on_the_loop(tool.function) else _in_thread
    task: asyncio.Task[_Ending] = loop.create_task(work(tool, arguments, context), name=f"tool {tool.name}")
    try:
        await asyncio.wait({task}, timeout=tool.timeout)
    except asyncio.CancelledError:
        state.abandon()
        with anyio.CancelScope(shield=True):
            await _stop(task, tool, context, grace)
        raise
    if not task.done():
        state.abandon()
        ended = await _stop(task, tool, context, grace)
        return _TimedOut(_timeout_text(tool, context, threaded=work is _in_thread, ended=ended))
    if task.cancelled():
        # Nobody here cancelled it: the tool let a cancellation of its own escape.
        return _Raised(asyncio.CancelledError("the tool cancelled itself"))
    return task.result()


async def _stop(task: asyncio.Task[_Ending], tool: Tool[..., Any], context: ToolContext, grace: float) -> bool:
    """Cancel the task and give it its grace; True if it ended in time."""
    task.cancel()
    await asyncio.wait({task}, timeout=grace)
    if task.done():
        return True
    _left_behind.add(task)
    task.add_done_callback(_left_behind.discard)
    task.add_done_callback(lambda _: _log_late(tool, context))
    task.cancel()
    return False


def _timeout_text(tool: Tool[..., Any], context: ToolContext, *, threaded: bool, ended: bool) -> str:
    seconds = f"{tool.timeout:g} second{'' if tool.timeout == 1 else 's'}"
    if not context.state.started:
        return (
            f"The tool did not get to start within {seconds}, because too many others were running. Nothing was done."
        )
    if threaded:
        return (
            f"The tool did not finish within {seconds}. It can't be stopped and may still complete: whether it takes "
            "effect is unknown."
        )
    if ended:
        return f"The tool did not finish within {seconds} and was stopped. Part of its work may have been done."
    return (
        f"The tool did not finish within {seconds} and was told to stop, but its clean-up has not ended yet. Part of "
        "its work may have been done, and it may still go on."
    )


def _log_late(tool: Tool[..., Any], context: ToolContext) -> None:
    logger.warning(
        "Tool %s (call %s) ended after it was given up; its outcome stays as it was", tool.name, context.call_id or "-"
    )


def _holds_a_lock(tool: Tool[..., Any]) -> bool:
    # Its transaction is open, and on SQLite all others wait for it to end: it must not wait for their threads.
    return tool.effect == "transactional"


async def _in_task(tool: Tool[..., Any], arguments: Mapping[str, Any], context: ToolContext) -> _Ending:
    context.state.started = True
    try:
        positional, named = tool.shape.call(arguments, context)
        value = await _awaited(tool.function(*positional, **named))
    except asyncio.CancelledError:
        raise
    except BaseException as error:  # noqa: BLE001 - every way to fail becomes an outcome
        return _Raised(error)
    if isinstance(value, Iterator):
        # Its body runs while it is read, and may block.
        return await run_in_thread(lambda: _finish(tool, value, context), at_once=_holds_a_lock(tool))
    return _rendered(tool, value, context)


async def _in_thread(tool: Tool[..., Any], arguments: Mapping[str, Any], context: ToolContext) -> _Ending:
    ending = await run_in_thread(lambda: _call(tool, arguments, context), at_once=_holds_a_lock(tool))
    if not isinstance(ending, _Deferred):
        return ending
    # A sync function that returns a coroutine or an async iterator, as wrappers of async functions do.
    try:
        value = await _awaited(ending.value)
    except asyncio.CancelledError:
        raise
    except BaseException as error:  # noqa: BLE001
        return _Raised(error)
    return _rendered(tool, value, context)


@dataclass(frozen=True, slots=True)
class _Deferred:
    value: Any


def _call(tool: Tool[..., Any], arguments: Mapping[str, Any], context: ToolContext) -> _Ending | _Deferred:
    """The whole sync call, in its thread: the function, its iterator if it returns one, and the rendering."""
    if context.cancelled:
        return _TimedOut("")
    context.state.started = True
    ending: _Ending | _Deferred
    try:
        positional, named = tool.shape.call(arguments, context)
        value = tool.function(*positional, **named)
    except BaseException as error:  # noqa: BLE001
        ending = _Raised(error)
    else:
        if inspect.isawaitable(value) or isinstance(value, AsyncIterator):
            ending = _Deferred(value)
        else:
            ending = _finish(tool, value, context)
    if context.state.abandoned:
        _log_late(tool, context)
        if isinstance(ending, _Deferred) and inspect.iscoroutine(ending.value):
            ending.value.close()
    return ending


def _finish(tool: Tool[..., Any], value: Any, context: ToolContext) -> _Ending:
    if isinstance(value, Iterator):
        try:
            value = collected(_while_wanted(value, context))
        except BaseException as error:  # noqa: BLE001
            return _Raised(error)
    return _rendered(tool, value, context)


def _while_wanted(items: Iterator[Any], context: ToolContext) -> Iterator[Any]:
    for item in items:
        if context.cancelled:
            return
        yield item


def _rendered(tool: Tool[..., Any], value: Any, context: ToolContext) -> _Ending:
    try:
        return _Returned(render_result(value, limit=tool.result_limit, text_limit=context.keeps))
    except Exception as error:  # noqa: BLE001 - a result's own methods may raise anything
        return _Raised(error, finished=True)


async def _awaited(value: Any) -> Any:
    """The value behind a coroutine or other awaitable; the items of an async iterator, bounded."""
    if inspect.isawaitable(value):
        value = await value
    if not isinstance(value, AsyncIterator):
        return value
    taking = Collecting()
    async for item in value:
        if not taking.take(item):
            break
    return taking.items
