"""Running a call: threads, context variables, iterators, retries, concurrency."""

from __future__ import annotations

import asyncio
import contextvars
import functools
import itertools
import threading
from collections.abc import AsyncIterator, Iterator
from typing import Any

import anyio
import anyio.lowlevel
import anyio.to_thread
import pytest

from turnkeeper.tools import Outcome, Tool, ToolContext, ToolError, check_arguments, run_call, tool

pytestmark = pytest.mark.anyio
PATIENCE = 10.0
"""Seconds after which a test that hangs fails; nothing waits that long when all is well."""

language: contextvars.ContextVar[str] = contextvars.ContextVar("language", default="none")


async def gathered(*calls: Any) -> list[Outcome]:
    with anyio.fail_after(PATIENCE):
        return list(await asyncio.gather(*calls))


async def test_sync_tools_run_at_the_same_time_and_leave_the_event_loop_free() -> None:
    """Report B06-sync-tool-blocks-loop.

    https://github.com/openai/openai-agents-python/issues/2386
    """
    together = threading.Barrier(3)
    inside, loop_is_alive = threading.Event(), threading.Event()
    loop_thread = threading.get_ident()

    @tool
    def nap(number: int) -> str:
        together.wait(PATIENCE)
        inside.set()
        assert loop_is_alive.wait(PATIENCE)
        assert threading.get_ident() != loop_thread
        return str(number)

    async def heartbeat() -> None:
        while not inside.is_set():
            await anyio.lowlevel.checkpoint()
        loop_is_alive.set()

    outcomes, _ = await asyncio.gather(gathered(*(run_call(nap, {"number": n}) for n in (1, 2, 3))), heartbeat())
    assert [outcome.content for outcome in outcomes] == ["1", "2", "3"]


async def test_context_variables_are_kept_in_both_kinds_of_tools() -> None:
    language.set("українська")
    sync = tool(lambda: language.get(), name="sync")  # noqa: PLW0108

    @tool
    async def asynchronous() -> str:
        return language.get()

    assert [o.content for o in await gathered(run_call(sync, {}), run_call(asynchronous, {}))] == ["українська"] * 2


async def test_a_sync_tool_may_run_an_event_loop_of_its_own() -> None:
    async def inner() -> str:
        await anyio.lowlevel.checkpoint()
        return "inner"

    for made in (tool(lambda: asyncio.run(inner()), name="a"), tool(lambda: anyio.run(inner), name="b")):
        assert (await run_call(made, {})).content == "inner"


async def test_threads_are_used_again_and_bounded_by_anyios_limiter() -> None:
    @tool
    def who() -> str:
        thread = threading.current_thread()
        assert thread.daemon
        return str(thread.ident)

    names = {(await run_call(who, {})).content for _ in range(5)}
    assert len(names) == 1
    limiter = anyio.to_thread.current_default_thread_limiter()
    limiter.total_tokens, before = 1, limiter.total_tokens
    try:
        assert len(await gathered(*(run_call(who, {}) for _ in range(4)))) == 4
    finally:
        limiter.total_tokens = before


async def test_generators_and_async_generators_are_collected() -> None:
    @tool
    def lines(ctx: ToolContext) -> Iterator[str]:
        yield "один"
        yield threading.current_thread().name

    @tool
    async def pages() -> AsyncIterator[int]:
        yield 1
        yield 2

    @tool
    async def endless() -> Any:
        return itertools.count()

    @tool(result_limit=10**6)
    async def forever() -> AsyncIterator[int]:
        for number in itertools.count():
            yield number

    assert (await run_call(lines, {})).content == '["один","turnkeeper tool"]'
    assert (await run_call(pages, {})).content == "[1,2]"
    assert str((await run_call(endless, {})).content).startswith("[0,1,2")
    assert str((await run_call(forever, {})).content).endswith(
        '9999,"[truncated: more than 10000 items, the rest was not read]"]'
    )


async def test_a_sync_wrapper_of_an_async_function_is_awaited() -> None:
    async def real(n: int) -> int:
        await anyio.lowlevel.checkpoint()
        return n

    async def items(n: int) -> AsyncIterator[int]:
        yield n

    def wrapped(n: int) -> Any:
        return real(n)

    def wrapped_items(n: int) -> Any:
        return items(n)

    made = [tool(wrapped), tool(wrapped_items), tool(functools.partial(real), name="partial")]
    assert [(await run_call(m, {"n": 5})).content for m in made] == ["5", "[5]", "5"]


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.now += seconds


