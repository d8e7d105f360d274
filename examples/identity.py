"""A customer of TechNova Desk who is nobody at first, proves who they are with a code, and cancels an order.

The model here is the practice model; the desk, its door and its database are real.
"""

from __future__ import annotations

import asyncio
import re
import tempfile

import turnkeeper as tk
from turnkeeper import desk, testing


class Mailbox:
    """A courier that keeps what it carries, as the customer's mailbox would."""

    def __init__(self) -> None:
        self.last = ""

    def send(self, notice: desk.Notice) -> None:
        """Take a message in."""
        self.last = notice.text


async def main() -> None:
    """Ask, prove, go on, leave."""
    mailbox = Mailbox()
    with (
        tempfile.TemporaryDirectory() as folder,
        desk.open_database(f"sqlite:///{folder}/desk.db") as records,
        desk.Door(records, {"email": mailbox, "phone": mailbox}, at_once=True) as door,
    ):
        agent = desk.customer_agent(records, door, client=testing.MessagesAPI(practice=True))
        async with agent.open(records.journal_url) as keeper:
            visitor = door.enter()
            conversation = await keeper.conversation("c-1", principal=visitor)

            reply = await conversation.send("Please cancel order 13579. My e-mail is john@gmail.com")
            assert [call.name for call in reply.calls] == ["send_code"]
            order = records.order("13579")
            assert order is not None
            assert order.status == "Processing"

            code = re.findall(r"\d{6}", mailbox.last)[0]  # the customer reads it, and enters it in a form
            confirmed = door.confirm(visitor, "c-1", code)
            assert confirmed.principal == tk.Principal("customer", "1213210", "confirmed")

            reply = await conversation.send("✓")
            print(desk.extract_reply(reply.text))
            order = records.order("13579")
            assert order is not None
            assert order.status == "Cancelled"

            reply = await conversation.send("And order 47652")  # somebody else's: not there
            assert "47652" in reply.text
            assert "find" in reply.text

            door.leave(visitor)
            try:
                await conversation.send("What did I order?")
            except tk.errors.UnconfirmedError as refused:
                print(refused)
            else:
                raise AssertionError("the next person at this screen is somebody else")


asyncio.run(main())
