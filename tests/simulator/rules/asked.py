"""Requests to test rules with, and what is expected of each."""

from __future__ import annotations

import base64
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from turnkeeper.models import Model, find
from turnkeeper.simulator.rules import Fault, SentReplies, judge

__all__ = (
    "Case",
    "ask",
    "assistant",
    "call",
    "image",
    "png",
    "refused",
    "result",
    "system",
    "taken",
    "thinking",
    "tool",
    "user",
    "web_search",
)

OLD = {"anthropic-version": "2023-06-01"}
NEW = {"anthropic-version": "2026-10-21"}


def user(content: Any = "Где мой заказ 1024?") -> dict[str, Any]:
    return {"role": "user", "content": content}


def assistant(content: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": content}


def system(content: Any) -> dict[str, Any]:
    return {"role": "system", "content": content}


def call(call_id: str = "toolu_1", name: str = "find_order", **members: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": call_id, "name": name, "input": {"город": "Берлин 🐻"}, **members}


def result(call_id: str = "toolu_1", content: Any = "отправлен", **members: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": call_id, "content": content, **members}


def thinking(signature: str = "sig-1", text: str = "", **members: Any) -> dict[str, Any]:
    return {"type": "thinking", "thinking": text, "signature": signature, **members}


def tool(name: str = "find_order", schema: Any = None, **members: Any) -> dict[str, Any]:
    return {"name": name, "input_schema": {"type": "object"} if schema is None else schema, **members}


def web_search(**members: Any) -> dict[str, Any]:
    return {"type": "web_search_20260318", "name": "web_search", **members}


def png(width: int, height: int, *, padding: int = 0) -> str:
    head = b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + b"IHDR" + struct.pack(">II", width, height) + bytes(5)
    return base64.b64encode(head + bytes(padding)).decode()


def image(data: str | None = None, media_type: str = "image/png") -> dict[str, Any]:
    given = png(8, 8) if data is None else data
    return {"type": "image", "source": {"type": "base64", "media_type": media_type, "data": given}}


def ask(*messages: Any, without: Sequence[str] = (), **members: Any) -> dict[str, Any]:
    """A request that every rule takes, with other messages or members."""
    body: dict[str, Any] = {"model": "claude-opus-5-5", "max_tokens": 1_000, "messages": list(messages) or [user()]}
    body.update(members)
    return {name: value for name, value in body.items() if name not in without}


@dataclass(frozen=True, kw_only=True)
class Case:
    """A request and what one rule says about it; `message` is None where every rule takes the request."""

    rule: str
    title: str
    request: Any
    message: str | None = None
    path: str = ""
    status: int = 400
    error_type: str = "invalid_request_error"
    details: Mapping[str, Any] | None = None
    headers: Mapping[str, str] = field(default_factory=lambda: NEW)
    model: Model | None = None
    sent: SentReplies | None = None
    endpoint: Literal["messages", "count_tokens"] = "messages"
    body_bytes: int | None = None
    input_tokens: int | None = None

    def faults(self) -> list[Fault]:
        """Every fault that the rules find."""
        named = self.request.get("model") if isinstance(self.request, dict) else None
        return judge(
            self.request,
            headers=self.headers,
            model=self.model or find(named if isinstance(named, str) else "claude-opus-5-5"),
            sent=self.sent,
            endpoint=self.endpoint,
            body_bytes=self.body_bytes,
            input_tokens=self.input_tokens,
        )


def taken(rule: str, title: str, request: Any, **around: Any) -> Case:
    """A request that every rule takes, shown under the rule whose border it marks."""
    return Case(rule=rule, title=title, request=request, **around)


def refused(rule: str, title: str, request: Any, path: str, message: str, **around: Any) -> Case:
    """A request that the rule refuses before any other: where, and with which text."""
    return Case(rule=rule, title=title, request=request, path=path, message=message, **around)
