"""Turnkeeper's agent in memory: one turn per conversation, with everything it checks and records."""

from __future__ import annotations

import anthropic

import turnkeeper as tk
from benchmarks.scenario import DESCRIPTION, MODEL, NAME, SYSTEM, Scenario

__all__ = ("TurnkeeperAgent",)


class TurnkeeperAgent:
    packages = ("turnkeeper", "anthropic")

    def __init__(self, scenario: Scenario) -> None:
        if scenario.mode == "async":

            @tk.tool(name=NAME, description=DESCRIPTION, effect="read")
            async def count_shelf(shelf: str) -> str:
                return scenario.count(shelf)
        else:

            @tk.tool(name=NAME, description=DESCRIPTION, effect="read")
            def count_shelf(shelf: str) -> str:
                return scenario.count(shelf)

        self.agent = tk.Agent(
            model=MODEL,
            system=SYSTEM,
            max_tokens=1024,
            tools=[count_shelf],
            limits=tk.Limits(requests=None),
            client=anthropic.AsyncAnthropic(base_url=scenario.base_url, api_key="k"),
            stream=scenario.stream,
        )

    def converse(self, prompt: str) -> str:
        return str(self.agent.run_sync(prompt).text)

    async def converse_async(self, prompt: str) -> str:
        return str((await self.agent.run(prompt)).text)
