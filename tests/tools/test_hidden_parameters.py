"""`ctx` and `Injected`: bound by the application, absent from the schema, never taken from the model."""

from __future__ import annotations

import json
import threading
import typing
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, Optional

import pytest

from turnkeeper import tools
from turnkeeper.tools import (
    ArgumentsRejectedError,
    Injected,
    Tool,
    ToolContext,
    ToolDefinitionError,
    check_arguments,
    run_call,
    tool,
)
from turnkeeper.types import Principal

if TYPE_CHECKING:
    import turnkeeper.tools as tk
    from turnkeeper.tools import ToolContext as Ctx

pytestmark = pytest.mark.anyio


def annotated(customer: Annotated[str, Injected], order_id: int) -> str:
    return f"{customer} {order_id}"


def subscripted(order_id: int, customer: Injected[str]) -> str:
    return f"{customer} {order_id}"


def through_the_module(order_id: int, customer: Annotated[str, tools.Injected]) -> str:
    return f"{customer} {order_id}"


def for_the_type_checker_only(order_id: int, customer: tk.Injected[Missing]) -> str:  # type: ignore[name-defined]  # noqa: F821
    return f"{customer} {order_id}"


@pytest.mark.parametrize("function", [annotated, subscripted, through_the_module, for_the_type_checker_only])
async def test_an_injected_parameter_comes_from_the_application(function: Callable[..., str]) -> None:
    made = tool(function)
    assert list(made.input_schema["properties"]) == ["order_id"]
    assert "customer" not in json.dumps(made.definition)
    outcome = await run_call(made, check_arguments(made, {"order_id": 7}), ToolContext(injected={"customer": "мария"}))
    assert outcome.content == "мария 7"


async def test_what_the_model_sends_for_an_injected_parameter_is_refused() -> None:
    made = tool(subscripted)
    with pytest.raises(ArgumentsRejectedError, match="- customer: is unknown; known are order_id"):
        check_arguments(made, {"order_id": 7, "customer": "someone-else"})


async def test_an_injected_parameter_without_a_value_fails_without_being_called() -> None:
    outcome = await run_call(tool(subscripted), {"order_id": 7}, ToolContext())
    assert (outcome.state, outcome.is_error) == ("failed", True)
    assert "LookupError" in str(outcome.content)
    assert "customer" not in str(outcome.content)


async def test_an_injected_parameter_may_have_a_default() -> None:
    @tool
    def greet(*, shop: Injected[str] = "TechNova", repository: Injected[threading.Lock | None] = None) -> str:
        return shop

    assert (await run_call(greet, {})).content == "TechNova"


async def test_injected_without_a_type_is_refused() -> None:
    def bad(customer): ...  # type: ignore[no-untyped-def]

    bad.__annotations__["customer"] = Injected
    with pytest.raises(ToolDefinitionError, match="write customer: Injected"):
        tool(bad)


def first(ctx: ToolContext, n: int) -> str:
    return f"{ctx.key}{n}"


def without_a_hint(ctx, n: int):  # type: ignore[no-untyped-def]
    return f"{ctx.key}{n}"


def any_name(n: int, *, surroundings: ToolContext) -> str:
    return f"{surroundings.key}{n}"


def optional(n: int, around: ToolContext | None = None, also: Optional[ToolContext] = None) -> str:  # noqa: UP045
    assert around is also
    return f"{around.key if around else ''}{n}"


def only_for_the_type_checker(ctx: Ctx, n: int) -> str:
    return f"{ctx.key}{n}"


def positional_only(ctx: ToolContext, n: int, /) -> str:
    return f"{ctx.key}{n}"


@pytest.mark.parametrize(
    "function", [first, without_a_hint, any_name, optional, only_for_the_type_checker, positional_only]
)
async def test_the_context_is_hidden_and_handed_over(function: Callable[..., str]) -> None:
    made = tool(function)
    assert list(made.input_schema["properties"]) == ["n"]
    assert (await run_call(made, check_arguments(made, {"n": 1}), ToolContext(key="k-"))).content == "k-1"


async def test_the_context_says_who_and_which_call() -> None:
    seen: list[ToolContext] = []

    @tool
    def look(ctx: ToolContext) -> None:
        seen.append(ctx)

    connection = object()
    context = ToolContext(
        principal=Principal("customer", "1213210"),
        conversation_id="c-42",
        call_id="toolu_1",
        key="c-42/toolu_1",
        connection=connection,
        injected={"password": "hunter2"},
    )
    await run_call(look, {}, context)
    assert seen == [context]
    assert seen[0] is context
    assert seen[0].principal == Principal("customer", "1213210")
    assert seen[0].connection is connection
    assert not seen[0].cancelled
    seen[0].check_cancelled()
    assert "hunter2" not in repr(context)


async def test_progress_is_told_in_the_event_loops_thread_and_never_fails_the_tool() -> None:
    told: list[tuple[Any, ...]] = []

    def report(message: str, fraction: float | None) -> None:
        told.append((message, fraction, threading.current_thread() is threading.main_thread()))
        if message == "last":
            raise RuntimeError("the watcher is broken")

    def work(ctx: ToolContext) -> str:
        ctx.progress("пол\ud800пути", 0.5)
        ctx.progress("more", 7)
        ctx.progress("?")
        ctx.progress("nonsense", typing.cast("float", "x"))
        return "done"

    async def work_async(ctx: ToolContext) -> str:
        ctx.progress("last")
        return "done"

    assert (await run_call(tool(work), {}, ToolContext(on_progress=report))).content == "done"
    assert (await run_call(tool(work_async), {}, ToolContext(on_progress=report))).content == "done"
    assert told == [("пол�пути", 0.5, True), ("more", 1.0, True), ("?", None, True), ("last", None, True)]


async def test_a_tool_may_be_called_without_a_context() -> None:
    made: Tool = tool(first)
    assert made.function(ToolContext(key="a"), 1) == "a1"
    assert (await run_call(made, {"n": 2})).content == "2"
