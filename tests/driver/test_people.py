"""People in the middle: approvals and unknown outcomes, over every journal, across restarts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import pytest

import turnkeeper as tk
from tests.driver.conftest import Make, sent
from turnkeeper.errors import (
    ApprovalDecidedError,
    ApprovalExpiredError,
    ApprovalRefusedError,
    ArgumentsRejectedError,
    ConversationBusyError,
    UnknownApprovalError,
)
from turnkeeper.testing import FixedClock, MessagesAPI, call, reply, script
from turnkeeper.updates import ApprovalNeeded, TurnEnded

pytestmark = pytest.mark.anyio

ANA = tk.Principal("staff", "ana")
JOHN = tk.Principal("customer", "1213210")


class Shop:
    """A refund tool that asks above 100, and one that never asks."""

    def __init__(self) -> None:
        self.refunds: list[tuple[str, int]] = []

    def tools(self) -> list[tk.Tool]:
        def above_100(arguments: Any, principal: Any, conversation: str) -> str:
            return "more than 100" if arguments["amount"] > 100 else ""

        @tk.tool(approval=above_100)
        def refund(order: str, amount: int) -> str:
            """Refund an order."""
            self.refunds.append((order, amount))
            return f"{amount} вернули"

        @tk.tool(effect="read")
        def status(order: str) -> str:
            """Status."""
            return "Shipped"

        return [refund, status]


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/journal.db"


def asks(amount: int = 500) -> dict[str, Any]:
    return reply(
        call("refund", {"order": "24601", "amount": amount}, id="toolu_r"),
        call("status", {"order": "13579"}, id="toolu_s"),
    )


def results(api: MessagesAPI, number: int) -> dict[str, tuple[bool, str]]:
    blocks = sent(api, number)["messages"][-1]["content"]
    return {b["tool_use_id"]: (bool(b.get("is_error")), b["content"]) for b in blocks if b["type"] == "tool_result"}


async def parked(make: Make, url: str, shop: Shop, *replies: Any, clock: FixedClock | None = None) -> MessagesAPI:
    """A conversation of John's that waits for an approval, its process gone."""
    api = MessagesAPI(script(asks(), *replies))
    async with make(api, tools=shop.tools(), clock=clock).open(url) as keeper:
        found = await (await keeper.conversation("c", principal=JOHN)).send("refund 24601")
        assert (found.status, found.text) == (tk.TurnStatus.AWAITING_APPROVAL, "")
    return api


async def test_a_call_over_the_policy_waits_its_sibling_runs_and_a_decision_elsewhere_lets_it_go_on(
    make: Make, url: str
) -> None:
    shop = Shop()
    api = await parked(make, url, shop, "Done.")
    assert shop.refunds == []
    async with make(api, tools=shop.tools()).open(url) as keeper:
        (waiting,) = await keeper.approvals.list()
        assert (waiting.tool, waiting.input, waiting.policy) == (
            "refund",
            {"order": "24601", "amount": 500},
            "more than 100",
        )
        assert (waiting.requester, waiting.conversation_id) == (JOHN, "c")
        await keeper.approvals.approve(waiting.id, by=ANA, digest=waiting.digest)
        assert await keeper.approvals.list() == []
        assert shop.refunds == []
        found = await (await keeper.conversation("c", principal=JOHN)).resume()
    assert (found.status, found.text, shop.refunds) == (tk.TurnStatus.COMPLETED, "Done.", [("24601", 500)])
    assert results(api, 1) == {"toolu_r": (False, "500 вернули"), "toolu_s": (False, "Shipped")}
    assert len(api.requests) == 2
    api.assert_all_accepted()


async def test_below_the_policy_nobody_is_asked(make: Make, url: str) -> None:
    shop = Shop()
    api = MessagesAPI(script(asks(50), "Done."))
    async with make(api, tools=shop.tools()).open(url) as keeper:
        assert (await (await keeper.conversation("c")).send("go")).text == "Done."
    assert shop.refunds == [("24601", 50)]


async def test_recover_goes_on_with_what_was_decided_while_nobody_ran(make: Make, url: str) -> None:
    shop = Shop()
    api = await parked(make, url, shop, "Done.")
    async with make(api, tools=shop.tools()).open(url) as keeper:
        assert await keeper.recover() == ()
        (waiting,) = await keeper.approvals.list()
        await keeper.approvals.approve(waiting.id, by=ANA)
        (found,) = await keeper.recover()
        assert (found.text, found.conversation_id) == ("Done.", "c")
        assert await keeper.recover() == ()
    assert shop.refunds == [("24601", 500)]


