"""The loop that the documentation of tool use shows, over the official SDK's `messages.create`."""

from __future__ import annotations

from typing import Any

import anthropic

from benchmarks.scenario import DESCRIPTION, MODEL, NAME, SCHEMA, SYSTEM, Scenario

__all__ = ("SDKLoop",)


class SDKLoop:
    packages = ("anthropic",)

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self.client = anthropic.Anthropic(base_url=scenario.base_url, api_key="k")
        self.client_async = anthropic.AsyncAnthropic(base_url=scenario.base_url, api_key="k")
        self.fixed: dict[str, Any] = {
            "model": MODEL,
            "max_tokens": 1024,
            "system": SYSTEM,
            "tools": [{"name": NAME, "description": DESCRIPTION, "input_schema": SCHEMA}],
        }

    def results(self, reply: anthropic.types.Message) -> list[dict[str, Any]]:
        return [
            {"type": "tool_result", "tool_use_id": block.id, "content": self.scenario.count(str(block.input["shelf"]))}
            for block in reply.content
            if block.type == "tool_use"
        ]

    def converse(self, prompt: str) -> str:
        messages: list[Any] = [{"role": "user", "content": prompt}]
        while True:
            if self.scenario.stream:
                with self.client.messages.stream(messages=messages, **self.fixed) as stream:
                    reply = stream.get_final_message()
            else:
                reply = self.client.messages.create(messages=messages, **self.fixed)
            messages.append({"role": "assistant", "content": reply.content})
            if reply.stop_reason != "tool_use":
                return closing(reply)
            messages.append({"role": "user", "content": self.results(reply)})

    async def converse_async(self, prompt: str) -> str:
        messages: list[Any] = [{"role": "user", "content": prompt}]
        while True:
            if self.scenario.stream:
                async with self.client_async.messages.stream(messages=messages, **self.fixed) as stream:
                    reply = await stream.get_final_message()
            else:
                reply = await self.client_async.messages.create(messages=messages, **self.fixed)
            messages.append({"role": "assistant", "content": reply.content})
            if reply.stop_reason != "tool_use":
                return closing(reply)
            messages.append({"role": "user", "content": self.results(reply)})


def closing(reply: anthropic.types.Message) -> str:
    return "".join(block.text for block in reply.content if block.type == "text")
