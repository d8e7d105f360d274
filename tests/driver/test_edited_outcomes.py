"""A call that a person edited, and whose program stopped in its middle: the model is told of the edit all the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import pytest

import turnkeeper as tk
from tests.driver.conftest import Make, sent
from turnkeeper.testing import MessagesAPI, call, reply, script

pytestmark = pytest.mark.anyio

ANA = tk.Principal("staff", "ana")
NOTE = 'A person changed the arguments of this call before it ran. It ran with: {"amount":80}'


@pytest.mark.parametrize(
    ("result", "told"),
    [
        ("отправлено", f"{NOTE}\nотправлено"),
        (
            [tk.ContentBlock.text("发送了")],
            [{"type": "text", "text": NOTE}, {"type": "text", "text": "发送了"}],
        ),
    ],
)
async def test_a_person_who_says_that_an_edited_call_happened_need_not_repeat_how_it_was_edited(
    make: Make, tmp_path: Path, result: Any, told: Any
) -> None:
    url = f"sqlite:///{tmp_path}/journal.db"
    began = anyio.Event()

    @tk.tool(approval="always")
    async def refund(amount: int) -> str:
        """Refund."""
        began.set()
        await anyio.sleep_forever()
        return "never"

    api = MessagesAPI(script(reply(call("refund", {"amount": 500}, id="toolu_r")), "ok"))
    agent = make(api, tools=[refund])
    async with agent.open(url) as keeper, anyio.create_task_group() as group:
        await (await keeper.conversation("c")).send("go")
        (waiting,) = await keeper.approvals.list()
        await keeper.approvals.edit(waiting.id, by=ANA, input={"amount": 80})
        group.start_soon(keeper.recover)
        await began.wait()
        group.cancel_scope.cancel()
    async with agent.open(url) as keeper:
        assert [found.status for found in await keeper.recover()] == [tk.TurnStatus.AWAITING_RESOLUTION]
        await keeper.outcomes.happened("c", "toolu_r", by=ANA, result=result)
        assert [found.text for found in await keeper.recover()] == ["ok"]
    (block,) = sent(api, 1)["messages"][-1]["content"]
    assert (block["tool_use_id"], block["content"]) == ("toolu_r", told)
    api.assert_all_accepted()