async def test_a_denial_reaches_the_model_with_its_reason_and_nothing_runs(make: Make, url: str) -> None:
    shop = Shop()
    api = await parked(make, url, shop, "Sorry.")
    async with make(api, tools=shop.tools()).open(url) as keeper:
        (waiting,) = await keeper.approvals.list("c")
        await keeper.approvals.deny(waiting.id, by=ANA, reason="слишком много")
        found = await (await keeper.conversation("c", principal=JOHN)).resume()
    assert found.text == "Sorry."
    assert [record.outcome for record in found.calls] == ["succeeded", "denied"]
    assert results(api, 1)["toolu_r"] == (True, "Not run: a person refused this call. Reason: слишком много")
    assert shop.refunds == []


async def test_an_edit_is_validated_runs_and_the_model_is_told_both(make: Make, url: str) -> None:
    shop = Shop()
    api = await parked(make, url, shop, "Less, then.")
    async with make(api, tools=shop.tools()).open(url) as keeper:
        (waiting,) = await keeper.approvals.list()
        with pytest.raises(ArgumentsRejectedError, match="amount"):
            await keeper.approvals.edit(waiting.id, by=ANA, input={"order": "24601", "amount": "viel"})
        await keeper.approvals.edit(waiting.id, by=ANA, input={"order": "24601", "amount": 80})
        await (await keeper.conversation("c", principal=JOHN)).resume()
    assert shop.refunds == [("24601", 80)]
    assert results(api, 1)["toolu_r"] == (
        False,
        "A person changed the arguments of this call before it ran. It ran with:"
        ' {"order":"24601","amount":80}\n80 вернули',
    )
    api.assert_all_accepted()


async def test_an_approval_that_nobody_decides_in_time_counts_as_denied(make: Make, url: str) -> None:
    shop, clock = Shop(), FixedClock()
    api = await parked(make, url, shop, "Too late.", clock=clock)
    async with make(api, tools=shop.tools(), clock=clock).open(url) as keeper:
        conversation = await keeper.conversation("c", principal=JOHN)
        assert (await conversation.resume()).status is tk.TurnStatus.AWAITING_APPROVAL
        (waiting,) = await keeper.approvals.list()
        clock.advance(24 * 3600)
        assert await keeper.approvals.list() == []
        with pytest.raises(ApprovalExpiredError, match="has expired"):
            await keeper.approvals.approve(waiting.id, by=ANA)
        assert (await conversation.resume()).text == "Too late."
    assert results(api, 1)["toolu_r"][1] == "Not run: this call needed a person's approval and got none in time."
    assert shop.refunds == []


async def test_who_may_not_decide_changes_nothing(make: Make, url: str) -> None:
    shop = Shop()
    api = await parked(make, url, shop, "Done.")
    async with make(api, tools=shop.tools()).open(url) as keeper:
        (waiting,) = await keeper.approvals.list()
        events = len(await keeper.journal.read("c"))
        with pytest.raises(ApprovalRefusedError, match="asked for this call and can't approve it"):
            await keeper.approvals.approve(waiting.id, by=JOHN)
        with pytest.raises(ApprovalRefusedError, match="may not decide on refund"):
            await keeper.approvals.approve(waiting.id, by=tk.Principal("customer", "9603481"))
        with pytest.raises(ApprovalRefusedError, match="the digest is not that"):
            await keeper.approvals.approve(waiting.id, by=ANA, digest="0" * 64)
        with pytest.raises(UnknownApprovalError, match="no approval 'toolu_x@c'"):
            await keeper.approvals.approve("toolu_x@c", by=ANA)
        assert len(await keeper.journal.read("c")) == events
        assert await keeper.approvals.list() == [waiting]


async def test_a_decision_counts_once(make: Make, url: str) -> None:
    """Report A20-approval-state-deleted-before-resume-succeeded.

    https://github.com/renjian-pro/AgentTrail/issues/114
    """
    shop = Shop()
    api = await parked(make, url, shop, "Done.")
    async with make(api, tools=shop.tools()).open(url) as keeper:
        (waiting,) = await keeper.approvals.list()
        await keeper.approvals.approve(waiting.id, by=ANA)
        for _ in range(2):
            with pytest.raises((ApprovalDecidedError, UnknownApprovalError)):
                await keeper.approvals.approve(waiting.id, by=ANA)
            with pytest.raises((ApprovalDecidedError, UnknownApprovalError)):
                await keeper.approvals.deny(waiting.id, by=ANA)
        await (await keeper.conversation("c", principal=JOHN)).resume()
    assert shop.refunds == [("24601", 500)]


