"""Turnkeeper on SQLite, with an effect in the journal's own database: `transactional`.

    pip install turnkeeper

At the end the rows are copied to the ledger, to be counted there.
"""

from __future__ import annotations

from pathlib import Path

import anyio
import sqlalchemy as sa

import turnkeeper as tk
from benchmarks.crash.story import DESCRIPTION, MESSAGES, MODEL, TOOL, between_messages, happen, note, play

TABLE = sa.text("CREATE TABLE IF NOT EXISTS letters (order_number TEXT NOT NULL)")
INSERT = sa.text("INSERT INTO letters VALUES (:order)")


@tk.tool(effect="transactional", name=TOOL, description=DESCRIPTION)
def letter(ctx: tk.ToolContext, order: str) -> str:
    return happen(order, lambda order: ctx.connection.execute(INSERT, {"order": order}))


def converse(base_url: str, folder: Path) -> str:
    database = sa.create_engine(f"sqlite:///{folder}/journal.db")
    with database.begin() as connection:
        connection.execute(TABLE)
    answer = anyio.run(_converse, base_url, folder)
    with database.begin() as connection:
        for (order,) in connection.execute(sa.text("SELECT order_number FROM letters")):
            note(order)
    return answer


async def _converse(base_url: str, folder: Path) -> str:
    agent = tk.Agent(model=MODEL, max_tokens=1000, tools=[letter], base_url=base_url, api_key="key")
    async with agent.open(f"sqlite:///{folder}/journal.db") as keeper:
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
