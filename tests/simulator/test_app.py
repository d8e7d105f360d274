"""The ASGI app by itself, driven by hand: bodies in pieces, streams in pieces, clients that leave."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import anyio
import pytest

from tests.simulator.asking import HEADERS, REQUEST, parse_events
from turnkeeper.simulator.app import HANG_UP
from turnkeeper.testing import MessagesAPI, faults

pytestmark = pytest.mark.anyio


class Connection:
    """One HTTP request on an ASGI server's side; `gone` makes the client leave."""

    def __init__(self, raw: bytes, *, pieces: int = 1, hang_up: Callable[[str], None] | None = None) -> None:
        size = max(1, -(-len(raw) // pieces))
        self._body = [raw[i : i + size] for i in range(0, len(raw), size)] or [b""]
        self.gone = anyio.Event()
        self.sent: list[Any] = []
        self.scope: dict[str, Any] = {
            "type": "http",
            "method": "POST",
            "path": "/v1/messages",
            "query_string": b"beta=true",
            "headers": [(name.encode(), value.encode()) for name, value in HEADERS.items()],
        }
        if hang_up is not None:
            self.scope["extensions"] = {HANG_UP: lambda how: self._hang_up(hang_up, how)}

    def _hang_up(self, tell: Callable[[str], None], how: str) -> None:
        tell(how)
        self.gone.set()

    async def receive(self) -> dict[str, Any]:
        if self._body:
            body = self._body.pop(0)
            return {"type": "http.request", "body": body, "more_body": bool(self._body)}
        await self.gone.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Any) -> None:
        self.sent.append(message)

    @property
    def raw(self) -> bytes:
        return b"".join(message["body"] for message in self.sent[1:])


def body(**fields: Any) -> bytes:
    return json.dumps({**REQUEST, **fields}, ensure_ascii=False).encode()


async def test_a_body_in_pieces_is_one_request() -> None:
    api = MessagesAPI("Ja")
    connection = Connection(body(), pieces=7)
    await api.app(connection.scope, connection.receive, connection.send)
    assert connection.sent[0]["status"] == 200
    assert (b"request-id", b"req_000001") in connection.sent[0]["headers"]
    assert json.loads(connection.raw)["content"] == [{"type": "text", "text": "Ja"}]
    assert connection.sent[-1] == {"type": "http.response.body", "body": b"", "more_body": False}
    assert api.requests[0].body == REQUEST


async def test_each_event_is_a_piece_of_its_own() -> None:
    connection = Connection(body(stream=True))
    await MessagesAPI("eins zwei").app(connection.scope, connection.receive, connection.send)
    pieces = [message["body"] for message in connection.sent[1:-1]]
    assert [len(parse_events(piece)) for piece in pieces] == [1] * 8


async def test_a_cut_stream_hangs_up_without_an_end() -> None:
    said: list[str] = []
    connection = Connection(body(stream=True), hang_up=said.append)
    await MessagesAPI([faults.cut("x", after=2)]).app(connection.scope, connection.receive, connection.send)
    assert said == ["cut"]
    assert [message["more_body"] for message in connection.sent[1:]] == [True, True]


@pytest.mark.parametrize(("fault", "how"), [(faults.reset(), "reset"), (faults.refused(), "refused")])
async def test_a_lost_connection_hangs_up_without_a_response(fault: Any, how: str) -> None:
    said: list[str] = []
    connection = Connection(body(), hang_up=said.append)
    await MessagesAPI([fault]).app(connection.scope, connection.receive, connection.send)
    assert (said, connection.sent) == ([how], [])


async def test_on_another_server_a_cut_stream_returns_without_an_end() -> None:
    connection = Connection(body(stream=True))
    await MessagesAPI([faults.cut("x", after=2)]).app(connection.scope, connection.receive, connection.send)
    assert connection.sent[-1]["more_body"] is True


async def test_a_client_that_leaves_stops_its_stream() -> None:
    async def leave(seconds: float) -> None:
        connection.gone.set()
        await anyio.sleep_forever()

    api = MessagesAPI([faults.slow("eins zwei", between=60)], sleep=leave)
    connection = Connection(body(stream=True))
    await api.app(connection.scope, connection.receive, connection.send)
    assert api.requests[0].outcome == "abandoned"


async def test_a_client_that_leaves_before_its_body_was_read_asked_nothing() -> None:
    api = MessagesAPI("unused")
    connection = Connection(body(), pieces=2)
    connection._body.pop()
    connection.gone.set()

    async def receive() -> dict[str, Any]:
        message = await connection.receive()
        return {**message, "more_body": True} if message["type"] == "http.request" else message

    await api.app(connection.scope, receive, connection.send)
    assert (api.requests, connection.sent) == ([], [])


async def test_a_body_over_32_megabytes_is_not_read_to_its_end() -> None:
    taken = 0

    async def receive() -> dict[str, Any]:
        nonlocal taken
        if taken > 40:
            await anyio.sleep_forever()
        taken += 1
        return {"type": "http.request", "body": b" " * (1024 * 1024), "more_body": True}

    connection = Connection(b"")
    await MessagesAPI().app(connection.scope, receive, connection.send)
    assert connection.sent[0]["status"] == 413
    assert taken <= 41


async def test_lifespan_and_websockets_are_answered() -> None:
    app = MessagesAPI().app
    sent: list[str] = []
    waiting = [{"type": "lifespan.startup"}, {"type": "lifespan.shutdown"}]

    async def receive() -> Any:
        return waiting.pop(0)

    async def send(message: Any) -> None:
        sent.append(message["type"])

    await app({"type": "lifespan"}, receive, send)
    await app({"type": "websocket"}, receive, send)
    assert sent == ["lifespan.startup.complete", "lifespan.shutdown.complete", "websocket.close"]
