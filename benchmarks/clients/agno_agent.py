"""Agno's agent with its defaults, without its telemetry."""

from __future__ import annotations

from typing import Any

from agno.agent import Agent  # type: ignore[import-not-found]
from agno.models.anthropic import Claude  # type: ignore[import-not-found]

from benchmarks.scenario import MODEL, SYSTEM, Scenario, tool_of

__all__ = ("Agno",)


class Agno:
    packages = ("agno", "anthropic")

    def __init__(self, scenario: Scenario) -> None:
        model = Claude(id=MODEL, api_key="k", max_tokens=1024, client_params={"base_url": scenario.base_url})
        self.agent: Any = Agent(model=model, tools=[tool_of(scenario)], system_message=SYSTEM, telemetry=False)

    def converse(self, prompt: str) -> str:
        return str(self.agent.run(prompt).content)

    async def converse_async(self, prompt: str) -> str:
        return str((await self.agent.arun(prompt)).content)
