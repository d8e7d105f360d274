"""Whole turns over a journal in a database: locks come before effects, and tools run outside of transactions."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

import turnkeeper as tk
from turnkeeper import testing
from turnkeeper.journal import open_journal
from turnkeeper.journal.errors import JournalLockedError

pytestmark = pytest.mark.anyio


def agent_with(*tools: object, replies: int = 2) -> tk.Agent:
    """An agent whose model calls `work` once in each turn."""
    turn = (testing.call("work", {}), testing.text("Готово 🙂"))
    api = testing.MessagesAPI(testing.script(*turn * replies))
    return tk.Agent(model="claude-opus-4-8", max_tokens=1000, client=api, tools=list(tools))


async def test_another_program_can_write_while_a_tool_runs(tmp_path: Path) -> None:
    """Report B15-sqlite-locked.

    https://github.com/mem0ai/mem0/issues/7196
    """
    path = tmp_path / "journal.db"
    wrote: list[int] = []

    @tk.tool
    def work() -> str:
        """Do the work."""
        other = sqlite3.connect(path, timeout=0, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        wrote.append(other.execute("UPDATE turnkeeper_conversations SET title = title").rowcount)
        other.execute("COMMIT")
        other.close()
        return "done"

    async with agent_with(work).open(f"sqlite:///{path}") as keeper:
        conversation = await keeper.conversation("c-1")
        assert (await conversation.send("go")).status == "completed"
    assert wrote == [1]


async def test_a_lock_that_is_held_too_long_stops_a_turn_before_its_effects(tmp_path: Path) -> None:
    """Report B15-sqlite-locked.

    https://github.com/mem0ai/mem0/issues/7196
    """
    path = tmp_path / "journal.db"
    effects: list[str] = []

    @tk.tool
    def work() -> str:
        """Do the work."""
        effects.append("done")
        return "done"

    url = f"sqlite:///{path}?timeout=0.1"
    agent = agent_with(work)
    async with agent.open(url) as keeper:
        conversation = await keeper.conversation("c-1")
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(JournalLockedError, match="Try again"):
            await conversation.send("go")
        assert effects == []
        other.execute("ROLLBACK")
        other.close()
    async with agent.open(url) as keeper:
        conversation = await keeper.conversation("c-1")
        assert (await conversation.send("go")).status == "completed"
    assert effects == ["done"]
    journal = await open_journal(url)
    assert await journal.verify("c-1") == []
    assert await journal.unfinished(now=0) == []
    await journal.aclose()


async def test_a_conversation_goes_on_in_another_journal(database_url: str, tmp_path: Path) -> None:
    @tk.tool
    def work() -> str:
        """Do the work."""
        return "done"

    agent = agent_with(work)
    async with agent.open(database_url) as keeper:
        await (await keeper.conversation("c-1", principal=tk.Principal("customer", "7"))).send("erst hier")
        text = await keeper.journal.export("c-1")
    elsewhere = await open_journal(f"sqlite:///{tmp_path}/elsewhere.db")
    await elsewhere.import_(text)
    async with agent.open(elsewhere) as keeper:
        conversation = await keeper.conversation("c-1", principal=tk.Principal("customer", "7"))
        assert (await conversation.send("dann dort")).status == "completed"
        assert [message["role"] for message in conversation.messages] == ["user", "assistant"] * 4
        (summary,) = await elsewhere.conversations()
    assert (summary.turns, summary.title, summary.status) == (2, "erst hier", "completed")
    await elsewhere.aclose()
