"""Time-outs and cancellation: bounded, honest about what may still happen, and without late surprises."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from turnkeeper.tools import CLEANUP_GRACE, ToolContext, ToolError, run_call, tool

pytestmark = pytest.mark.anyio
SOON = 0.02
PATIENCE = 10.0


async def until(true: Any) -> None:
    with anyio.fail_after(PATIENCE):
        while not true():  # noqa: ASYNC110 - a thread brings it about
            await anyio.sleep(0.001)


async def test_an_async_tool_is_stopped_at_its_timeout() -> None:
    cleaned: list[str] = []

    @tool(timeout=SOON)
    async def wait(ctx: ToolContext) -> None:
        try:
            await anyio.sleep_forever()
        finally:
            cleaned.append(f"cancelled={ctx.cancelled}")

    outcome = await run_call(wait, {}, ToolContext())
    assert (outcome.state, outcome.is_error, outcome.error_id) == ("timed_out", True, None)
    assert outcome.content == (
        "The tool did not finish within 0.02 seconds and was stopped. Part of its work may have been done."
    )
    assert cleaned == ["cancelled=True"]


async def test_a_cleanup_that_hangs_is_not_waited_for(caplog: pytest.LogCaptureFixture) -> None:
    """Report B11-timeout-cleanup-hangs.

    https://github.com/openai/openai-agents-python/issues/4899
    """
    assert CLEANUP_GRACE == 1.0
    let_go = asyncio.Event()

    @tool(timeout=SOON)
    async def stubborn() -> str:
        while not let_go.is_set():
            with contextlib.suppress(asyncio.CancelledError):
                await let_go.wait()
        return "too late"

    with anyio.fail_after(PATIENCE):
        outcome = await run_call(stubborn, {}, ToolContext(call_id="t1"), grace=SOON)
    assert outcome.state == "timed_out"
    assert "was told to stop, but its clean-up has not ended yet" in str(outcome.content)
    assert "may still go on" in str(outcome.content)
    with caplog.at_level(logging.WARNING, "turnkeeper.tools"):
        let_go.set()
        await until(lambda: caplog.messages)
    assert caplog.messages == ["Tool stubborn (call t1) ended after it was given up; its outcome stays as it was"]


async def test_a_sync_tool_that_times_out_may_still_complete_and_says_so(caplog: pytest.LogCaptureFixture) -> None:
    """Report B11-timeout-cleanup-hangs.

    https://github.com/openai/openai-agents-python/issues/4899
    """
    go_on, ledger = threading.Event(), []

    @tool(timeout=SOON)
    def pay(ctx: ToolContext) -> str:
        go_on.wait(PATIENCE)
        ledger.append(ctx.cancelled)
        with pytest.raises(ToolError, match="cancelled"):
            ctx.check_cancelled()
        ctx.progress("nobody listens")
        return "paid"

    told: list[Any] = []
    with caplog.at_level(logging.WARNING, "turnkeeper.tools"):
        outcome = await run_call(pay, {}, ToolContext(call_id="t2", on_progress=lambda *args: told.append(args)))
        assert outcome.content == (
            "The tool did not finish within 0.02 seconds. It can't be stopped and may still complete: whether it takes "
            "effect is unknown."
        )
        assert ledger == []
        go_on.set()
        await until(lambda: caplog.messages)
    assert ledger == [True]
    assert told == []
    assert caplog.messages == ["Tool pay (call t2) ended after it was given up; its outcome stays as it was"]


async def test_an_endless_generator_stops_when_nobody_waits() -> None:
    ended = threading.Event()
    started = threading.Event()

    @tool(timeout=SOON, result_limit=10**9)
    def drip() -> Iterator[int]:
        try:
            while True:
                started.set()
                ended.wait(0.001)
                yield 1
        finally:
            ended.set()

    assert (await run_call(drip, {})).state == "timed_out"
    await until(ended.is_set)


async def test_a_call_that_found_no_thread_says_that_nothing_was_done() -> None:
    limiter = anyio.to_thread.current_default_thread_limiter()
    runs: list[int] = []
    made = tool(lambda: runs.append(1), name="late", timeout=SOON)
    limiter.total_tokens, before = 1, limiter.total_tokens
    try:
        async with limiter:
            outcome = await run_call(made, {})
    finally:
        limiter.total_tokens = before
    assert "did not get to start within 0.02 seconds" in str(outcome.content)
    assert "Nothing was done." in str(outcome.content)
    assert runs == []


async def test_a_timeout_is_retried_with_a_fresh_context() -> None:
    seen: list[bool] = []

    @tool(timeout=SOON, effect="read", retries=1)
    async def slow_at_first(ctx: ToolContext) -> str:
        seen.append(ctx.cancelled)
        if len(seen) == 1:
            await anyio.sleep_forever()
        return "ok"

    async def no_pause(_: float) -> None: ...

    outcome = await run_call(slow_at_first, {}, ToolContext(), sleep=no_pause)
    assert (outcome.content, outcome.attempts, seen) == ("ok", 2, [False, False])


async def test_waiting_for_a_slot_is_not_counted_to_the_timeout() -> None:
    free = asyncio.Event()

    @tool(timeout=PATIENCE, concurrency=1)
    async def hold() -> str:
        await free.wait()
        return "held"

    async with asyncio.TaskGroup() as group:
        first = group.create_task(run_call(hold, {}))
        second = group.create_task(run_call(hold, {}))
        await anyio.lowlevel.checkpoint()
        free.set()
    assert [first.result().content, second.result().content] == ["held", "held"]


async def test_cancelling_the_caller_cancels_an_async_tool_and_lets_it_clean_up() -> None:
    started, cleaned = asyncio.Event(), asyncio.Event()

    @tool
    async def wait() -> None:
        try:
            started.set()
            await anyio.sleep_forever()
        finally:
            await anyio.lowlevel.checkpoint()
            cleaned.set()

    async with anyio.create_task_group() as group:
        group.start_soon(run_call, wait, {})
        await started.wait()
        group.cancel_scope.cancel()
    assert cleaned.is_set()

    cleaned.clear()
    task = asyncio.ensure_future(run_call(wait, {}))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert cleaned.is_set()


async def test_cancelling_the_caller_leaves_a_sync_tool_at_once() -> None:
    go_on, started, seen = threading.Event(), threading.Event(), []

    @tool
    def block(ctx: ToolContext) -> Any:
        started.set()
        go_on.wait(PATIENCE)
        seen.append(ctx.cancelled)

        async def never_awaited() -> None: ...

        return never_awaited()

    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as group:
            group.start_soon(run_call, block, {}, ToolContext())
            await until(started.is_set)
            group.cancel_scope.cancel()
    go_on.set()
    await until(lambda: seen)
    assert seen == [True]


HANGING = """
import anyio, threading
from turnkeeper.tools import run_call, tool

@tool(timeout=0.05)
def hang() -> None:
    threading.Event().wait()

async def main() -> None:
    print((await run_call(hang, {})).state)

anyio.run(main)
"""


async def test_a_thread_that_hangs_for_ever_does_not_keep_the_process() -> None:
    with anyio.fail_after(60):
        done = await anyio.run_process([sys.executable, "-c", HANGING], stderr=subprocess.STDOUT)
    assert done.stdout.decode().split() == ["timed_out"]


async def test_a_tool_that_cancels_itself_has_failed() -> None:
    @tool
    async def odd() -> None:
        raise asyncio.CancelledError

    outcome = await run_call(odd, {})
    assert (outcome.state, outcome.is_error) == ("failed", True)
    assert "CancelledError" in str(outcome.content)
