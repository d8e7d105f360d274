"""Functions that an application brings, and that may hang: approval policies, and those that ask the world."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import anyio
import anyio.to_thread
import pytest

import turnkeeper as tk
from tests.driver.conftest import agent_over
from turnkeeper.driver import policies, recovery
from turnkeeper.testing import MessagesAPI, call, reply, script

pytestmark = pytest.mark.anyio


class Hung:
    """A sync function that gives an answer only when it is let go."""

    def __init__(self) -> None:
        self.began = threading.Event()
        self.let_go = threading.Event()
        self.ended = threading.Event()

    def ask(self) -> bool:
        self.began.set()
        self.let_go.wait(20)
        self.ended.set()
        return False


@pytest.fixture
def hung() -> Iterator[Hung]:
    one = Hung()
    yield one
    one.let_go.set()


def paying(policy: Any) -> tk.Tool:
    @tk.tool(approval=policy)
    def pay(amount: int) -> str:
        """Pay."""
        return f"paid {amount}"

    return pay


def asked_to_pay() -> MessagesAPI:
    return MessagesAPI(script(reply(call("pay", {"amount": 7})), "ok"))


async def test_a_turn_is_cancelled_while_a_policy_hangs(hung: Hung) -> None:
    def slow(arguments: Any, principal: Any, conversation: str) -> bool:
        return hung.ask()

    async with agent_over(asked_to_pay(), tools=[paying(slow)]).open() as keeper:
        conversation = await keeper.conversation("c")
        found: list[tk.Reply] = []

        async def run() -> None:
            found.append(await conversation.send("pay 7"))

        async with anyio.create_task_group() as group:
            group.start_soon(run)
            assert await anyio.to_thread.run_sync(hung.began.wait, 20)
            await conversation.cancel()
        assert [one.status for one in found] == [tk.TurnStatus.CANCELLED]
        assert not hung.ended.is_set()


async def test_a_policy_that_takes_too_long_asks_for_approval(hung: Hung, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(policies, "POLICY_SECONDS", 0.05)

    def slow(arguments: Any, principal: Any, conversation: str) -> bool:
        return hung.ask()

    async def slow_too(arguments: Any, principal: Any, conversation: str) -> bool:
        await anyio.sleep_forever()
        return False

    for policy in (slow, slow_too):
        async with agent_over(asked_to_pay(), tools=[paying(policy)]).open() as keeper:
            found = await (await keeper.conversation("c")).send("pay 7")
            assert found.status is tk.TurnStatus.AWAITING_APPROVAL
            (waiting,) = await keeper.approvals.list()
            assert waiting.policy == f"{policy.__name__} took too long"
    assert not hung.ended.is_set()


class Ask:
    """An async policy with a state of its own."""

    def __init__(self, *, above: int) -> None:
        self.above = above

    async def __call__(self, arguments: Any, principal: Any, conversation: str) -> bool:
        return bool(arguments["amount"] > self.above)


@pytest.mark.parametrize(("above", "status"), [(5, "awaiting_approval"), (10, "completed")])
async def test_an_async_callable_object_is_a_policy(above: int, status: str) -> None:
    async with agent_over(asked_to_pay(), tools=[paying(Ask(above=above))]).open() as keeper:
        found = await (await keeper.conversation("c")).send("pay 7")
        assert found.status == status


async def test_an_outcome_stays_unknown_where_the_world_does_not_answer_in_time(
    hung: Hung, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recovery, "RECONCILE_SECONDS", 0.05)

    def happened(ctx: tk.ToolContext) -> str | None:
        return None if hung.ask() else "it did"

    @tk.tool(effect="reconcile", reconcile=happened)
    def pay(amount: int) -> str:
        """Pay."""
        return "paid"

    context = tk.ToolContext()
    with anyio.fail_after(10):
        assert await recovery.ask_the_world(pay, {"amount": 7}, context) is None
    assert context.cancelled
    assert not hung.ended.is_set()
