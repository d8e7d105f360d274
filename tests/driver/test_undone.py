"""What the model is told of a transactional call that was stopped in its middle, where the customer writes on."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest
import sqlalchemy as sa

import turnkeeper as tk
from tests.driver.conftest import Make, sent
from turnkeeper.testing import MessagesAPI, call, reply, script

pytestmark = pytest.mark.anyio


async def test_a_transactional_call_that_was_interrupted_is_known_to_be_undone_other_calls_are_not(
    make: Make, tmp_path: Path
) -> None:
    url = f"sqlite:///{tmp_path}/journal.db"
    began = anyio.Event()

    @tk.tool(effect="transactional")
    async def book(ctx: tk.ToolContext) -> str:
        """Book."""
        ctx.connection.execute(sa.text("CREATE TABLE booked (line TEXT)"))
        began.set()
        await anyio.sleep_forever()
        return "never"

    @tk.tool
    async def write() -> str:
        """Write a letter."""
        await anyio.sleep_forever()
        return "never"

    asked = reply(call("book", id="toolu_b"), call("write", id="toolu_w"))
    api = MessagesAPI(script(asked, "ладно"))
    agent = make(api, tools=[book, write])
    async with agent.open(url) as keeper, anyio.create_task_group() as group:
        conversation = await keeper.conversation("c")

        async def run() -> None:
            await conversation.send("go")

        group.start_soon(run)
        await began.wait()
        group.cancel_scope.cancel()
    async with agent.open(url) as keeper:
        assert (await (await keeper.conversation("c")).send("и что?")).text == "ладно"
    results = {b["tool_use_id"]: b for b in sent(api, 1)["messages"][-1]["content"] if b["type"] == "tool_result"}
    assert results["toolu_b"]["content"] == (
        "Interrupted while it ran, and undone: nothing was changed. It was not run again."
    )
    assert results["toolu_w"]["content"].startswith("Interrupted while it ran: its effect is unknown")
    engine = sa.create_engine(url)
    assert not sa.inspect(engine).has_table("booked")
    engine.dispose()
    api.assert_all_accepted()
