"""What a tool's effect means: writes in the journal's own database, and what happens after a stop in the middle."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
import sqlalchemy as sa

import turnkeeper as tk
from tests.driver.conftest import Make, sent
from turnkeeper.errors import ConfigurationError
from turnkeeper.testing import MessagesAPI, call, reply, script

pytestmark = pytest.mark.anyio


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/journal.db"
    return str(request.getfixturevalue("postgres_database"))


class Ledger:
    """A table beside the journal's, and tools that write in it."""

    def __init__(self, url: str) -> None:
        self.engine = sa.create_engine(url)
        with self.engine.begin() as connection:
            connection.execute(sa.text("CREATE TABLE ledger (line TEXT NOT NULL, key TEXT NOT NULL)"))
        self.before_return = threading.Event()
        self.go = threading.Event()

    def lines(self) -> list[str]:
        with self.engine.connect() as connection:
            return [row.line for row in connection.execute(sa.text("SELECT line FROM ledger ORDER BY line"))]

    def tool(self, **options: Any) -> tk.Tool:
        @tk.tool(effect="transactional", **options)
        def book(ctx: tk.ToolContext, line: str, how: str = "") -> str:
            """Book a line."""
            values = {"line": line, "key": ctx.key}
            ctx.connection.execute(sa.text("INSERT INTO ledger (line, key) VALUES (:line, :key)"), values)
            if how == "refuse":
                raise tk.ToolError("нельзя")
            if how == "note":
                raise tk.ToolError("нельзя, но записано", keep_writes=True)
            if how == "break":
                raise ValueError(line)
            if how == "hang":
                self.before_return.set()
                self.go.wait(20)
            return f"booked {line}"

        return book


@asynccontextmanager
async def ledger_at(url: str) -> AsyncIterator[Ledger]:
    ledger = await anyio.to_thread.run_sync(Ledger, url)
    try:
        yield ledger
    finally:
        ledger.go.set()
        ledger.engine.dispose()


def results(api: MessagesAPI, number: int = 1) -> list[tuple[bool, str]]:
    blocks = sent(api, number)["messages"][-1]["content"]
    return [(bool(b.get("is_error")), b["content"]) for b in blocks if b["type"] == "tool_result"]


async def test_writes_are_kept_with_the_result_or_not_at_all(make: Make, url: str) -> None:
    async with ledger_at(url) as ledger:
        calls = [call("book", {"line": "a"}), call("book", {"line": "b", "how": "refuse"})]
        calls += [call("book", {"line": "c", "how": "break"}), call("book", {"line": "г"})]
        api = MessagesAPI(script(reply(*calls), "ok"))
        async with make(api, tools=[ledger.tool()]).open(url) as keeper:
            assert (await (await keeper.conversation("c")).send("go")).text == "ok"
        assert ledger.lines() == ["a", "г"]
    found = results(api)
    assert found[0] == (False, "booked a")
    assert found[1] == (True, "нельзя")
    assert found[2][0] is True
    assert found[3] == (False, "booked г")


async def test_a_refusal_may_keep_its_writes_and_is_recorded_with_them(make: Make, url: str) -> None:
    async with ledger_at(url) as ledger:
        calls = [call("book", {"line": "a", "how": "refuse"}), call("book", {"line": "б", "how": "note"})]
        api = MessagesAPI(script(reply(*calls), "ok"))
        async with make(api, tools=[ledger.tool()]).open(url) as keeper:
            found = await (await keeper.conversation("c")).send("go")
        assert [record.outcome for record in found.calls] == ["failed", "failed"]
        assert ledger.lines() == ["б"]
    assert results(api) == [(True, "нельзя"), (True, "нельзя, но записано")]
    api.assert_all_accepted()


async def test_a_transaction_does_not_wait_for_threads_of_those_that_wait_for_it(make: Make, url: str) -> None:
    async with ledger_at(url) as ledger:
        booked = threading.Event()

        @tk.tool(effect="read")
        def look() -> str:
            """Wait for what is booked."""
            return "seen" if booked.wait(20) else "nothing"

        @tk.tool(effect="transactional")
        def book(ctx: tk.ToolContext) -> str:
            """Book a line."""
            ctx.connection.execute(sa.text("INSERT INTO ledger (line, key) VALUES ('a', '')"))
            booked.set()
            return "booked"

        threads = anyio.to_thread.current_default_thread_limiter()
        before, threads.total_tokens = threads.total_tokens, 1
        try:
            api = MessagesAPI(script(reply(call("look"), call("book")), "ok"))
            async with make(api, tools=[look, book]).open(url) as keeper:
                await (await keeper.conversation("c")).send("go")
        finally:
            threads.total_tokens = before
        assert ledger.lines() == ["a"]
    assert results(api) == [(False, "seen"), (False, "booked")]


async def test_transactional_calls_run_one_after_another_in_the_models_order_beside_the_others(
    make: Make, url: str
) -> None:
    order: list[str] = []

    async with ledger_at(url):

        @tk.tool(effect="transactional")
        def step(ctx: tk.ToolContext, n: str) -> str:
            """One step."""
            ctx.connection.execute(sa.text("INSERT INTO ledger (line, key) VALUES (:n, '')"), {"n": n})
            order.append(n)
            return n

        @tk.tool(effect="read")
        async def look() -> str:
            """Look."""
            return "seen"

        calls = [call("step", {"n": "3"}), call("look"), call("step", {"n": "1"}), call("look")]
        api = MessagesAPI(script(reply(*calls), "ok"))
        async with make(api, tools=[step, look]).open(url) as keeper:
            await (await keeper.conversation("c")).send("go")
        assert order == ["3", "1"]
        assert [text for _, text in results(api)] == ["3", "seen", "1", "seen"]


