"""Servers that tell of changed listings, as both generations of the protocol have it."""

from __future__ import annotations

import anyio
import pytest
from mcp.server.mcpserver import Context, MCPServer

import turnkeeper as tk
from tests.mcp.conftest import Small, called

pytestmark = pytest.mark.anyio


async def noticed(tools: tk.mcp.MCPTools) -> tuple[str, ...]:
    """What the servers told, once they have."""
    with anyio.fail_after(10):
        while not tools.notices:  # noqa: ASYNC110 - a server tells of it
            await anyio.sleep(0.01)
    return tools.notices


async def test_by_notification(small: Small) -> None:
    """2025-11-25: the server says so whenever it likes."""
    async with tk.mcp.connect({"small": small.entry()}) as tools:
        await called(tools, ("small__grow", {}))
        told = await noticed(tools)
    assert told == ("MCP server small has a new tool, grown: it can be used after connecting again",)


async def test_by_subscription() -> None:
    """2026-07-28: it says so to those who listen."""
    server = MCPServer("shop")

    @server.tool()
    async def change(ctx: Context) -> str:
        """Change what is on offer."""
        server.remove_tool("old")
        server.add_tool(lambda: "new", name="new", description="New.")
        await ctx.notify_tools_changed()
        return "changed"

    server.add_tool(lambda: "old", name="old", description="Old.")
    async with tk.mcp.connect({"shop": server}) as tools:
        assert tools.names == ("shop__change", "shop__old")
        await called(tools, ("shop__change", {}))
        told = await noticed(tools)
        (old,) = await called(tools, ("shop__old", {}))
    assert told == (
        "MCP server shop no longer has the tool old: calls of it are refused",
        "MCP server shop has a new tool, new: it can be used after connecting again",
    )
    assert old["content"] == "The MCP server 'shop' no longer has this tool. The call was not sent."