async def test_the_outcome_says_how_long_it_took() -> None:
    clock = Clock()

    @tool
    def work() -> None:
        clock.now += 2.5

    assert await run_call(work, {}, clock=clock) == Outcome(
        state="succeeded", content="(no output)", is_error=False, seconds=2.5
    )


def flaky(failures: int, exception: type[BaseException] = OSError, **options: Any) -> tuple[Tool, list[Any]]:
    seen: list[Any] = []

    def work(ctx: ToolContext, items: list[int]) -> str:
        items.append(1)
        seen.append((ctx.key, list(items), ctx.cancelled))
        if len(seen) <= failures:
            raise exception("перегрузка")
        return "at last"

    return tool(work, **options), seen


@pytest.mark.parametrize("effect", ["read", "idempotent"])
async def test_what_may_happen_twice_is_retried_with_growing_pauses(effect: str) -> None:
    clock = Clock()
    made, seen = flaky(5, effect=effect, retries=6)
    outcome = await run_call(made, {"items": []}, ToolContext(key="k"), clock=clock, sleep=clock.sleep)
    assert outcome == Outcome(
        state="succeeded", content="at last", is_error=False, seconds=0.5 + 1 + 2 + 4 + 8, attempts=6
    )
    assert seen == [("k", [1], False)] * 6


async def test_retries_end() -> None:
    clock = Clock()
    made, seen = flaky(99, effect="read", retries=2)
    outcome = await run_call(made, {"items": []}, sleep=clock.sleep, error_ids=lambda: "e1")
    assert (outcome.state, outcome.attempts, len(seen)) == ("failed", 3, 3)
    assert outcome.error_id == "e1"


@pytest.mark.parametrize(
    ("exception", "options"),
    [(ToolError, {"effect": "read", "retries": 3}), (OSError, {}), (SystemExit, {"effect": "read", "retries": 3})],
)
async def test_what_is_not_to_be_retried_runs_once(exception: type[BaseException], options: dict[str, Any]) -> None:
    clock = Clock()
    made, seen = flaky(1, exception, **options)
    outcome = await run_call(made, {"items": []}, sleep=clock.sleep)
    assert (outcome.state, outcome.attempts, len(seen)) == ("failed", 1, 1)


async def test_a_result_that_cannot_be_rendered_is_not_run_again() -> None:
    runs = []

    @tool(effect="read", retries=3)
    def odd() -> object:
        runs.append(1)
        return object()

    outcome = await run_call(odd, {})
    assert (outcome.state, outcome.attempts, len(runs)) == ("failed", 1, 1)


def crowded(**options: Any) -> tuple[Tool, list[int]]:
    inside, most = [0], [0]

    async def work() -> int:
        inside[0] += 1
        most[0] = max(most[0], inside[0])
        await anyio.lowlevel.checkpoint()
        await anyio.lowlevel.checkpoint()
        inside[0] -= 1
        return most[0]

    return tool(work, **options), most


async def test_a_concurrency_limit_holds_across_calls() -> None:
    made, most = crowded(concurrency=2)
    await gathered(*(run_call(made, {}) for _ in range(6)))
    assert most == [2]
    free, most = crowded()
    await gathered(*(run_call(free, {}) for _ in range(6)))
    assert most == [6]


async def test_a_limiter_can_be_handed_in() -> None:
    made, most = crowded(concurrency=5)
    lone = anyio.Semaphore(1)
    await gathered(*(run_call(made, {}, limiter=lone) for _ in range(4)))
    assert most == [1]


def test_a_concurrency_limit_works_in_one_event_loop_after_another() -> None:
    made, most = crowded(concurrency=1)

    async def main() -> None:
        await gathered(*(run_call(made, {}) for _ in range(3)))

    for _ in range(2):
        asyncio.run(main())
    assert most == [1]


async def test_objects_of_one_class_share_the_limit_of_a_method() -> None:
    inside = 0

    class Shop:
        @tool(concurrency=1)
        async def sell(self) -> str:
            nonlocal inside
            inside += 1
            await anyio.lowlevel.checkpoint()
            assert inside == 1
            inside -= 1
            return "sold"

    assert [o.content for o in await gathered(*(run_call(Shop().sell, {}) for _ in range(3)))] == ["sold"] * 3


async def test_what_check_arguments_returns_is_what_run_call_takes() -> None:
    @tool
    def echo(a: int, *, b: list[str] | None = None) -> list[Any]:
        return [a, b]

    assert (await run_call(echo, check_arguments(echo, {"a": "1", "b": '["ü"]'}))).content == '[1,["ü"]]'
