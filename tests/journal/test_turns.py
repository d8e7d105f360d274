"""Whole turns over a journal in a database: locks come before effects, and tools run outside of transactions."""

from __future__ import annotations

import sqlite3
import time
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

import turnkeeper as tk
from tests.journal.proxy import proxy_to
from turnkeeper import testing
from turnkeeper.journal import open_journal
from turnkeeper.journal.errors import JournalLockedError, JournalStorageError, JournalUnreachableError

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


async def test_a_full_disk_stops_a_turn_before_its_effects(tmp_path: Path) -> None:
    effects: list[str] = []
    pages = {"limit": 2**30}

    def restrict(connection: Any, *_: Any) -> None:
        connection.execute(f"PRAGMA max_page_count = {pages['limit']}")

    @tk.tool
    def work() -> str:
        """Do the work."""
        effects.append("done")
        return "done"

    url = f"sqlite:///{tmp_path}/journal.db"
    agent = agent_with(work)
    sa.event.listen(sa.Engine, "checkout", restrict)
    try:
        async with agent.open(url) as keeper:
            conversation = await keeper.conversation("c-1")
            pages["limit"] = 1  # as many as there are already: SQLite takes it for that
            with pytest.raises(JournalStorageError, match="disk is full"):
                await conversation.send("go" + "🙂" * 10_000)
            assert effects == []
            pages["limit"] = 2**30
            assert (await conversation.send("go")).status == "completed"
            assert await keeper.journal.verify("c-1") == []
    finally:
        sa.event.remove(sa.Engine, "checkout", restrict)
    assert effects == ["done"]


async def test_a_server_that_goes_away_in_a_turn_stops_it_before_its_effects(postgres_database: str) -> None:
    effects: list[str] = []
    place = sa.make_url(postgres_database)
    with proxy_to(str(place.host), int(place.port or 0)) as (proxy, through):

        def goes_away(*_: object) -> bool:
            """Asked between the reply and the call."""
            proxy.refuse = True
            proxy.cut_at("", "before", times=100)
            return False

        @tk.tool(approval=goes_away)
        def work() -> str:
            """Do the work."""
            effects.append("done")
            return "done"

        async with agent_with(work).open(through(postgres_database)) as keeper:
            conversation = await keeper.conversation("c-1")
            with pytest.raises(JournalUnreachableError):
                await conversation.send("go")
            assert effects == []
        assert proxy.cuts >= 1

    @tk.tool(name="work")
    def sound_work() -> str:
        """Do the work."""
        effects.append("done")
        return "done"

    # the reply could not be kept either, so the model is asked again
    api = testing.MessagesAPI(testing.script(testing.call("work", {}), testing.text("Готово 🙂")))
    later = time.time() + 3600  # the lease could not be given back
    agent = tk.Agent(model="claude-opus-4-8", max_tokens=1000, client=api, tools=[sound_work], clock=lambda: later)
    async with agent.open(postgres_database) as keeper:
        (reply,) = await keeper.recover()
        assert (reply.status, reply.text, effects) == ("completed", "Готово 🙂", ["done"])
        assert await keeper.journal.verify("c-1") == []


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
