"""A process in the middle of a call that lasts until a line comes in: `python -m tests.driver.busy JOURNAL LEDGER`."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import turnkeeper as tk
from turnkeeper.errors import ConversationBusyError
from turnkeeper.testing import MessagesAPI, call, script

__all__ = ("main",)


async def work(journal: str, ledger: Path) -> None:
    """Print `under way` from inside of the call, and what became of the turn in the end."""

    @tk.tool(effect="once")
    def pay(order: int) -> str:
        """Pay an order."""
        print("under way", flush=True)  # noqa: T201
        sys.stdin.readline()
        ledger.write_text(f"{ledger.read_text() if ledger.exists() else ''}paid {order}\n", encoding="utf-8")
        return "paid"

    api = MessagesAPI(script(call("pay", {"order": 7}), "Bezahlt."))
    agent = tk.Agent(model="claude-opus-4-8", max_tokens=1000, client=api, tools=[pay])
    async with agent.open(journal) as keeper:
        conversation = await keeper.conversation("c")
        try:
            reply = await conversation.send("Bitte bezahlen", key="first")
        except ConversationBusyError as error:
            print(f"{type(error).__name__}: {error}", flush=True)  # noqa: T201
        else:
            print(reply.status, reply.text, flush=True)  # noqa: T201


def main() -> None:
    """The command line: the journal's URL, the file that the call writes to."""
    asyncio.run(work(sys.argv[1], Path(sys.argv[2])))


if __name__ == "__main__":
    main()
