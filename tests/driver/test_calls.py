"""The calls of one reply: each exactly one result, side by side, never a crash."""

from __future__ import annotations

import contextvars
import threading
from typing import Any

import anyio
import pytest

import turnkeeper as tk
from tests.driver.conftest import Make, agent_over, sent
from turnkeeper.testing import MessagesAPI, call, reply, script
from turnkeeper.updates import CallFinished, CallStarted, ToolProgress

pytestmark = pytest.mark.anyio


def results(api: MessagesAPI, number: int = 1) -> list[dict[str, Any]]:
    """The result blocks of one request's last message, by the rules the only ones in it."""
    blocks = sent(api, number)["messages"][-1]["content"]
    assert {block["type"] for block in blocks} == {"tool_result"}
    return list(blocks)


async def test_results_stand_in_the_models_order_whatever_finishes_first(make: Make) -> None:
    """Report A05-parallel-results-one-message.

    https://github.com/MoonshotAI/kosong/issues/45
    """
    done = {name: anyio.Event() for name in "12345"}
    waits_for = {"3": "5", "1": "3", "2": "1", "4": "2"}

    @tk.tool
    async def read_file(path: str) -> str:
        """Read a file."""
        if path in waits_for:
            await done[waits_for[path]].wait()
        done[path].set()
        return f"text of {path}"

    calls = [call("read_file", {"path": n}, id=f"toolu_{n}") for n in "12345"]
    api = MessagesAPI(script(reply(*calls), "all read"))
    found = await make(api, tools=[read_file]).run("read all five")
    assert found.text == "all read"
    assert len(sent(api, 1)["messages"]) == 3
    assert [(r["tool_use_id"], r["content"]) for r in results(api)] == [(f"toolu_{n}", f"text of {n}") for n in "12345"]
    assert [record.id for record in found.calls] == [f"toolu_{n}" for n in "53124"]


async def test_an_unknown_tool_is_answered_with_the_names_and_the_others_still_run(make: Make) -> None:
    """Report A21-unknown-tool-kills-the-run.

    https://github.com/openai/openai-agents-python/pull/3402
    """
    ran: list[str] = []

    def get_weather(city: str) -> str:
        """Weather."""
        ran.append("weather")
        return "sun"

    def get_time(city: str) -> str:
        """Time."""
        ran.append("time")
        return "12:00"

    city = {"city": "Rome"}
    first = reply(call("get_wether", city, id="toolu_1"), call("get_time", city, id="toolu_2"))
    api = MessagesAPI(script(first, reply(call("get_weather", city)), "Sunny at noon."))
    found = await make(api, tools=[get_weather, get_time]).run("weather and time in Rome")
    assert (found.text, len(api.requests)) == ("Sunny at noon.", 3)
    unknown, time = results(api)
    assert unknown["is_error"] is True
    assert unknown["content"] == "There is no tool named 'get_wether'. Available tools: get_weather, get_time."
    assert (time["content"], "is_error" in time) == ("12:00", False)
    assert ran == ["time", "weather"]


async def test_duplicate_and_empty_ids_are_replaced_so_that_each_call_has_its_own_result(make: Make) -> None:
    """Report A29-duplicate-or-empty-tool-use-ids.

    https://github.com/ducks/claux/issues/40
    """
    given: list[int] = []

    def add(n: int) -> int:
        """Add one."""
        given.append(n)
        return n + 1

    def asks(*numbers: int, ids: str) -> dict[str, Any]:
        return reply(*(call("add", {"n": n}, id=ids) for n in numbers))

    api = MessagesAPI(script(asks(1, 2, ids="call_0"), asks(3, ids="call_0"), asks(4, ids=""), "ok"))
    found = await make(api, tools=[add]).run("add")
    assert found.text == "ok"
    assert sorted(given) == [1, 2, 3, 4]
    blocks = [block for message in sent(api, 3)["messages"] for block in message["content"]]
    asked = {block["id"]: block["input"]["n"] for block in blocks if block["type"] == "tool_use"}
    answered = {block["tool_use_id"]: block["content"] for block in blocks if block["type"] == "tool_result"}
    assert len(asked) == 4
    assert "" not in asked
    assert answered == {one: str(n + 1) for one, n in asked.items()}
    api.assert_all_accepted()


