"""Durable conversations with tools of MCP servers: a program killed in a call, another that goes on; workers."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest

import turnkeeper as tk
from tests.mcp.conftest import Small, agent_for, served, text
from turnkeeper.testing import MessagesAPI, call, reply, script
from turnkeeper.types import Principal

pytestmark = pytest.mark.anyio

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("effect", ["once", "idempotent"])
async def test_a_program_killed_in_a_call_and_another_that_goes_on(small: Small, tmp_path: Path, effect: str) -> None:
    """SIGKILL of the agent's own process: a `once` call waits for a person, an `idempotent` one has the same key."""
    journal = f"sqlite:///{tmp_path / 'journal.db'}"
    own: dict[str, Any] = {"effects": {"wait": effect}, "timeout": 30}
    command = [sys.executable, "-m", "tests.mcp.caller", journal, json.dumps(small.entry("keys", **own))]
    program = await asyncio.create_subprocess_exec(*command, cwd=ROOT)
    with anyio.fail_after(30):
        await small.noted("key")
        program.send_signal(signal.SIGKILL)
        await program.wait()
    (before,) = (note for note in small.notes if note.startswith("key"))
    with anyio.fail_after(10):
        await small.noted("ended")  # the server saw its client go
    small.ledger.unlink()

    api = MessagesAPI(script("It is done."))
    entry = small.entry("keys", **{**own, "timeout": 0.5})
    async with tk.mcp.connect({"small": entry}) as tools, agent_for(api, tools).open(journal) as keeper:
        (found,) = await keeper.recover()
        if effect == "once":
            assert found.status is tk.TurnStatus.AWAITING_RESOLUTION
            assert [note for note in small.notes if note.startswith("call")] == []
            (unknown,) = await keeper.outcomes.list()
            assert (unknown.tool, unknown.input) == ("small__wait", {"text": "раз"})
            staff = Principal("staff", "ana")
            await keeper.outcomes.happened("c-1", unknown.call_id, by=staff, result="it did happen")
            (found,) = await keeper.recover()
        else:
            assert [note for note in small.notes if note.startswith("key")] == [before]
        assert (found.status, found.text) == (tk.TurnStatus.COMPLETED, "It is done.")


@pytest.mark.slow
async def test_workers_run_turns_with_tools_of_servers(postgres_database: str) -> None:
    from turnkeeper.workers import open_dispatcher, serve_worker

    calls: list[tuple[str, Any]] = []
    api = MessagesAPI(script(reply(call("shop__price", {"item": "чай"})), "Three."))
    async with tk.mcp.connect({"shop": served({"price": text("3")}, calls=calls)}) as tools:
        agent = agent_for(api, tools)
        ready, stop = anyio.Event(), anyio.Event()

        async def work() -> None:
            await serve_worker(
                agent, postgres_database, stop=stop, ready=lambda _: ready.set(), poll_seconds=0.05, look_seconds=0.2
            )

        with anyio.fail_after(60):
            async with anyio.create_task_group() as group, open_dispatcher(postgres_database) as dispatcher:
                group.start_soon(work)
                await ready.wait()
                await dispatcher.post("c-1", "How much is tea?", key="m-1")
                async with agent.open(postgres_database) as keeper:
                    while [one.status for one in await keeper.list()] != ["completed"]:  # noqa: ASYNC110 - a worker's
                        await anyio.sleep(0.05)
                stop.set()
    assert calls == [("price", {"item": "чай"})]
