"""The exchange as a plain ASGI application.

A stream that a fault cuts, and a connection that fails before a response, need more than ASGI offers: the app looks
for a function under `scope["extensions"]["turnkeeper.hang_up"]` that aborts the connection (our server puts one
there). Without it the app returns early, upon which ASGI servers close the connection.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, TypeAlias

import anyio

from turnkeeper.simulator.delivery import ConnectionDroppedError, Delivery
from turnkeeper.simulator.encoding import dump
from turnkeeper.simulator.exchange import Exchange, Incoming
from turnkeeper.simulator.report import REPORT_PATH, refused_host, report

__all__ = ("HANG_UP", "App")

HANG_UP = "turnkeeper.hang_up"
MOST_READ = 32 * 1024 * 1024 + 1
"""Bytes of a body that are kept; one more than allowed is enough to refuse it."""

Scope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send: TypeAlias = Callable[[MutableMapping[str, Any]], Awaitable[None]]


class App:
    """`App(exchange)` serves the Messages API on any ASGI server, and its ledger on GET /simulator/requests."""

    def __init__(self, exchange: Exchange, *, sleep: Callable[[float], Awaitable[None]] = anyio.sleep) -> None:
        self.exchange = exchange
        self._sleep = sleep

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One ASGI connection."""
        if scope["type"] == "lifespan":
            await _lifespan(receive, send)
        elif scope["type"] == "http":
            await self._http(scope, receive, send)
        else:
            await send({"type": "websocket.close", "code": 1000})

    async def _http(self, scope: Scope, receive: Receive, send: Send) -> None:
        raw = await _read(receive)
        if raw is None:
            return
        if scope["method"] == "GET" and scope["path"] == REPORT_PATH:
            if (refusal := refused_host(scope["headers"])) is not None:
                await _send_json(send, dump({"error": refusal}), status=421)
                return
            await _send_json(send, dump(report(self.exchange.ledger)))
            return
        incoming = Incoming(
            method=scope["method"],
            path=scope["path"],
            query=scope.get("query_string", b"").decode("latin-1"),
            headers={name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]},
            raw=raw,
        )
        hang_up = (scope.get("extensions") or {}).get(HANG_UP)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_cancel_when_gone, receive, tasks.cancel_scope)
            try:
                delivery = await self.exchange.handle(incoming, sleep=self._sleep)
                try:
                    await self._send(delivery, send)
                finally:
                    delivery.close()
            except ConnectionDroppedError as dropped:
                if hang_up is not None:
                    hang_up(dropped.how)
                    return  # The watcher ends the group when the connection is really gone.
            tasks.cancel_scope.cancel()

    async def _send(self, delivery: Delivery, send: Send) -> None:
        headers = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in delivery.headers]
        await send({"type": "http.response.start", "status": delivery.status, "headers": headers})
        while (chunk := await delivery.next_chunk(self._sleep)) is not None:
            await send({"type": "http.response.body", "body": chunk, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _send_json(send: Send, body: bytes, *, status: int = 200) -> None:
    await send({"type": "http.response.start", "status": status, "headers": [(b"content-type", b"application/json")]})
    await send({"type": "http.response.body", "body": body, "more_body": False})


async def _read(receive: Receive) -> bytes | None:
    """The request's body, cut off where it is too large; None if the client went away."""
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        body += message.get("body", b"")
        if not message.get("more_body", False) or len(body) >= MOST_READ:
            return bytes(body)


async def _cancel_when_gone(receive: Receive, scope: anyio.CancelScope) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    scope.cancel()


async def _lifespan(receive: Receive, send: Send) -> None:
    while True:
        message = await receive()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return