async def test_bad_arguments_name_field_reason_and_value_and_nothing_runs(make: Make) -> None:
    ran: list[int] = []

    def square(n: int) -> int:
        """Square a number."""
        ran.append(n)
        return n * n

    api = MessagesAPI(script(reply(call("square", {"n": "семь", "m": 1})), reply(call("square", {"n": "7"})), "49"))
    assert (await make(api, tools=[square]).run("square seven")).text == "49"
    (refused,) = results(api)
    assert refused["is_error"] is True
    for word in ("n", "семь", "integer", "m"):
        assert word in refused["content"]
    assert "pydantic" not in refused["content"]
    assert ran == [7]


async def test_whatever_a_tool_raises_or_returns_becomes_one_result_with_text(make: Make) -> None:
    def broken(how: str) -> Any:
        """Break."""
        if how == "raise":
            raise ValueError
        if how == "tool_error":
            raise tk.ToolError("order 99 does not exist")
        if how == "cycle":
            loop: list[Any] = []
            loop.append(loop)
            return loop
        return {"none": None, "blank": "  ", "list": [], "object": object()}[how]

    ways = ["raise", "tool_error", "cycle", "none", "blank", "list", "object"]
    api = MessagesAPI(script(reply(*(call("broken", {"how": how}) for how in ways)), "ok", "and on"))
    async with make(api, tools=[broken]).open() as keeper:
        conversation = await keeper.conversation("c")
        assert (await conversation.send("go")).text == "ok"
        assert (await conversation.send("again")).text == "and on"
    found = dict(zip(ways, results(api), strict=True))
    assert found["tool_error"]["content"] == "order 99 does not exist"
    assert "ValueError" in found["raise"]["content"]
    assert found["list"]["content"] == "[]"
    assert [way for way in ways if found[way].get("is_error")] == ["raise", "tool_error", "cycle", "object"]
    assert all(block["content"].strip() for block in found.values())
    api.assert_all_accepted()


async def test_secrets_of_an_exception_do_not_reach_the_model_or_the_history(
    make: Make, caplog: pytest.LogCaptureFixture
) -> None:
    """Report B16-tool-error-leaks-dsn.

    https://github.com/nstfkc/gemi/issues/446
    """

    def connect() -> str:
        """Connect."""
        raise OSError("could not connect to postgresql://bot:S3cr3t-pw@db.internal/shop")

    api = MessagesAPI(script(reply(call("connect")), "sorry"))
    found = await make(api, tools=[connect]).run("go")
    (result,) = results(api)
    assert "OSError" in result["content"]
    assert b"S3cr3t-pw" not in api.requests[1].raw
    assert "S3cr3t-pw" not in str(found.messages)
    assert "S3cr3t-pw" not in caplog.text
    error_id = result["content"].split("error id ")[1].split(")")[0].rstrip(".,;: ")
    assert error_id in caplog.text


async def test_sync_tools_run_in_worker_threads_side_by_side_with_the_callers_context(make: Make) -> None:
    """Report B06-sync-tool-blocks-loop.

    https://github.com/openai/openai-agents-python/issues/2386
    """
    tenant: contextvars.ContextVar[str] = contextvars.ContextVar("tenant", default="nobody")
    together = threading.Barrier(3, timeout=10)
    seen: list[tuple[str, bool]] = []

    def nap() -> str:
        """Nap until all three naps have begun."""
        together.wait()
        seen.append((tenant.get(), threading.current_thread() is threading.main_thread()))
        return "rested"

    api = MessagesAPI(script(reply(*(call("nap", id=f"t{n}") for n in range(3))), "ok"))
    tenant.set("арендатор")
    assert (await make(api, tools=[nap]).run("nap")).text == "ok"
    assert seen == [("арендатор", False)] * 3
    assert [block["tool_use_id"] for block in results(api)] == ["t0", "t1", "t2"]


async def test_tools_that_share_something_run_one_after_another_in_order(make: Make) -> None:
    running: list[int] = []
    order: list[int] = []

    @tk.tool(parallel=False)
    async def step(n: int) -> str:
        """One step."""
        running.append(n)
        await anyio.lowlevel.checkpoint()
        assert running == [n]
        running.remove(n)
        order.append(n)
        return "ok"

    api = MessagesAPI(script(reply(*(call("step", {"n": n}) for n in (3, 1, 2))), "done"))
    await make(api, tools=[step]).run("go")
    assert order == [3, 1, 2]


@pytest.mark.parametrize(("most", "seen"), [(1, 1), (2, 2), (None, 4)])
async def test_the_number_of_calls_at_once_can_be_bounded(make: Make, most: int | None, seen: int) -> None:
    now = most_seen = 0

    async def work() -> str:
        """Work."""
        nonlocal now, most_seen
        now += 1
        most_seen = max(now, most_seen)
        for _ in range(20):
            await anyio.lowlevel.checkpoint()
        now -= 1
        return "ok"

    api = MessagesAPI(script(reply(*(call("work") for _ in range(4))), "done"))
    assert (await make(api, tools=[work], most_calls_at_once=most).run("go")).text == "done"
    assert most_seen == seen


