"""A plain way to ask a simulated API: one request in, status, headers and bytes out, without an SDK."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import httpx2

from turnkeeper.testing import MessagesAPI
from turnkeeper.testing.transports import SyncTransport

__all__ = ("HEADERS", "REQUEST", "Answer", "ask", "ask_raw", "events", "parse_events")

HEADERS = {"x-api-key": "sk-ant-test", "anthropic-version": "2026-10-21", "content-type": "application/json"}
REQUEST: dict[str, Any] = {
    "model": "claude-opus-5-5",
    "max_tokens": 1024,
    "messages": [{"role": "user", "content": "Привет! 你好 👋"}],
}


@dataclass(frozen=True)
class Answer:
    """One response, read to its end."""

    status: int
    headers: httpx2.Headers
    raw: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.raw)


def ask_raw(
    api: MessagesAPI,
    raw: bytes = b"",
    *,
    method: str = "POST",
    path: str = "/v1/messages",
    headers: dict[str, str] | None = None,
) -> Answer:
    """Send bytes."""
    with httpx2.Client(
        transport=SyncTransport(api.exchange, api.sleep), base_url="http://simulator", timeout=None
    ) as client:
        response = client.request(method, path, content=raw, headers=HEADERS if headers is None else headers)
    return Answer(response.status_code, response.headers, response.content)


def ask(api: MessagesAPI, *, path: str = "/v1/messages", **fields: Any) -> Answer:
    """Send a valid request with these fields changed."""
    return ask_raw(api, json.dumps({**REQUEST, **fields}).encode(), path=path)


def parse_events(raw: bytes) -> list[tuple[str, Any]]:
    """The (name, data) pairs of an event stream."""
    found = []
    for part in raw.decode().split("\n\n")[:-1]:
        name, data = part.split("\n")
        found.append((name.removeprefix("event: "), json.loads(data.removeprefix("data: "))))
    return found


def events(api: MessagesAPI, **fields: Any) -> list[tuple[str, Any]]:
    """The events of a streamed reply to a valid request."""
    answer = ask(api, stream=True, **fields)
    assert answer.status == 200, answer.raw
    return parse_events(answer.raw)
