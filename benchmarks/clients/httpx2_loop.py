"""The floor: a loop over httpx2 and the standard library's json, with no SDK, no checks and no retries."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import httpx2

from benchmarks.scenario import DESCRIPTION, MODEL, NAME, SCHEMA, SYSTEM, Scenario

__all__ = ("Httpx2Loop",)

HEADERS = {"content-type": "application/json", "x-api-key": "k", "anthropic-version": "2026-10-21"}


def assemble(lines: Iterable[str]) -> dict[str, Any]:
    """A reply out of the lines of its event stream."""
    message: dict[str, Any] = {}
    partial = ""
    for line in lines:
        if not line.startswith("data: "):
            continue
        event = json.loads(line[6:])
        match event["type"]:
            case "message_start":
                message = event["message"]
            case "content_block_start":
                message["content"].append(event["content_block"])
                partial = ""
            case "content_block_delta" if event["delta"]["type"] == "text_delta":
                message["content"][-1]["text"] += event["delta"]["text"]
            case "content_block_delta":
                partial += event["delta"]["partial_json"]
            case "content_block_stop" if message["content"][-1]["type"] == "tool_use":
                message["content"][-1]["input"] = json.loads(partial or "{}")
            case "message_delta":
                message |= event["delta"]
    return message


class Httpx2Loop:
    packages = ("httpx2",)

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self.url = f"{scenario.base_url}/v1/messages"
        self.http = httpx2.Client(headers=HEADERS, timeout=60)
        self.http_async = httpx2.AsyncClient(headers=HEADERS, timeout=60)

    def body(self, messages: list[dict[str, Any]]) -> bytes:
        request = {
            "model": MODEL,
            "max_tokens": 1024,
            "system": SYSTEM,
            "tools": [{"name": NAME, "description": DESCRIPTION, "input_schema": SCHEMA}],
            "messages": messages,
        }
        return json.dumps(request | ({"stream": True} if self.scenario.stream else {})).encode()

    def results(self, reply: dict[str, Any]) -> list[dict[str, Any]]:
        return [
            {
                "type": "tool_result",
                "tool_use_id": block["id"],
                "content": self.scenario.count(block["input"]["shelf"]),
            }
            for block in reply["content"]
            if block["type"] == "tool_use"
        ]

    def send(self, messages: list[dict[str, Any]]) -> dict[str, Any]:
        if not self.scenario.stream:
            response = self.http.post(self.url, content=self.body(messages)).raise_for_status()
            return json.loads(response.content)  # type: ignore[no-any-return]
        with self.http.stream("POST", self.url, content=self.body(messages)) as response:
            response.raise_for_status()
            return assemble(response.iter_lines())

    async def send_async(self, messages: list[dict[str, Any]]) -> dict[str, Any]:
        if not self.scenario.stream:
            response = (await self.http_async.post(self.url, content=self.body(messages))).raise_for_status()
            return json.loads(response.content)  # type: ignore[no-any-return]
        async with self.http_async.stream("POST", self.url, content=self.body(messages)) as response:
            response.raise_for_status()
            return assemble([line async for line in response.aiter_lines()])

    def converse(self, prompt: str) -> str:
        messages: list[dict[str, Any]] = [{"role": "user", "content": prompt}]
        while True:
            reply = self.send(messages)
            messages.append({"role": "assistant", "content": reply["content"]})
            if reply["stop_reason"] != "tool_use":
                return str(reply["content"][-1]["text"])
            messages.append({"role": "user", "content": self.results(reply)})

    async def converse_async(self, prompt: str) -> str:
        messages: list[dict[str, Any]] = [{"role": "user", "content": prompt}]
        while True:
            reply = await self.send_async(messages)
            messages.append({"role": "assistant", "content": reply["content"]})
            if reply["stop_reason"] != "tool_use":
                return str(reply["content"][-1]["text"])
            messages.append({"role": "user", "content": self.results(reply)})