async def test_input_that_is_not_json_is_answered_with_what_arrived_and_not_run() -> None:
    ran: list[str] = []

    def write(text: str) -> str:
        """Write."""
        ran.append(text)
        return "ok"

    api = MessagesAPI(
        script(reply(call("write", raw_input='{"text": "полов')), reply(call("write", {"text": "x"})), "ok")
    )
    assert (await agent_over(api, tools=[write]).run("go")).text == "ok"
    (refused,) = results(api)
    assert refused["is_error"] is True
    assert '{"text": "полов' in refused["content"]
    assert ran == ["x"]
    api.assert_all_accepted()


async def test_a_tool_sees_who_is_talking_and_what_the_application_bound() -> None:
    def whoami(ctx: tk.ToolContext, tenant: tk.Injected[str]) -> dict[str, Any]:
        """Who is it?"""
        assert ctx.principal is not None
        return {"id": ctx.principal.id, "tenant": tenant, "conversation": ctx.conversation_id, "key": ctx.key}

    api = MessagesAPI(script(reply(call("whoami", id="toolu_7")), "ok"))
    async with agent_over(api, tools=[whoami]).open() as keeper:
        who = tk.Principal("customer", "1213210")
        conversation = await keeper.conversation("c-42", principal=who, injected={"tenant": "acme"})
        await conversation.send("go")
    (result,) = results(api)
    assert result["content"] == '{"id":"1213210","tenant":"acme","conversation":"c-42","key":"c-42:toolu_7"}'
    assert sent(api, 0)["tools"][0]["input_schema"]["properties"] == {}


async def test_progress_of_a_tool_reaches_the_caller_in_order_from_a_task_and_from_a_thread() -> None:
    def slow(ctx: tk.ToolContext) -> str:
        """Slow."""
        ctx.progress("половина", 0.5)
        ctx.progress("all", 1.0)
        return "ok"

    async def quick(ctx: tk.ToolContext) -> str:
        """Quick."""
        ctx.progress("once")
        return "ok"

    api = MessagesAPI(script(reply(call("slow", id="a")), reply(call("quick", id="b")), "done"))
    async with agent_over(api, tools=[slow, quick]).open() as keeper:
        conversation = await keeper.conversation("c")
        updates = [update async for update in conversation.send("go")]
    told = [update for update in updates if isinstance(update, CallStarted | ToolProgress | CallFinished)]
    assert [(type(update).__name__, update.call_id) for update in told] == [
        ("CallStarted", "a"),
        ("ToolProgress", "a"),
        ("ToolProgress", "a"),
        ("CallFinished", "a"),
        ("CallStarted", "b"),
        ("ToolProgress", "b"),
        ("CallFinished", "b"),
    ]
    notes = [(update.message, update.fraction) for update in told if isinstance(update, ToolProgress)]
    assert notes == [("половина", 0.5), ("all", 1.0), ("once", None)]


async def test_a_tool_that_times_out_is_answered_and_the_turn_goes_on(make: Make) -> None:
    @tk.tool(timeout=0.05)
    async def hang() -> str:
        """Hang."""
        await anyio.sleep_forever()
        return "never"

    api = MessagesAPI(script(reply(call("hang")), "ok"))
    found = await make(api, tools=[hang]).run("go")
    assert found.text == "ok"
    assert [record.outcome for record in found.calls] == ["timed_out"]
    (result,) = results(api)
    assert result["is_error"] is True
    assert "0.05" in result["content"]


async def test_an_id_that_looks_like_one_of_ours_and_an_empty_one_stay_apart(make: Make) -> None:
    ran: list[int] = []

    def add(n: int) -> int:
        """Add one."""
        ran.append(n)
        return n + 1

    first = reply(call("add", {"n": 1}, id=""), call("add", {"n": 2}, id="toolu_tk_1_0"), call("add", {"n": 3}, id=""))
    api = MessagesAPI(script(first, "ok"))
    assert (await make(api, tools=[add]).run("go")).text == "ok"
    assert sorted(ran) == [1, 2, 3]
    assert len({block["tool_use_id"] for block in results(api)}) == 3
    assert [block["content"] for block in results(api)] == ["2", "3", "4"]
