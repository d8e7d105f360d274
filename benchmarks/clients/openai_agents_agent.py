"""OpenAI's Agents SDK with its LiteLLM extension, its documented way to Claude; its tracing is off."""

from __future__ import annotations

import logging
import os
from typing import Any

# Else LiteLLM fetches its price list when it is imported.
os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")

from agents import Agent, ModelSettings, Runner, function_tool, set_tracing_disabled  # type: ignore[import-not-found]
from agents.extensions.models.litellm_model import LitellmModel  # type: ignore[import-not-found]

from benchmarks.scenario import MODEL, SYSTEM, Scenario, tool_of

__all__ = ("OpenAIAgents",)

_NO_LIMIT = 1_000_000


class OpenAIAgents:
    packages = ("openai-agents", "litellm")

    def __init__(self, scenario: Scenario) -> None:
        set_tracing_disabled(True)
        logging.getLogger("LiteLLM").setLevel(logging.ERROR)
        model = LitellmModel(model=f"anthropic/{MODEL}", api_key="k", base_url=scenario.base_url)
        self.agent: Any = Agent(
            name="warehouse",
            instructions=SYSTEM,
            model=model,
            tools=[function_tool(tool_of(scenario))],
            model_settings=ModelSettings(max_tokens=1024),
        )

    def converse(self, prompt: str) -> str:
        return str(Runner.run_sync(self.agent, prompt, max_turns=_NO_LIMIT).final_output)

    async def converse_async(self, prompt: str) -> str:
        return str((await Runner.run(self.agent, prompt, max_turns=_NO_LIMIT)).final_output)
