"""A server that dies, hangs or is killed in the middle of a call: a clear result, no second effect, no process left."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

import anyio
import pytest

import turnkeeper as tk
from tests.mcp.conftest import Small, agent_for, called
from turnkeeper.testing import MessagesAPI, call, reply, script
from turnkeeper.tools import run_call

SHELL = os.path.realpath("/bin/sh")
pytestmark = pytest.mark.anyio

UNKNOWN = (
    "The MCP server 'small' closed the connection while the call ran: its effect is unknown, it may have happened in"
    " whole, in part or not at all. It was not run again. Do not repeat it on your own; say that its outcome must be"
    " checked."
)


def is_running(pid: int) -> bool:
    """Whether the process is there; one that only waits to be collected is not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


async def test_a_call_ends_when_its_server_dies_and_is_not_made_again(small: Small) -> None:
    """Report B07-mcp-server-dies-mid-call.

    https://github.com/modelcontextprotocol/python-sdk/issues/1577
    """
    async with tk.mcp.connect({"small": small.entry(timeout=30)}) as tools:
        by_name = {tool.name: tool for tool in tools}
        assert (await run_call(by_name["small__bye"], {})).seconds < 5
        small.ledger.unlink()
        _, bye, ping, pid = await called(
            tools, ("small__ping", {}), ("small__bye", {}), ("small__ping", {}), ("small__pid", {})
        )
    assert (bye["is_error"], bye["content"]) == (True, UNKNOWN)
    assert ("is_error" in ping, ping["content"]) == (False, "pong")
    assert small.notes == [
        *("started", "call ping {}", "call bye {}"),
        *("started", "call ping {}", "call pid {}", "ended"),
    ]
    assert not is_running(int(pid["content"]))
    assert [task.get_name() for task in asyncio.all_tasks() if "MCP server" in task.get_name()] == []


async def test_a_server_killed_from_outside_in_the_middle_of_a_call(small: Small, tmp_path: Path) -> None:
    """SIGKILL while the call runs: the turn ends with the outcome unknown, in a journal on disk too."""
    api = MessagesAPI(script(reply(call("small__wait", {"text": "деньги 🪙"})), "I can't tell."))
    async with (
        tk.mcp.connect({"small": small.entry(timeout=60)}) as tools,
        agent_for(api, tools).open(f"sqlite:///{tmp_path / 'journal.db'}") as keeper,
    ):
        by_name = {tool.name: tool for tool in tools}
        pid = int(str((await run_call(by_name["small__pid"], {})).content))

        async def kill() -> None:
            await small.noted("call wait")
            os.kill(pid, signal.SIGKILL)

        conversation = await keeper.conversation("c-1")
        with anyio.fail_after(20):
            async with anyio.create_task_group() as group:
                group.start_soon(kill)
                found = await conversation.send("go")
        assert (found.text, found.status) == ("I can't tell.", tk.TurnStatus.COMPLETED)
        assert [(record.outcome, record.is_error, record.content) for record in found.calls] == [
            ("failed", True, UNKNOWN)
        ]
    assert [note.split()[:2] for note in small.notes] == [["started"], ["call", "pid"], ["call", "wait"]]
    assert not is_running(pid)


async def test_many_calls_at_once_are_all_answered_and_the_server_is_started_once(small: Small) -> None:
    async with tk.mcp.connect({"small": small.entry(timeout=60)}) as tools:
        by_name = {tool.name: tool for tool in tools}
        pid = int(str((await run_call(by_name["small__pid"], {})).content))
        waits = [asyncio.create_task(run_call(by_name["small__wait"], {"text": f"{n}"})) for n in range(10)]
        with anyio.fail_after(20):
            await small.noted('call wait {"text": "9"}')
            os.kill(pid, signal.SIGKILL)
            assert [outcome.content for outcome in await asyncio.gather(*waits)] == [UNKNOWN] * 10
            pings = await asyncio.gather(*(run_call(by_name["small__ping"], {}) for _ in range(10)))
    assert [outcome.content for outcome in pings] == ["pong"] * 10
    assert small.notes.count("started") == 2


