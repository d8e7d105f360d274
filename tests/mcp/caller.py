"""A program that makes one MCP call and is killed in the middle of it: `python -m tests.mcp.caller JOURNAL ENTRY`."""

from __future__ import annotations

import json
import sys

import anyio

import turnkeeper as tk
from tests.mcp.conftest import agent_for
from turnkeeper.testing import MessagesAPI, call, reply, script


async def main(journal: str, entry: str) -> None:
    """Send a message; the scripted model asks for a call that never ends."""
    api = MessagesAPI(script(reply(call("small__wait", {"text": "раз"}, id="toolu_1"))))
    async with (
        tk.mcp.connect({"small": json.loads(entry)}) as tools,
        agent_for(api, tools).open(journal) as keeper,
    ):
        conversation = await keeper.conversation("c-1")
        await conversation.send("go")


if __name__ == "__main__":
    anyio.run(main, sys.argv[1], sys.argv[2])
