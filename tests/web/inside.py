"""The web door without a server: requests go straight into the ASGI application, in the test's own event loop."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import httpx2
from starlette.applications import Starlette
from starlette.types import ASGIApp, Message, Scope

__all__ = ("BASE", "Wire", "client_of", "cookie_of", "error_of", "running", "scope_of")

BASE = "http://127.0.0.1"


@asynccontextmanager
async def running(web: Starlette) -> AsyncIterator[Starlette]:
    """The application between its start and its end."""
    async with web.router.lifespan_context(web):
        yield web


def client_of(web: ASGIApp, base: str = BASE, **headers: str) -> httpx2.AsyncClient:
    """A browser's requests; what the application doesn't catch comes back as the server's 500, as from a server."""
    transport = httpx2.ASGITransport(app=web, raise_app_exceptions=False)
    return httpx2.AsyncClient(transport=transport, base_url=base, headers={"origin": base, **headers})


def scope_of(method: str, path: str, headers: Iterable[tuple[str, str]] = (), *, query: str = "") -> Scope:
    """A request's scope, with these headers and a Host."""
    given = [(b"host", b"127.0.0.1"), *((name.lower().encode(), value.encode()) for name, value in headers)]
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.4"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "root_path": "",
        "query_string": query.encode(),
        "headers": given,
        "client": ("192.0.2.7", 50_000),
        "server": ("127.0.0.1", 80),
    }


class Wire:
    """One request, piece by piece: what is given to it, what it sends, and a reader that may stop taking.

    `taking` is awaited before each message is taken: a reader that takes nothing leaves it unset.
    """

    def __init__(self, scope: Scope, pieces: Iterable[bytes] = (b"",)) -> None:
        self.scope = scope
        self.sent: list[Message] = []
        self.taking = anyio.Event()
        self.taking.set()
        self.gone = anyio.Event()
        self.news = anyio.Event()
        self._pieces = list(pieces)

    async def receive(self) -> Message:
        """The next piece of the body, then the disconnect once there is one."""
        if self._pieces:
            body = self._pieces.pop(0)
            return {"type": "http.request", "body": body, "more_body": bool(self._pieces)}
        await self.gone.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        """Take what the application sends."""
        await self.taking.wait()
        self.sent.append(message)
        news, self.news = self.news, anyio.Event()
        news.set()

    async def run(self, web: ASGIApp) -> None:
        """The whole request."""
        await web(self.scope, self.receive, self.send)

    async def until(self, part: bytes) -> None:
        """Wait until the body that was sent holds this."""
        while part not in self.body:
            await self.news.wait()

    @property
    def status(self) -> int:
        """The answer's status."""
        return int(self.sent[0]["status"])

    @property
    def headers(self) -> dict[str, str]:
        """The answer's headers."""
        return {name.decode(): value.decode() for name, value in self.sent[0]["headers"]}

    @property
    def body(self) -> bytes:
        """What of the body was sent."""
        return b"".join(message.get("body", b"") for message in self.sent[1:])

    def is_over(self) -> bool:
        """Whether the answer is whole."""
        return bool(self.sent) and self.sent[-1]["type"] == "http.response.body" and not self.sent[-1].get("more_body")


def cookie_of(client: httpx2.AsyncClient) -> tuple[str, str]:
    """The client's cookies as a header."""
    return "cookie", "; ".join(f"{name}={value}" for name, value in client.cookies.items())


def error_of(answer: httpx2.Response) -> tuple[int, Any]:
    """Status and code of an error."""
    return answer.status_code, answer.json()["error"]["code"]