async def test_a_call_that_takes_too_long_is_undone(make: Make, url: str) -> None:
    async with ledger_at(url) as ledger:
        api = MessagesAPI(script(reply(call("book", {"line": "late", "how": "hang"})), "ok", "again"))
        async with make(api, tools=[ledger.tool(timeout=0.2)]).open(url) as keeper:
            conversation = await keeper.conversation("c")
            assert (await conversation.send("go")).text == "ok"
            ledger.go.set()
            assert (await conversation.send("more")).text == "again"
        assert ledger.lines() == []
    assert results(api) == [(True, "The call took too long and was undone: nothing was changed.")]


async def test_a_call_stopped_in_the_middle_left_nothing_and_runs_again_when_resumed(make: Make, url: str) -> None:
    async with ledger_at(url) as ledger:
        api = MessagesAPI(script(reply(call("book", {"line": "once", "how": "hang"})), "ok"))
        agent = make(api, tools=[ledger.tool()])
        async with agent.open(url) as keeper, anyio.create_task_group() as group:
            conversation = await keeper.conversation("c")

            async def run() -> None:
                await conversation.send("go")

            group.start_soon(run)
            await anyio.to_thread.run_sync(ledger.before_return.wait, 20)
            group.cancel_scope.cancel()
        ledger.go.set()
        assert ledger.lines() == []
        async with agent.open(url) as keeper:
            (found,) = await keeper.recover()
        assert found.text == "ok"
        assert ledger.lines() == ["once"]
    assert results(api) == [(False, "booked once")]


async def test_a_statement_that_fails_inside_a_tool_undoes_the_call_and_not_the_turn(make: Make, url: str) -> None:
    async with ledger_at(url) as ledger:
        with ledger.engine.begin() as connection:
            connection.execute(sa.text("CREATE UNIQUE INDEX one_line ON ledger (line)"))

        @tk.tool(effect="transactional")
        def book(ctx: tk.ToolContext, line: str) -> str:
            """Book a line once."""
            try:
                ctx.connection.execute(sa.text("INSERT INTO ledger (line, key) VALUES (:line, '')"), {"line": line})
            except sa.exc.IntegrityError:
                return "it is there already"
            return "booked"

        api = MessagesAPI(script(reply(call("book", {"line": "a"}), call("book", {"line": "a"})), "ok"))
        async with make(api, tools=[book]).open(url) as keeper:
            assert (await (await keeper.conversation("c")).send("go")).text == "ok"
        assert ledger.lines() == ["a"]
    first, second = results(api)
    assert first == (False, "booked")
    undone = (True, "The call failed in the database and was undone: nothing was changed.")
    assert second == (undone if "postgresql" in url else (False, "it is there already"))


async def test_a_reader_that_is_slow_does_not_hold_the_database_open(make: Make, url: str) -> None:
    async with ledger_at(url):

        @tk.tool(effect="transactional")
        def book(ctx: tk.ToolContext) -> str:
            """Book and report."""
            ctx.connection.execute(sa.text("INSERT INTO ledger (line, key) VALUES ('x', '')"))
            ctx.progress("half", 0.5)
            return "booked"

        api = MessagesAPI(lambda request: reply("ok") if len(request["messages"]) > 2 else reply(call("book")))
        async with make(api, tools=[book]).open(url) as keeper:
            told = []
            async for update in (await keeper.conversation("slow")).send("go"):
                told.append(update.type)
                if update.type == "progress":  # while this reader thinks, another conversation books
                    assert (await (await keeper.conversation("other")).send("go")).text == "ok"
            assert told.index("progress") < told.index("call_finished")


async def test_a_transactional_tool_needs_a_journal_with_a_database(make: Make) -> None:
    @tk.tool(effect="transactional")
    def book(ctx: tk.ToolContext) -> str:
        """Book."""
        return "ok"

    agent = make(MessagesAPI(script("ok")), tools=[book])
    with pytest.raises(ConfigurationError, match="book: a transactional tool writes in the journal's own database"):
        await agent.run("go")


@pytest.mark.parametrize(
    ("world", "runs", "text", "status"),
    [
        ("happened", 1, "квитанция 7", tk.TurnStatus.COMPLETED),
        ("not yet", 2, "sent", tk.TurnStatus.COMPLETED),
        ("unreachable", 1, "", tk.TurnStatus.AWAITING_RESOLUTION),
    ],
)
async def test_a_reconcile_tool_asks_the_world_after_a_stop(
    make: Make, url: str, world: str, runs: int, text: str, status: tk.TurnStatus
) -> None:
    ran: list[str] = []
    asked: list[tuple[str, str]] = []
    began = anyio.Event()

    def look(ctx: tk.ToolContext, to: str) -> str | None:
        asked.append((ctx.key, to))
        if world == "unreachable":
            raise OSError("down")
        return "квитанция 7" if world == "happened" else None

    @tk.tool(effect="reconcile", reconcile=look)
    async def pay(to: str, amount: int = 5) -> str:
        """Pay."""
        ran.append(to)
        if len(ran) == 1:
            began.set()
            await anyio.sleep_forever()
        return "sent"

    api = MessagesAPI(script(reply(call("pay", {"to": "x"}, id="toolu_p")), "ok"))
    agent = make(api, tools=[pay])
    async with agent.open(url) as keeper, anyio.create_task_group() as group:
        conversation = await keeper.conversation("c")

        async def run() -> None:
            await conversation.send("go")

        group.start_soon(run)
        await began.wait()
        group.cancel_scope.cancel()
    async with agent.open(url) as keeper:
        (found,) = await keeper.recover()
    assert (found.status, len(ran), asked) == (status, runs, [("c:toolu_p", "x")])
    if text:
        assert results(api) == [(False, text)]
