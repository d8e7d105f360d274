"""What the imitations of other services share: a request in, an answer out, over a transport or a real socket.

An imitation is strict: what the real service would take exception to is answered as the service would, and noted in
`complaints`, so that a test can hold that there are none.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl

import httpx2

from turnkeeper.errors import ConfigurationError

__all__ = ("Answer", "Asked", "Service")

_Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
_Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One request: `headers` in lower case, `query` and `form` as pairs in their order."""

    method: str
    host: str
    path: str
    query: tuple[tuple[str, str], ...] = ()
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""

    @property
    def form(self) -> tuple[tuple[str, str], ...]:
        """The body as a form."""
        return tuple(parse_qsl(self.body.decode("utf-8", "replace"), keep_blank_values=True))


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One answer; what is no bytes becomes JSON."""

    status: int = 200
    body: Any = b""
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def raw(self) -> bytes:
        """The body as bytes."""
        return self.body if isinstance(self.body, bytes) else json.dumps(self.body, ensure_ascii=False).encode()

    @property
    def all_headers(self) -> dict[str, str]:
        """The headers, with a content type."""
        kind = "text/plain" if isinstance(self.body, bytes) else "application/json"
        return {"content-type": f"{kind}; charset=utf-8", **{name.lower(): v for name, v in self.headers.items()}}


class Service:
    """An imitation: `transport()` for an httpx2 client in this process, `listen()` for a socket, itself an ASGI app.

    `faults` are taken first, one for each request: an Answer, or an exception that the transport raises (over a socket
    the connection ends without an answer). `after` are taken in the same way when the request has been carried out:
    the service has done its work, and the answer is lost or another. None lets a request through.
    """

    def __init__(self) -> None:
        self.asked: list[Asked] = []
        self.complaints: list[str] = []
        self.faults: list[Answer | Exception | None] = []
        self.after: list[Answer | Exception | None] = []

    def answer(self, asked: Asked) -> Answer:
        """What the service says; to be written by each imitation."""
        raise NotImplementedError

    def handle(self, asked: Asked) -> Answer:
        """Answer a request, or fail as planned."""
        self.asked.append(asked)
        planned = self.faults.pop(0) if self.faults else None
        if planned is None:
            said = self.answer(asked)
            planned = self.after.pop(0) if self.after else None
            if planned is None:
                return said
        if isinstance(planned, Exception):
            raise planned
        return planned

    def transport(self) -> httpx2.AsyncBaseTransport:
        """For `httpx2.AsyncClient(transport=…)`."""
        return _Transport(self)

    def listen(self) -> contextlib.AbstractContextManager[str]:
        """Serve on a free port of 127.0.0.1 while the block runs; gives the base URL."""
        try:
            from turnkeeper.simulator.serving import listening_app  # noqa: PLC0415 - uvicorn is an extra
        except ModuleNotFoundError as error:
            raise ConfigurationError(f"listen() needs {error.name}: install turnkeeper[cli]") from error
        return listening_app(self)

    async def __call__(self, scope: MutableMapping[str, Any], receive: _Receive, send: _Send) -> None:
        """One ASGI request."""
        body = b""
        while True:
            message = await receive()
            body += message.get("body", b"")
            if not message.get("more_body"):
                break
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        try:
            said = self.handle(
                Asked(
                    method=scope["method"],
                    host=headers.get("host", "").rsplit(":", 1)[0],
                    path=scope["path"],
                    query=_pairs(scope.get("query_string", b"")),
                    headers=headers,
                    body=body,
                )
            )
        except Exception:  # noqa: BLE001 - a planned fault: the connection ends without an answer
            hang_up = scope.get("extensions", {}).get("turnkeeper.hang_up")
            if hang_up is not None:  # our own server; another one closes the connection by itself
                hang_up("reset")
            return
        raw = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in said.all_headers.items()]
        await send({"type": "http.response.start", "status": said.status, "headers": raw})
        await send({"type": "http.response.body", "body": said.raw})


class _Transport(httpx2.AsyncBaseTransport):
    def __init__(self, service: Service) -> None:
        self._service = service

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        body = await request.aread()
        said = self._service.handle(
            Asked(
                method=request.method,
                host=request.url.host,
                path=request.url.path,
                query=_pairs(request.url.query),
                headers={name.lower(): value for name, value in request.headers.items()},
                body=body,
            )
        )
        return httpx2.Response(said.status, headers=said.all_headers, content=said.raw, request=request)


def _pairs(query: bytes) -> tuple[tuple[str, str], ...]:
    return tuple(parse_qsl(query.decode("latin-1"), keep_blank_values=True))
