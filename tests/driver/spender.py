"""A process that sends messages in a conversation under a daily budget: `python -m tests.driver.spender …`."""

from __future__ import annotations

import asyncio
import sys
from decimal import Decimal

import turnkeeper as tk

__all__ = ("main",)


async def spend(journal: str, api: str, name: str, usd: str, turns: int) -> None:
    """Print each turn's status; begins when a line comes in."""
    limits = tk.Limits(usd_per_day=Decimal(usd), principal_usd_per_day=Decimal(usd))
    agent = tk.Agent(model="claude-opus-4-8", max_tokens=1000, base_url=api, api_key="k", cache=False, limits=limits)
    async with agent.open(journal) as keeper:
        conversation = await keeper.conversation(name, principal=tk.Principal("customer", "Ольга"))
        print("ready", flush=True)  # noqa: T201
        await asyncio.to_thread(sys.stdin.readline)
        for _ in range(turns):
            reply = await conversation.send("Hi")
            print(reply.status, reply.reason, flush=True)  # noqa: T201


def main() -> None:
    """The command line: journal, API, conversation, USD a day, turns."""
    journal, api, name, usd, turns = sys.argv[1:]
    asyncio.run(spend(journal, api, name, usd, int(turns)))


if __name__ == "__main__":
    main()
