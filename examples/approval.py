"""A person in the middle: a refund above 100 waits for a decision, in any process, for as long as it takes."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio

import turnkeeper as tk
from turnkeeper import testing

refunds: list[int] = []


def above_100(arguments: Mapping[str, Any], principal: tk.Principal | None, conversation_id: str) -> str:
    """The policy: the reason for asking a person, empty where nobody needs to be asked."""
    del principal, conversation_id
    return "more than 100" if arguments["amount"] > 100 else ""


@tk.tool(approval=above_100)
def refund(order: str, amount: int) -> str:
    """Refund an order.

    Args:
        order: Its number.
        amount: In whole euros.
    """
    refunds.append(amount)
    return f"refunded {amount} for {order}"


async def main() -> None:
    """Ask for a refund; it waits; staff lowers the amount; the turn goes on."""
    asked = testing.reply(testing.call("refund", {"order": "24601", "amount": 500}))
    api = testing.MessagesAPI(testing.script(asked, "We have refunded 80 euros."))
    agent = tk.Agent(tools=[refund], client=api)
    customer, staff = tk.Principal("customer", "1213210"), tk.Principal("staff", "ana")
    with tempfile.TemporaryDirectory() as folder:
        url = f"sqlite:///{Path(folder) / 'journal.db'}"

        async with agent.open(url) as keeper:
            conversation = await keeper.conversation("c-1", principal=customer)
            reply = await conversation.send("I want my 500 euros back.")
            assert reply.status is tk.TurnStatus.AWAITING_APPROVAL

        async with agent.open(url) as keeper:
            (waiting,) = await keeper.approvals.list()
            print(waiting.tool, waiting.input, waiting.policy)
            await keeper.approvals.edit(waiting.id, by=staff, input={"order": "24601", "amount": 80})
            (reply,) = await keeper.recover()

    print(reply.text)
    assert refunds == [80]
    assert reply.status is tk.TurnStatus.COMPLETED
    api.assert_all_accepted()


if __name__ == "__main__":
    anyio.run(main)
