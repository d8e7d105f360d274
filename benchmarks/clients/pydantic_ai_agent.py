"""Pydantic AI's agent with its defaults."""

from __future__ import annotations

from pydantic_ai import Agent  # type: ignore[import-not-found]
from pydantic_ai.models.anthropic import AnthropicModel  # type: ignore[import-not-found]
from pydantic_ai.providers.anthropic import AnthropicProvider  # type: ignore[import-not-found]
from pydantic_ai.usage import UsageLimits  # type: ignore[import-not-found]

from benchmarks.scenario import MODEL, SYSTEM, Scenario, tool_of

__all__ = ("PydanticAI",)


class PydanticAI:
    packages = ("pydantic-ai-slim", "anthropic")

    def __init__(self, scenario: Scenario) -> None:
        model = AnthropicModel(MODEL, provider=AnthropicProvider(api_key="k", base_url=scenario.base_url))
        self.agent = Agent(model, system_prompt=SYSTEM, tools=[tool_of(scenario)], model_settings={"max_tokens": 1024})
        self.limits = UsageLimits(request_limit=None)

    def converse(self, prompt: str) -> str:
        return str(self.agent.run_sync(prompt, usage_limits=self.limits).output)

    async def converse_async(self, prompt: str) -> str:
        return str((await self.agent.run(prompt, usage_limits=self.limits)).output)
