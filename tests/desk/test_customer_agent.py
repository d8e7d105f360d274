"""The customers' agent with the practice model, in each of its languages, and what it says of rules."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

import turnkeeper as tk
from turnkeeper import desk
from turnkeeper.testing import MessagesAPI

pytestmark = pytest.mark.anyio


class Mailbox:
    def __init__(self) -> None:
        self.last = ""

    def send(self, notice: desk.Notice) -> None:
        self.last = notice.text


@asynccontextmanager
async def at_the_door(folder: Path) -> AsyncIterator[tuple[desk.Desk, desk.Door, Mailbox, tk.Keeper]]:
    mail = Mailbox()
    with (
        desk.open_database(f"sqlite:///{folder}/desk.db") as records,
        desk.Door(records, {"email": mail}, at_once=True) as door,
    ):
        agent = desk.customer_agent(records, door, client=MessagesAPI(practice=True))
        async with agent.open(records.journal_url) as keeper:
            yield records, door, mail, keeper


WORDS = {
    "Please cancel order 13579. My email is john@gmail.com": ("in the form for codes", "is cancelled."),
    "Отмените, пожалуйста, заказ 13579. Моя почта john@gmail.com": ("в форме для кодов", "отмен"),
    "Bitte stornieren Sie Bestellung 13579. Meine E-Mail ist john@gmail.com": (
        "im Formular für Codes",
        "storniert",
    ),
    "Annulez la commande 13579, s'il vous plaît. Mon e-mail est john@gmail.com": ("dans le formulaire", "annulée"),
    "请取消订单13579，我的邮箱是john@gmail.com": ("验证码表单", "取消"),
}


@pytest.mark.parametrize("message", WORDS)
async def test_a_customer_is_understood_before_and_after_the_proof(tmp_path: Path, message: str) -> None:
    async with at_the_door(tmp_path) as (records, door, mail, keeper):
        visitor = door.enter()
        conversation = await keeper.conversation("c", principal=visitor)
        asked = await conversation.send(message)
        assert [(call.name, call.outcome) for call in asked.calls] == [("send_code", "succeeded")]
        assert WORDS[message][0] in asked.text
        code = re.findall(r"\d{6}", mail.last)[0]
        assert code not in asked.text
        assert door.confirm(visitor, "c", code).accepted
        done = await conversation.send("✓")
        assert [call.name for call in done.calls] == ["get_my_order", "cancel_my_order"]
        assert WORDS[message][1] in desk.extract_reply(done.text)
        order = records.order("13579")
        assert order is not None
        assert order.status == "Cancelled"


async def test_a_stranger_who_says_nothing_is_asked_and_rules_are_for_everybody(tmp_path: Path) -> None:
    async with at_the_door(tmp_path) as (_, door, mail, keeper):
        conversation = await keeper.conversation("c", principal=door.enter())
        assert "e-mail address, phone number or username" in (await conversation.send("Where is my order?")).text
        other = await keeper.conversation("c-2", principal=door.enter())
        found = await other.send("What are the shop rules on returns?")
        assert [(call.name, call.input) for call in found.calls] == [("shop_rules", {"topic": "returns"})]
        assert desk.RULES["returns"] in found.text
        assert mail.last == ""


async def test_what_comes_from_outside_is_read_and_a_card_waits(tmp_path: Path) -> None:
    """The account's name is the customer's own text: after it was read, cancelling waits for a click."""
    async with at_the_door(tmp_path) as (records, door, mail, keeper):
        visitor = door.enter()
        conversation = await keeper.conversation("c", principal=visitor)
        await conversation.send("Show my account, my email is john@gmail.com")
        who = door.confirm(visitor, "c", re.findall(r"\d{6}", mail.last)[0]).principal
        assert "John Doe" in (await conversation.send("✓")).text
        waits = await conversation.send("Cancel order 13579")
        assert waits.status is tk.TurnStatus.AWAITING_APPROVAL
        (card,) = await keeper.approvals.list("c")
        assert (card.tool, card.requester_level) == ("cancel_my_order", "confirmed")
        await keeper.approvals.approve(card.id, by=who, digest=card.digest)
        assert "cancelled" in (await conversation.resume()).text
        order = records.order("13579")
        assert order is not None
        assert order.status == "Cancelled"
