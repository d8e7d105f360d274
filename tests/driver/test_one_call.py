"""Where one call at a time is allowed, and replies with more calls than that, or than anyone means."""

from __future__ import annotations

import pytest

import turnkeeper as tk
from tests.driver.conftest import agent_over, sent
from turnkeeper.testing import MessagesAPI, call, reply, script

pytestmark = pytest.mark.anyio


async def test_where_one_call_at_a_time_is_allowed_the_others_of_a_reply_are_refused() -> None:
    """Not every endpoint keeps to `disable_parallel_tool_use`."""
    ran: list[int] = []

    def step(n: int) -> str:
        """Do one step."""
        ran.append(n)
        return f"шаг {n}"

    three = reply(*(call("step", {"n": n}, id=f"toolu_{n}") for n in range(3)))
    api = MessagesAPI(script(three, reply(call("step", {"n": 1})), "done"), strict=False)
    found = await agent_over(api, tools=[step], disable_parallel_tool_use=True).run("go")
    assert (found.text, ran) == ("done", [0, 1])
    assert [message["role"] for message in sent(api, 0)["messages"]] == ["user"]  # `auto` is not said in words
    assert sent(api, 0)["tool_choice"] == {"type": "auto", "disable_parallel_tool_use": True}
    first, *others = sent(api, 1)["messages"][2]["content"]
    assert (first["tool_use_id"], first["content"], "is_error" in first) == ("toolu_0", "шаг 0", False)
    assert [(one["tool_use_id"], one["is_error"]) for one in others] == [("toolu_1", True), ("toolu_2", True)]
    assert all(one["content"].startswith("Not run: only one call at a time may be made here") for one in others)
    assert found.warnings == ("3 calls in one reply, though only one was allowed: the first one counts",)


async def test_the_one_call_that_is_allowed_may_wait_for_a_person_alone() -> None:
    ran: list[int] = []

    @tk.tool(approval=lambda arguments: arguments["n"] == 0)
    def step(n: int) -> str:
        """Do one step."""
        ran.append(n)
        return "ok"

    api = MessagesAPI(script(reply(*(call("step", {"n": n}) for n in range(2))), "done"), strict=False)
    async with agent_over(api, tools=[step], disable_parallel_tool_use=True).open() as keeper:
        conversation = await keeper.conversation("c")
        assert (await conversation.send("go")).status is tk.TurnStatus.AWAITING_APPROVAL
        (waiting,) = await keeper.approvals.list()
        await keeper.approvals.approve(waiting.id, by=tk.Principal("staff", "ana"))
        assert (await conversation.resume()).text == "done"
    assert ran == [0]


async def test_a_reply_with_more_calls_than_anyone_means_is_left_out_and_its_turn_fails() -> None:
    ran: list[int] = []

    def step(n: int) -> str:
        """Do one step."""
        ran.append(n)
        return "ok"

    api = MessagesAPI(script(reply(*(call("step", {"n": n}) for n in range(1_001))), "never asked for"), strict=False)
    found = await agent_over(api, tools=[step]).run("go")
    assert (found.status, found.reason, ran, len(api.requests)) == (tk.TurnStatus.FAILED, "too_many_calls", [], 1)
    assert [message["role"] for message in found.messages] == ["user"]
    assert found.warnings == ("the reply stopped with 'tool_use': too many calls",)
