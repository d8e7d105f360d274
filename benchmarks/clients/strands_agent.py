"""Strands' agent with its defaults, but for a history that it keeps whole: by default it drops what is old."""

from __future__ import annotations

from typing import Any

from strands import Agent, tool  # type: ignore[import-not-found]
from strands.agent.conversation_manager import NullConversationManager  # type: ignore[import-not-found]
from strands.models.anthropic import AnthropicModel  # type: ignore[import-not-found]

from benchmarks.scenario import MODEL, SYSTEM, Scenario, tool_of

__all__ = ("Strands",)


class Strands:
    packages = ("strands-agents", "anthropic")

    def __init__(self, scenario: Scenario) -> None:
        where = {"api_key": "k", "base_url": scenario.base_url}
        self.model = AnthropicModel(client_args=where, model_id=MODEL, max_tokens=1024)
        self.tool = tool(tool_of(scenario))

    def _agent(self) -> Any:
        """One per conversation: the agent holds the history."""
        return Agent(
            model=self.model,
            tools=[self.tool],
            system_prompt=SYSTEM,
            callback_handler=None,
            conversation_manager=NullConversationManager(),
        )

    def converse(self, prompt: str) -> str:
        return _text(self._agent()(prompt))

    async def converse_async(self, prompt: str) -> str:
        return _text(await self._agent().invoke_async(prompt))


def _text(result: Any) -> str:
    return str(result.message["content"][-1]["text"])
