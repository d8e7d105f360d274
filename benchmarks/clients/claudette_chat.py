"""Claudette's chat and its tool loop."""

from __future__ import annotations

import anthropic
import claudette  # type: ignore[import-not-found]

from benchmarks.scenario import MODEL, SYSTEM, Scenario, tool_of

__all__ = ("Claudette",)

_NO_LIMIT = 1_000_000


class Claudette:
    packages = ("claudette", "anthropic")

    def __init__(self, scenario: Scenario) -> None:
        self.tools = [tool_of(scenario)]
        kind = anthropic.AsyncAnthropic if scenario.mode == "async" else anthropic.Anthropic
        self.sdk = kind(base_url=scenario.base_url, api_key="k")

    def converse(self, prompt: str) -> str:
        chat = claudette.Chat(cli=claudette.Client(MODEL, cli=self.sdk), sp=SYSTEM, tools=self.tools)
        replies = list(chat.toolloop(prompt, max_steps=_NO_LIMIT, maxtok=1024))
        return str(claudette.contents(replies[-1]))

    async def converse_async(self, prompt: str) -> str:
        chat = claudette.AsyncChat(cli=claudette.AsyncClient(MODEL, cli=self.sdk), sp=SYSTEM, tools=self.tools)
        replies = [one async for one in chat.toolloop(prompt, max_steps=_NO_LIMIT, maxtok=1024)]
        return str(claudette.contents(replies[-1]))
