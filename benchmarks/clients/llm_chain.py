"""LLM with its Anthropic plugin, as a library: a conversation and its chain of tool calls, without its log."""

from __future__ import annotations

import os
import tempfile
from typing import Any

# Its settings, and the log that it would keep, are the user's.
os.environ.setdefault("LLM_USER_PATH", tempfile.gettempdir())

from llm_anthropic import AsyncClaudeMessages, ClaudeMessages  # type: ignore[import-not-found]

from benchmarks.scenario import MODEL, SYSTEM, Scenario, tool_of

__all__ = ("LLM",)


class LLM:
    packages = ("llm", "llm-anthropic", "anthropic")

    def __init__(self, scenario: Scenario) -> None:
        kind = AsyncClaudeMessages if scenario.mode == "async" else ClaudeMessages
        self.model: Any = kind(MODEL, base_url=scenario.base_url, default_max_tokens=1024)
        self.model.key = "k"
        self.tool = tool_of(scenario)

    def _chain(self, prompt: str) -> Any:
        conversation = self.model.conversation(tools=[self.tool], chain_limit=0)
        return conversation.chain(prompt, system=SYSTEM, stream=False)

    def converse(self, prompt: str) -> str:
        return str(self._chain(prompt).text())

    async def converse_async(self, prompt: str) -> str:
        return str(await self._chain(prompt).text())
