"""LangChain's agent with its defaults."""

from __future__ import annotations

from typing import Any

from langchain.agents import create_agent  # type: ignore[import-not-found]
from langchain_anthropic import ChatAnthropic  # type: ignore[import-not-found]
from langchain_core.tools import tool  # type: ignore[import-not-found]

from benchmarks.scenario import MODEL, SYSTEM, Scenario, tool_of

__all__ = ("LangChain",)


class LangChain:
    packages = ("langchain", "langchain-anthropic", "anthropic")

    def __init__(self, scenario: Scenario) -> None:
        model = ChatAnthropic(model=MODEL, api_key="k", base_url=scenario.base_url, max_tokens=1024)
        self.agent = create_agent(model, [tool(tool_of(scenario))], system_prompt=SYSTEM)

    def converse(self, prompt: str) -> str:
        return _text(self.agent.invoke(_given(prompt), {"recursion_limit": 1_000_000}))

    async def converse_async(self, prompt: str) -> str:
        return _text(await self.agent.ainvoke(_given(prompt), {"recursion_limit": 1_000_000}))


def _given(prompt: str) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": prompt}]}


def _text(state: Any) -> str:
    last = state["messages"][-1].content
    return str(last if isinstance(last, str) else last[-1]["text"])