@pytest.mark.parametrize("effect", ["read", "idempotent"])
async def test_what_may_run_twice_is_tried_once_more(small: Small, effect: str) -> None:
    async with tk.mcp.connect({"small": small.entry(effects={"bye": effect})}) as tools:
        (bye,) = await called(tools, ("small__bye", {"text": "я"}))
    assert bye["is_error"] is True
    assert [note for note in small.notes if note.startswith("call")] == ['call bye {"text": "\\u044f"}'] * 2
    if effect == "read":
        assert bye["content"] == (
            "The MCP server 'small' closed the connection while the call ran. Nothing was changed; it can be tried"
            " again."
        )
    else:
        assert bye["content"] == UNKNOWN


async def test_a_call_that_takes_too_long_is_cancelled_at_the_server(small: Small) -> None:
    async with tk.mcp.connect({"small": small.entry(timeout=0.3)}) as tools:
        wait, ping = await called(tools, ("small__wait", {}), ("small__ping", {}))
    assert wait["is_error"] is True
    assert wait["content"].startswith("The tool did not finish within 0.3 seconds and was stopped.")
    assert ping["content"] == "pong"
    assert small.notes == ["started", "call wait {}", "cancelled", "call ping {}", "ended"]


async def test_a_cancelled_turn_cancels_the_call_at_the_server(small: Small) -> None:
    api = MessagesAPI(script(reply(call("small__wait", {}))))
    async with (
        tk.mcp.connect({"small": small.entry()}) as tools,
        agent_for(api, tools).open() as keeper,
        anyio.create_task_group() as group,
    ):
        conversation = await keeper.conversation("c-1")

        async def turn() -> None:
            assert (await conversation.send("go")).status is tk.TurnStatus.CANCELLED

        group.start_soon(turn)
        with anyio.fail_after(10):
            await small.noted("call wait")
            await conversation.cancel()
            await small.noted("cancelled")


async def test_a_server_that_can_not_be_started_again_is_told_fast(small: Small, tmp_path: Path) -> None:
    program = tmp_path / "server"
    program.symlink_to(SHELL)
    entry = {**small.entry(), "command": str(program)}
    entry["args"] = ["-c", 'exec "$0" "$@"', *[small.entry()["command"], *entry["args"]]]
    async with tk.mcp.connect({"small": entry}) as tools:
        program.unlink()
        bye, ping = await called(tools, ("small__bye", {}), ("small__ping", {}))
    assert bye["content"] == UNKNOWN
    assert (ping["is_error"], ping["content"]) == (
        True,
        "The MCP server 'small' can't be reached. The call was not sent and had no effect.",
    )


async def test_noise_on_stdout_does_not_disturb(small: Small) -> None:
    async with tk.mcp.connect({"small": small.entry()}) as tools:
        garble, ping = await called(tools, ("small__garble", {}), ("small__ping", {}))
    assert (garble["content"], ping["content"]) == ("pong", "pong")


def test_in_synchronous_code(small: Small) -> None:
    with tk.mcp.connect({"small": small.entry()}) as tools:
        api = MessagesAPI(script(reply(call("small__ping", {})), "done"))
        found = agent_for(api, tools).run_sync("go")
        assert [record.content for record in found.calls] == ["pong"]
    assert small.notes == ["started", "call ping {}", "ended"]


async def test_a_call_from_another_event_loop(small: Small) -> None:
    """The connection lives here, the turn in the background loop of the synchronous door."""
    async with tk.mcp.connect({"small": small.entry()}) as tools:
        api = MessagesAPI(script(reply(call("small__ping", {})), "done"))
        found = await anyio.to_thread.run_sync(lambda: agent_for(api, tools).run_sync("go"))
    assert [record.content for record in found.calls] == ["pong"]
    # and after the block: refused at once
    outcome = await run_call(tools[0], {})
    assert outcome.content == "The MCP server 'small' can't be reached. The call was not sent and had no effect."
