"""Which calls wait for a person, what that person is shown, and what comes of each decision."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

import turnkeeper as tk
from turnkeeper import desk
from turnkeeper.desk.domain import OrderStatus
from turnkeeper.desk.record import SYSTEM, Actor
from turnkeeper.errors import ApprovalRefusedError
from turnkeeper.testing import MessagesAPI, call, reply, script

pytestmark = pytest.mark.anyio

ANA, BEN = tk.Principal("staff", "ana"), tk.Principal("staff", "ben")
PRIYA = tk.Principal("customer", "2837622", level="signed-in")
HEADPHONES = call("cancel_order", {"order_id": "28164"}, id="toolu_c")  # 2 x 79.99, hers
NEW_EMAIL = call("update_contact", {"customer_id": "2837622", "email": "priya@новая.рф"}, id="toolu_u")


def status(database: desk.Desk, order_id: str) -> OrderStatus:
    found = database.order(order_id)
    assert found is not None
    return found.status


async def policies(
    database: desk.Desk, principal: tk.Principal | None, *calls: dict[str, Any], **settings: Any
) -> list[str]:
    """Why the calls of one reply wait, in their order; an empty list if none does."""
    api = MessagesAPI(script(reply(*calls), "Done."))
    async with desk.agent(database, client=api, **settings).open(database.journal_url) as keeper:
        found = await (await keeper.conversation("c-1", principal=principal)).send("Please.")
        waiting = await keeper.approvals.list()
    waits = found.status is tk.TurnStatus.AWAITING_APPROVAL
    assert waits == bool(waiting), found.reason
    return [one.policy for one in waiting]


async def test_a_customers_expensive_cancellation_and_any_new_contact_wait_and_nothing_is_changed_meanwhile(
    database: desk.Desk,
) -> None:
    assert await policies(database, PRIYA, HEADPHONES, NEW_EMAIL) == [
        "total above 100.00: order 28164, 2 x Wireless Headphones, 159.98 in total, Processing",
        "contact change",
    ]
    assert status(database, "28164") is OrderStatus.PROCESSING
    assert len(database.audit()) == 1, "asking what an order costs is not a lookup on anyone's behalf"


@pytest.mark.parametrize(
    ("above", "waits"),
    [("159.97", True), ("159.98", False), (Decimal(0), True), (160, False), ("1000", False)],
)
async def test_the_amount_can_be_set_and_is_not_above_itself(database: desk.Desk, above: Any, waits: bool) -> None:
    assert bool(await policies(database, PRIYA, HEADPHONES, approve_above=above)) is waits


async def test_staff_decide_for_themselves(database: desk.Desk) -> None:
    assert await policies(database, ANA, HEADPHONES, NEW_EMAIL) == []
    assert status(database, "28164") is OrderStatus.CANCELLED
    assert [line.outcome for line in database.audit()[1:]] == ["cancelled", "changed"]


async def test_with_four_eyes_another_member_of_staff_decides(database: desk.Desk) -> None:
    api = MessagesAPI(script(reply(HEADPHONES, NEW_EMAIL), "Сделано."))
    agent = desk.agent(database, client=api, four_eyes=True)
    async with agent.open(database.journal_url) as keeper:
        found = await (await keeper.conversation("c-1", principal=ANA)).send("Отмените 28164.")
        assert found.status is tk.TurnStatus.AWAITING_APPROVAL
    async with agent.open(database.journal_url) as keeper:
        cancel, change = await keeper.approvals.list()
        assert (cancel.tool, cancel.input, cancel.requester) == ("cancel_order", {"order_id": "28164"}, ANA)
        assert "2 x Wireless Headphones, 159.98 in total, Processing" in cancel.policy
        assert change.policy == "contact change"
        with pytest.raises(ApprovalRefusedError, match="staff 'ana' asked for this call and can't approve it"):
            await keeper.approvals.approve(cancel.id, by=ANA)
        with pytest.raises(ApprovalRefusedError, match="may not decide"):
            await keeper.approvals.approve(cancel.id, by=PRIYA)
        assert status(database, "28164") is OrderStatus.PROCESSING
        await keeper.approvals.approve(cancel.id, by=BEN, digest=cancel.digest)
        await keeper.approvals.deny(change.id, by=BEN, reason="not her address")
        (done,) = await keeper.recover()
    outcomes = {record.name: record.outcome for record in done.calls}
    assert (done.text, outcomes) == ("Сделано.", {"cancel_order": "succeeded", "update_contact": "denied"})
    assert status(database, "28164") is OrderStatus.CANCELLED
    # whoever asked stands in the audit; who decided, in the journal
    assert [(line.action, line.principal_id) for line in database.audit()[1:]] == [("cancel_order", "ana")]
    api.assert_all_accepted()


async def test_what_changed_since_the_question_is_seen_when_the_approved_call_runs(database: desk.Desk) -> None:
    agent = desk.agent(database, client=MessagesAPI(script(reply(HEADPHONES), "Too late.")), four_eyes=True)
    async with agent.open(database.journal_url) as keeper:
        conversation = await keeper.conversation("c-1", principal=ANA)
        await conversation.send("Cancel 28164.")
        (waiting,) = await keeper.approvals.list()
        assert waiting.policy_version == "staff 1, above 100.00, four eyes"
        with database.transaction(Actor(kind="staff", id="ben")) as repository:
            repository.cancel_order("28164")
        await keeper.approvals.approve(waiting.id, by=BEN)
        (record,) = (await conversation.resume()).calls
    assert (record.outcome, record.content) == ("failed", "Order 28164 is already Cancelled. Nothing was changed.")


@pytest.mark.parametrize(
    "order_id",
    [
        "97531",  # hers, 49.99
        "61984",  # 149.99, but Shipped, and not hers
        "47652",  # 199.99 and Processing, but another customer's
        "99999",
        "24601' OR '1'='1",
        "\u0000",
    ],
)
async def test_a_cancellation_that_would_be_refused_anyway_waits_for_nobody(database: desk.Desk, order_id: str) -> None:
    """Nor does a stranger learn, from a wait, that an order exists or what it costs."""
    assert await policies(database, PRIYA, call("cancel_order", {"order_id": order_id})) == []
    assert {line.outcome for line in database.audit()[1:]} == {"denied"}


async def test_staff_with_four_eyes_are_not_asked_about_what_is_shipped(database: desk.Desk) -> None:
    assert await policies(database, ANA, call("cancel_order", {"order_id": "61984"}), four_eyes=True) == []
    assert [line.outcome for line in database.audit()[1:]] == ["refused"]


async def test_an_amount_that_is_none_and_four_eyes_that_know_nobody_are_refused(database: desk.Desk) -> None:
    for wrong in (100.0, "much", Decimal("NaN"), -1, "0.001", True, None):
        with pytest.raises(tk.errors.ConfigurationError, match="approve_above: "):
            desk.tools(database, approve_above=wrong)  # type: ignore[arg-type]
    with pytest.raises(tk.errors.ConfigurationError, match="four_eyes needs to know who asked"):
        desk.agent(database, client=MessagesAPI(script("x")), four_eyes=True, principal=ANA)


async def test_a_policy_that_cannot_look_asks_rather_than_runs(database: desk.Desk) -> None:
    with database.transaction(SYSTEM) as repository:
        repository._connection.exec_driver_sql("ALTER TABLE desk_orders RENAME COLUMN quantity TO pieces")
    assert await policies(database, PRIYA, HEADPHONES) == ["expensive_cancellation failed"]
