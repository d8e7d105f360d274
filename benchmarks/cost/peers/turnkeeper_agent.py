"""Turnkeeper with its defaults: a conversation in a journal."""

from __future__ import annotations

import os
from collections.abc import Iterator

import turnkeeper as tk
from benchmarks.cost.story import MAX_TOKENS, MESSAGES, MODEL, SYSTEM, TOOLS, play


def converse(base_url: str) -> Iterator[str]:
    import asyncio

    return iter(asyncio.run(_converse(base_url)))


async def _converse(base_url: str) -> list[str]:
    cache = os.environ.get("STORY_CACHE") != "off"
    tools = [tk.tool(effect="read")(function) for function in TOOLS]
    agent = tk.Agent(
        model=MODEL,
        system=SYSTEM,
        tools=tools,
        max_tokens=MAX_TOKENS,
        base_url=base_url,
        api_key="key",
        cache=None if cache else False,
    )
    async with agent.open() as keeper:
        conversation = await keeper.conversation("c")
        return [(await conversation.send(text)).text for text in MESSAGES]


if __name__ == "__main__":
    play(converse, "turnkeeper", "anthropic")
