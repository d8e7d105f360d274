"""Turnkeeper on SQLite, with the effect that a tool has if it says nothing: `once`.

    pip install turnkeeper

Where the outcome is unknown, a person looks at the ledger and says what became of the call.
"""

from __future__ import annotations

from pathlib import Path

import anyio

import turnkeeper as tk
from benchmarks.crash.story import DESCRIPTION, MESSAGES, MODEL, TOOL, between_messages, effect, play

ANA = tk.Principal("staff", "ana")


def converse(base_url: str, folder: Path) -> str:
    return anyio.run(_converse, base_url, folder)


async def _converse(base_url: str, folder: Path) -> str:
    letter = tk.tool(effect, name=TOOL, description=DESCRIPTION)
    agent = tk.Agent(model=MODEL, max_tokens=1000, tools=[letter], base_url=base_url, api_key="key")
    async with agent.open(f"sqlite:///{folder}/journal.db") as keeper:
        await keeper.recover()
        for unknown in await keeper.outcomes.list():
            if (folder / "ledger").exists():
                said = "The letter about order 24601 is sent."
                await keeper.outcomes.happened("c-1", unknown.call_id, by=ANA, result=said)
            else:
                await keeper.outcomes.did_not_happen("c-1", unknown.call_id, by=ANA)
        await keeper.recover()
        conversation = await keeper.conversation("c-1")
        answer = ""
        for number, text in enumerate(MESSAGES):
            if number:
                between_messages()
            try:
                answer = (await conversation.send(text, key=f"message-{number}")).text
            except tk.errors.InputError:
                continue  # answered in an earlier turn
    return answer


if __name__ == "__main__":
    play(converse, "turnkeeper", "anthropic")
