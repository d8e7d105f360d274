"""In-process transports for httpx2: a client talks to the exchange without sockets, and streams really stream."""

from __future__ import annotations

from collections.abc import AsyncIterator, Coroutine, Iterator
from typing import Any, NoReturn, TypeVar

import anyio.lowlevel
import httpx2

from turnkeeper.errors import InputError
from turnkeeper.simulator.delivery import ConnectionDroppedError, Delivery, Sleep
from turnkeeper.simulator.exchange import Exchange, Incoming

__all__ = ("AsyncTransport", "SyncTransport")

T = TypeVar("T")


class AsyncTransport(httpx2.AsyncBaseTransport):
    """For `httpx2.AsyncClient`. Delays beyond the client's read timeout end in ReadTimeout."""

    def __init__(self, exchange: Exchange, sleep: Sleep) -> None:
        self._exchange = exchange
        self._sleep = sleep

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Answer one request; the body is produced as the client reads it."""
        await request.aread()
        sleep = _timed(self._sleep, request)
        await anyio.lowlevel.checkpoint()
        try:
            delivery = await self._exchange.handle(_incoming(request), sleep=sleep)
        except ConnectionDroppedError as dropped:
            _raise(dropped, request)
        return httpx2.Response(
            delivery.status, headers=delivery.headers, stream=_AsyncBody(delivery, sleep, request), request=request
        )


class SyncTransport(httpx2.BaseTransport):
    """For `httpx2.Client`, in any thread."""

    def __init__(self, exchange: Exchange, sleep: Sleep) -> None:
        self._exchange = exchange
        self._sleep = sleep

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """Answer one request; the body is produced as the client reads it."""
        request.read()
        sleep = _timed(self._sleep, request)
        try:
            delivery = _finish(self._exchange.handle(_incoming(request), sleep=sleep))
        except ConnectionDroppedError as dropped:
            _raise(dropped, request)
        return httpx2.Response(
            delivery.status, headers=delivery.headers, stream=_SyncBody(delivery, sleep, request), request=request
        )


class _AsyncBody(httpx2.AsyncByteStream):
    def __init__(self, delivery: Delivery, sleep: Sleep, request: httpx2.Request) -> None:
        self._delivery = delivery
        self._sleep = sleep
        self._request = request

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while True:
            # A real socket lets other tasks run between two chunks.
            await anyio.lowlevel.checkpoint()
            try:
                chunk = await self._delivery.next_chunk(self._sleep)
            except ConnectionDroppedError as dropped:
                _raise(dropped, self._request)
            if chunk is None:
                return
            yield chunk

    async def aclose(self) -> None:
        self._delivery.close()


class _SyncBody(httpx2.SyncByteStream):
    def __init__(self, delivery: Delivery, sleep: Sleep, request: httpx2.Request) -> None:
        self._delivery = delivery
        self._sleep = sleep
        self._request = request

    def __iter__(self) -> Iterator[bytes]:
        while True:
            try:
                chunk = _finish(self._delivery.next_chunk(self._sleep))
            except ConnectionDroppedError as dropped:
                _raise(dropped, self._request)
            if chunk is None:
                return
            yield chunk

    def close(self) -> None:
        self._delivery.close()


def _incoming(request: httpx2.Request) -> Incoming:
    return Incoming(
        method=request.method,
        path=request.url.path,
        query=request.url.query.decode("latin-1"),
        headers={name.lower(): value for name, value in request.headers.items()},
        raw=request.content,
    )


def _timed(sleep: Sleep, request: httpx2.Request) -> Sleep:
    """A sleep that fails like a socket when nothing comes for longer than the client waits."""
    limit: float | None = request.extensions.get("timeout", {}).get("read")

    async def timed(seconds: float) -> None:
        if limit is not None and seconds > limit:
            await sleep(limit)
            raise httpx2.ReadTimeout("The read operation timed out", request=request)
        await sleep(seconds)

    return timed


def _finish(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine that never waits for an event loop; where it does, the waiting raises InputError."""
    needs_loop = InputError("a script that waits for an event loop needs the async client")
    try:
        work.send(None)
        work.throw(needs_loop)
    except StopIteration as done:
        value: T = done.value
        return value
    work.close()
    raise needs_loop


def _raise(dropped: ConnectionDroppedError, request: httpx2.Request) -> NoReturn:
    if dropped.how == "refused":
        raise httpx2.ConnectError("[Errno 111] Connection refused", request=request) from None
    if dropped.how == "reset":
        raise httpx2.ReadError("[Errno 104] Connection reset by peer", request=request) from None
    text = "peer closed connection without sending complete message body (incomplete chunked read)"
    raise httpx2.RemoteProtocolError(text, request=request) from None
