"""Ten thousand conversations that wait for a person cost rows and nothing else: no memory, no thread, no task."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
import tracemalloc
from dataclasses import astuple
from pathlib import Path

import pytest

import turnkeeper as tk
from turnkeeper import testing
from turnkeeper.core.events import Event
from turnkeeper.journal.chain import rows_of

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

MANY = 10_000


@tk.tool(approval="always")
def refund(order_id: str) -> str:
    """Refund an order.

    Args:
        order_id: The order.
    """
    return f"refunded {order_id}"


def multiplied(path: Path, first: list[Event]) -> None:
    """As many conversations like the one that is there, in a transaction."""
    file = sqlite3.connect(path)
    columns = [row[1] for row in file.execute("PRAGMA table_info(turnkeeper_conversations)") if row[1] != "id"]
    names = [f"c-{number}" for number in range(2, MANY + 1)]
    for name in names:
        file.execute(
            f"INSERT INTO turnkeeper_conversations (id, {', '.join(columns)}) "
            f"SELECT ?, {', '.join(columns)} FROM turnkeeper_conversations WHERE id = 'c-1'",
            (name,),
        )
    for name in names:
        rows = rows_of(name, first, after=0, previous="", token=1)
        file.executemany(
            "INSERT INTO turnkeeper_events VALUES (?, ?, ?, ?, ?, ?, ?, ?)", [(name, *astuple(row)) for row in rows]
        )
    file.commit()
    file.close()


async def test_ten_thousand_waiting_conversations_cost_neither_memory_nor_work(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    api = testing.MessagesAPI(testing.script(testing.call("refund", {"order_id": "№ 7"})))
    agent = tk.Agent(model="claude-opus-4-8", max_tokens=1000, client=api, tools=[refund])
    async with agent.open(f"sqlite:///{path}") as keeper:
        reply = await (await keeper.conversation("c-1")).send("Верните деньги 🙂")
        assert reply.status == "awaiting_approval"
        first = await keeper.journal.read("c-1")
    multiplied(path, first)
    async with agent.open(f"sqlite:///{path}") as keeper:
        # the first reading loads code and opens connections
        assert len(await keeper.journal.waiting(limit=1)) == 1
        threads, tasks = threading.active_count(), len(asyncio.all_tasks())
        tracemalloc.start()
        try:
            before, _ = tracemalloc.get_traced_memory()
            assert len(await keeper.journal.waiting(limit=50, offset=MANY - 20)) == 20
            assert len(await keeper.approvals.list(limit=50)) == 50
            assert await keeper.recoverable() == ()
            after, _ = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert after - before < 1_000_000
        assert (threading.active_count(), len(asyncio.all_tasks())) == (threads, tasks)
