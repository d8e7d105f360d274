"""What stands in the model's place when calls come from an MCP client: it asks for the very call that the client made.

So a call from outside takes the way of every other one: checked, approved where needed, written down before it has an
effect, and brought to one end after a crash. The client's own model is on the other side of MCP; none is asked here.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Self

import httpx2

__all__ = ("MODEL", "Relay", "message_for", "text_of")

MODEL = "mcp-client"
"""Stands for a model's id in the journal: the calls came from outside."""

_ADDRESS = httpx2.Request("POST", "http://mcp.invalid/v1/messages")


def message_for(tool: str, arguments: Mapping[str, Any]) -> str:
    """The user's message that has the relay ask for this call."""
    return json.dumps({"call": tool, "arguments": arguments}, ensure_ascii=False)


class Relay:
    """A client of the Messages API without an API: for `Agent(client=…)`, with `stream=False`."""

    async def post(self, path: str, *, content: bytes, **options: Any) -> httpx2.Response:
        """Answer one request: with the call, or, once it has its result, with the end of the turn."""
        del path, options
        messages = json.loads(content)["messages"]
        blocks: list[dict[str, Any]] = [{"type": "text", "text": "answered"}]
        stop = "end_turn"
        if not _has_result(messages[-1]["content"]):
            asked = json.loads(text_of(messages[-1]["content"]))
            blocks = [
                {"type": "tool_use", "id": f"toolu_{len(messages)}", "name": asked["call"], "input": asked["arguments"]}
            ]
            stop = "tool_use"
        reply: dict[str, Any] = {
            "id": "msg_mcp",
            "type": "message",
            "role": "assistant",
            "model": MODEL,
            "content": blocks,
            "stop_reason": stop,
            "stop_sequence": None,
            "usage": {},  # nothing was asked, so nothing is counted
        }
        body = json.dumps(reply, ensure_ascii=False).encode("utf-8", "replace")
        return httpx2.Response(200, content=body, headers={"content-type": "application/json"}, request=_ADDRESS)

    async def close(self) -> None:
        """There is nothing to close."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        return None


def _has_result(content: Any) -> bool:
    return isinstance(content, list) and any(block.get("type") == "tool_result" for block in content)


def text_of(content: Any) -> str:
    """A message's text, however it is written."""
    return content if isinstance(content, str) else str(content[-1]["text"])
