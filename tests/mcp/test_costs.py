"""Calls that came from an MCP client asked no model, and so stand in no sum of what models cost."""

from __future__ import annotations

import json
from pathlib import Path

import anyio
from mcp import Client

import turnkeeper as tk
from tests.cli.conftest import Run, home, run
from turnkeeper.mcp.exposing import exposed

__all__ = ("home", "run")


@tk.tool
def order(item: str) -> str:
    """Order an item."""
    return f"ordered {item}"


@tk.tool(approval="always")
def sell(item: str) -> str:
    """Sell an item."""
    return f"sold {item}"


async def calls(journal: str) -> None:
    """One call that runs, and one that waits for a person."""
    async with exposed([order, sell], who=lambda: None, journal=journal) as server, Client(server) as client:
        assert not (await client.call_tool("order", {"item": "tea"})).is_error
        await client.call_tool("sell", {"item": "tea"})


def test_no_model_was_asked_and_nothing_is_counted(run: Run, tmp_path: Path) -> None:
    journal = f"sqlite:///{tmp_path / 'calls.db'}"
    anyio.run(calls, journal)
    found = json.loads(run("cost", "--journal", journal, "--json").stdout)
    assert (found["total"]["requests"], found["models"], found["tools"]) == (0, [], [])
    listed = json.loads(run("list", "--journal", journal, "--output-format", "json").stdout)
    assert sorted(one["status"] for one in listed) == ["awaiting_approval", "completed"]
