"""The client that the official conformance suite runs: `conformance_client.py URL` connects and calls every tool."""

from __future__ import annotations

import sys

import anyio

import turnkeeper as tk
from turnkeeper.tools import run_call

ARGUMENTS = {"add_numbers": {"a": 5, "b": 3}}


async def main(url: str) -> None:
    """Use every tool once."""
    async with tk.mcp.connect({"conformance": {"type": "http", "url": url}}) as tools:
        for tool in tools:
            outcome = await run_call(tool, ARGUMENTS.get(tool.name.partition("__")[2], {}))
            sys.stderr.write(f"{tool.name}: {outcome.state} {outcome.content!r}\n")


if __name__ == "__main__":
    anyio.run(main, sys.argv[1])
