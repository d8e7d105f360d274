"""The official SDK's own loop, `client.beta.messages.tool_runner`: with its defaults, and without its thread.

By default the runner keeps the history on the server and sends only what is new; not every endpoint offers that, and
without it the runner sends the whole history, as the other clients do.
"""

from __future__ import annotations

from typing import Any, ClassVar

import anthropic

from benchmarks.scenario import DESCRIPTION, MODEL, NAME, SYSTEM, Scenario

__all__ = ("SDKRunner", "SDKRunnerWithoutThread")


class SDKRunner:
    packages = ("anthropic",)
    options: ClassVar[dict[str, Any]] = {}

    def __init__(self, scenario: Scenario) -> None:
        def count_shelf(shelf: str) -> str:
            return scenario.count(shelf)

        async def count_shelf_async(shelf: str) -> str:
            return scenario.count(shelf)

        self.scenario = scenario
        self.client = anthropic.Anthropic(base_url=scenario.base_url, api_key="k")
        self.client_async = anthropic.AsyncAnthropic(base_url=scenario.base_url, api_key="k")
        self.tool = anthropic.beta_tool(count_shelf, name=NAME, description=DESCRIPTION)
        self.tool_async = anthropic.beta_async_tool(count_shelf_async, name=NAME, description=DESCRIPTION)

    def request(self, prompt: str) -> dict[str, Any]:
        return {
            "model": MODEL,
            "max_tokens": 1024,
            "system": SYSTEM,
            "messages": [{"role": "user", "content": prompt}],
            "stream": self.scenario.stream,
            **self.options,
        }

    def converse(self, prompt: str) -> str:
        runner = self.client.beta.messages.tool_runner(tools=[self.tool], **self.request(prompt))
        if self.scenario.stream:
            for stream in runner:
                stream.until_done()
        return closing(runner.until_done())

    async def converse_async(self, prompt: str) -> str:
        runner = self.client_async.beta.messages.tool_runner(tools=[self.tool_async], **self.request(prompt))
        if self.scenario.stream:
            async for stream in runner:
                await stream.until_done()
        return closing(await runner.until_done())


class SDKRunnerWithoutThread(SDKRunner):
    options: ClassVar[dict[str, Any]] = {"thread": False}


def closing(reply: Any) -> str:
    return "".join(block.text for block in reply.content if block.type == "text")