async def test_two_people_at_once_decide_once(make: Make, url: str) -> None:
    shop = Shop()
    api = await parked(make, url, shop, "Done.")
    ended: list[str] = []
    async with make(api, tools=shop.tools()).open(url) as keeper:
        (waiting,) = await keeper.approvals.list()

        async def decide(how: str) -> None:
            try:
                await getattr(keeper.approvals, how)(waiting.id, by=ANA)
                ended.append(how)
            except (ApprovalDecidedError, UnknownApprovalError, ConversationBusyError):
                ended.append("late")

        async with anyio.create_task_group() as group:
            group.start_soon(decide, "approve")
            group.start_soon(decide, "deny")
        await (await keeper.conversation("c", principal=JOHN)).resume()
    assert sorted(ended) in (["approve", "late"], ["deny", "late"])
    assert len(shop.refunds) == ("approve" in ended)


async def test_the_reader_is_told_what_waits(make: Make, url: str) -> None:
    shop = Shop()
    api = MessagesAPI(script(asks()))
    async with make(api, tools=shop.tools()).open(url) as keeper:
        conversation = await keeper.conversation("c", principal=JOHN)
        updates = [update async for update in conversation.send("go")]
        (needed,) = [update for update in updates if isinstance(update, ApprovalNeeded)]
        assert (needed.name, needed.policy, needed.call_id) == ("refund", "more than 100", "toolu_r")
        assert isinstance(updates[-1], TurnEnded)
        assert updates[-1].status is tk.TurnStatus.AWAITING_APPROVAL
        assert conversation.status is tk.TurnStatus.AWAITING_APPROVAL
        (summary,) = await keeper.list()
        assert summary.status == "awaiting_approval"


async def test_a_message_while_a_call_waits_is_refused_or_closes_it_by_option(make: Make, url: str) -> None:
    shop = Shop()
    api = await parked(make, url, shop, "All right.")
    async with make(api, tools=shop.tools()).open(url) as keeper:
        conversation = await keeper.conversation("c", principal=JOHN)
        with pytest.raises(ConversationBusyError, match="awaiting_approval: decide first"):
            await conversation.send("hello?")
        assert (await conversation.send("forget it", when_busy="interrupt")).text == "All right."
        assert await keeper.approvals.list() == []
    assert results(api, 1)["toolu_r"] == (
        True,
        "Not run: this call was waiting for a person's approval, and the conversation went on without it.",
    )
    assert shop.refunds == []
    api.assert_all_accepted()


async def test_arguments_changed_in_the_journal_after_approval_are_not_run(make: Make, url: str) -> None:
    import sqlite3

    shop = Shop()
    api = await parked(make, url, shop, "Done.")
    async with make(api, tools=shop.tools()).open(url) as keeper:
        (waiting,) = await keeper.approvals.list()
        await keeper.approvals.approve(waiting.id, by=ANA)
    with sqlite3.connect(url.removeprefix("sqlite:///")) as database:
        changed = "UPDATE turnkeeper_events SET payload = replace(payload, '500', '900')"
        assert database.execute(changed).rowcount > 0
    database.close()
    with pytest.raises(tk.errors.JournalError, match="conversation 'c'"):
        async with make(api, tools=shop.tools()).open(url) as keeper:
            await (await keeper.conversation("c", principal=JOHN)).resume()
    assert shop.refunds == []


async def test_two_replies_of_one_turn_may_each_ask(make: Make, url: str) -> None:
    shop = Shop()
    again = reply(call("refund", {"order": "1", "amount": 300}, id="toolu_2"))
    api = MessagesAPI(script(asks(), again, "Done."))
    async with make(api, tools=shop.tools()).open(url) as keeper:
        conversation = await keeper.conversation("c", principal=JOHN)
        await conversation.send("refund both")
        for amount in (500, 300):
            (waiting,) = await keeper.approvals.list()
            assert waiting.input["amount"] == amount
            await keeper.approvals.approve(waiting.id, by=ANA)
            with pytest.raises(ApprovalDecidedError, match="decided already"):
                await keeper.approvals.deny(waiting.id, by=ANA)
            found = await conversation.resume()
    assert (found.text, [amount for _, amount in shop.refunds]) == ("Done.", [500, 300])
