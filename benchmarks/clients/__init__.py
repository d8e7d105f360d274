"""The clients, each a class that holds the conversation of a scenario with one library."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Protocol, cast

from benchmarks.scenario import Scenario

__all__ = ("CLIENTS", "ELSEWHERE", "Client", "load")

CLIENTS = {
    "httpx2_loop": "benchmarks.clients.httpx2_loop:Httpx2Loop",
    "sdk_loop": "benchmarks.clients.sdk_loop:SDKLoop",
    "turnkeeper": "benchmarks.clients.turnkeeper_agent:TurnkeeperAgent",
    "sdk_runner": "benchmarks.clients.sdk_runner:SDKRunner",
    "sdk_runner_full": "benchmarks.clients.sdk_runner:SDKRunnerWithoutThread",
    "pydantic_ai": "benchmarks.clients.pydantic_ai_agent:PydanticAI",
    "agno": "benchmarks.clients.agno_agent:Agno",
    "langchain": "benchmarks.clients.langchain_agent:LangChain",
    "openai_agents": "benchmarks.clients.openai_agents_agent:OpenAIAgents",
    "claudette": "benchmarks.clients.claudette_chat:Claudette",
    "llm": "benchmarks.clients.llm_chain:LLM",
    "strands": "benchmarks.clients.strands_agent:Strands",
}
"""By name. The first is the floor: the least that such a loop can be with the SDK's own HTTP library."""
ELSEWHERE: Mapping[str, tuple[str, ...]] = {
    "pydantic_ai": ("pydantic-ai-slim[anthropic]",),
    "agno": ("agno", "anthropic"),
    "langchain": ("langchain", "langchain-anthropic"),
    "openai_agents": ("openai-agents[litellm]",),
    # Claudette sends `temperature`, which the SDK takes no more since its version 1.
    "claudette": ("claudette", "anthropic<1"),
    "llm": ("llm", "llm-anthropic"),
    "strands": ("strands-agents[anthropic]",),
}
"""Those whose libraries are not among this project's, with the packages that the Python of their own needs."""


class Client(Protocol):
    """Made once per scenario, outside the measured time."""

    packages: tuple[str, ...]
    """The distributions whose versions belong to the result."""

    def __init__(self, scenario: Scenario) -> None: ...

    def converse(self, prompt: str) -> str:
        """Holds a whole conversation through the synchronous door; returns the closing text."""

    async def converse_async(self, prompt: str) -> str:
        """The same through the asynchronous door."""


def load(name: str) -> type[Client]:
    """The class of a client; its library is imported now and not before."""
    module, _, attribute = CLIENTS[name].partition(":")
    return cast("type[Client]", getattr(importlib.import_module(module), attribute))
