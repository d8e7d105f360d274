"""Plain HTTP front ends of both protocols, and the shop that their conversations are about."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import anyio
import httpx2
from starlette.applications import Starlette

import turnkeeper as tk
from tests.web.served import Customer, serving
from turnkeeper.testing import MessagesAPI, script
from turnkeeper.web import Staff, app
from turnkeeper.web.standard import standard_streams

__all__ = ("MODEL", "Front", "Shop", "Tap", "frames", "kinds", "opened", "user")

MODEL = "claude-opus-4-8"


class Shop:
    """An order's status, which anybody may read, and a refund that a person approves."""

    def __init__(self) -> None:
        self.refunds: list[tuple[str, int]] = []

    def tools(self) -> list[tk.Tool]:
        @tk.tool(effect="read")
        def status(order: str) -> str:
            """Where an order is."""
            return f"{order}: отправлен"

        @tk.tool(approval="always")
        def refund(order: str, amount: int) -> str:
            """Refund an order."""
            self.refunds.append((order, amount))
            return f"{amount} 已退款"

        return [status, refund]

    def app(
        self, *replies: Any, sees_calls: bool = False, agent: dict[str, Any] | None = None, **options: Any
    ) -> Starlette:
        """The web door over a scripted model."""
        api = replies[0] if replies and isinstance(replies[0], MessagesAPI) else MessagesAPI(script(*replies))
        settings: dict[str, Any] = {"model": MODEL, "tools": self.tools(), "client": api, **(agent or {})}
        more = functools.partial(standard_streams, sees_calls=lambda _: True) if sees_calls else standard_streams
        given: dict[str, Any] = {"secret": "s" * 32, "more": more, "staff": Staff(demo="ana"), **options}
        return app(tk.Agent(**settings), **given)


class Tap:
    """Lets a streamed reply through piece by piece: each wait of the simulator takes one step."""

    def __init__(self) -> None:
        self.steps = 0

    def let(self, steps: int) -> None:
        """Let so many more pieces through."""
        self.steps += steps

    async def sleep(self, seconds: float) -> None:
        while self.steps <= 0:  # noqa: ASYNC110 - the test's thread has no way to set an event of this loop
            await anyio.sleep(0.005)
        self.steps -= 1


def user(name: str, text: Any) -> dict[str, Any]:
    """A user's message as AG-UI sends it."""
    return {"id": name, "role": "user", "content": text}


def frames(response: httpx2.Response) -> Iterator[Any]:
    """The data of the stream's events, decoded; each must be one line of JSON, in a frame of one line."""
    for frame in "".join(response.iter_text()).split("\n\n"):
        if not frame or frame.startswith(":"):
            continue
        assert frame.startswith("data: "), frame
        assert "\n" not in frame
        assert "\r" not in frame
        yield frame[6:] if frame == "data: [DONE]" else json.loads(frame[6:])


class Front:
    """A customer's front end, or (`console`) an employee's."""

    def __init__(self, base: str, http: httpx2.Client, *, console: bool = False) -> None:
        self.base = base
        self.http = http
        self._where = "/api/console" if console else "/api"

    @property
    def headers(self) -> dict[str, str]:
        """What a client elsewhere sends to be this front end."""
        cookie = "; ".join(f"{name}={value}" for name, value in self.http.cookies.items())
        return {"cookie": cookie, "origin": self.base}

    def post(self, thread: str, messages: Sequence[Any] = (), **more: Any) -> httpx2.Response:
        """A run's request, answered whole."""
        body = {"threadId": thread, "runId": "run-1", "protocolVersion": "1.0", "messages": list(messages), **more}
        return self.http.post(f"{self._where}/agui", json=body)

    def run(self, thread: str, messages: Sequence[Any] = (), **more: Any) -> list[dict[str, Any]]:
        """A run's events."""
        response = self.post(thread, messages, **more)
        assert response.status_code == 200, response.text
        assert response.headers["content-type"] == "text/event-stream; charset=utf-8"
        return list(frames(response))

    @contextmanager
    def streaming(self, thread: str, messages: Sequence[Any]) -> Iterator[Iterator[dict[str, Any]]]:
        """A run's events while they come."""
        body = {"threadId": thread, "runId": "run-1", "protocolVersion": "1.0", "messages": list(messages)}
        with self.http.stream("POST", f"{self._where}/agui", json=body) as response:
            assert response.status_code == 200
            yield (json.loads(line[6:]) for line in response.iter_lines() if line.startswith("data: "))

    def chat(self, thread: str, messages: Sequence[Any], **more: Any) -> list[Any]:
        """An answer's parts, by the AI SDK's protocol."""
        body = {"id": thread, "messages": list(messages), **more}
        response = self.http.post(f"{self._where}/chat", json=body)
        assert response.status_code == 200, response.text
        assert response.headers["x-vercel-ai-ui-message-stream"] == "v1"
        return list(frames(response))


@contextmanager
def opened(door: Starlette) -> Iterator[Callable[..., Front]]:
    """Serve the door; gives a function that makes front ends, each with a session of its own."""
    with ExitStack() as stack:
        base = stack.enter_context(serving(door))

        def front(*, console: bool = False) -> Front:
            return Front(base, stack.enter_context(Customer(base)).http, console=console)

        yield front


def kinds(events: Sequence[Any]) -> list[str]:
    """The types of events, repeated ones once."""
    found: list[str] = []
    for event in events:
        kind = event if isinstance(event, str) else event["type"]
        if not found or found[-1] != kind:
            found.append(kind)
    return found
