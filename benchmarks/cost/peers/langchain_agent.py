"""LangChain's agent; its messages are handed on from turn to turn.

pip install langchain langchain-anthropic
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from langchain.agents import create_agent  # type: ignore[import-not-found]
from langchain_anthropic import ChatAnthropic  # type: ignore[import-not-found]
from langchain_core.tools import tool  # type: ignore[import-not-found]

from benchmarks.cost.story import MAX_TOKENS, MESSAGES, MODEL, SYSTEM, TOOLS, play


def converse(base_url: str) -> Iterator[str]:
    model = ChatAnthropic(model=MODEL, api_key="key", base_url=base_url, max_tokens=MAX_TOKENS)
    agent = create_agent(model, [tool(function) for function in TOOLS], system_prompt=SYSTEM)
    messages: list[Any] = []
    for text in MESSAGES:
        messages.append({"role": "user", "content": text})
        messages = agent.invoke({"messages": messages}, {"recursion_limit": 1_000_000})["messages"]
        last = messages[-1].content
        yield last if isinstance(last, str) else "".join(part.get("text", "") for part in last)


if __name__ == "__main__":
    play(converse, "langchain", "langchain-anthropic", "anthropic")
