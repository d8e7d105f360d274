"""The journal and the connection to the API, with points at each of their boundaries."""

from __future__ import annotations

import inspect
import json
import threading
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import httpx2

from tests.crash.points import Points
from turnkeeper.core.events import Event
from turnkeeper.journal import Journal, Lease
from turnkeeper.journal.port import Transaction

__all__ = ("Pace", "WatchedJournal", "WatchedTransport")


READING = frozenset(
    {"backlog", "conversations", "first", "message", "queued", "read", "unfinished", "verify", "waiting"}
)


class Pace:
    """How an effect and the renewals of the lease wait for each other: `begun` by the effect, then `renewed`."""

    def __init__(self) -> None:
        self.begun = threading.Event()
        self.renewed = threading.Event()


class WatchedJournal:
    """A journal of the port, with points around whatever is done to it."""

    def __init__(self, journal: Journal, points: Points, pace: Pace) -> None:
        self._journal = journal
        self._points = points
        self._pace = pace

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._journal, name)
        if not inspect.iscoroutinefunction(found):
            return found

        async def watched(*args: Any, **options: Any) -> Any:
            with self._points.around(name, writes=name not in READING):
                return await found(*args, **options)

        return watched

    async def append(
        self, conversation_id: str, events: Sequence[Event], *, after: int, token: int | None = None
    ) -> int:
        with self._points.around(_named("append", events)):
            return await self._journal.append(conversation_id, events, after=after, token=token)

    @asynccontextmanager
    async def transaction(self, conversation_id: str, *, token: int | None) -> AsyncIterator[Any]:
        self._points.at("transaction: before")
        async with self._journal.transaction(conversation_id, token=token) as opened:
            self._points.at("transaction: begun")
            yield _WatchedTransaction(opened, self._points)

    async def renew(self, lease: Lease, *, seconds: float, now: float) -> Lease:
        during = self._pace.begun.is_set()
        with self._points.around("renew during the effect" if during else "renew"):
            lease = await self._journal.renew(lease, seconds=seconds, now=now)
        if during:
            self._pace.renewed.set()
        return lease


class _WatchedTransaction:
    def __init__(self, opened: Transaction, points: Points) -> None:
        self._opened = opened
        self._points = points

    def __getattr__(self, name: str) -> Any:
        return getattr(self._opened, name)

    async def commit(self, events: Sequence[Event], *, after: int) -> int:
        with self._points.around(_named("commit", events)):
            return await self._opened.commit(events, after=after)


def _named(what: str, events: Sequence[Event]) -> str:
    return f"{what} {', '.join(event.type for event in events) or 'nothing'}"


class WatchedTransport(httpx2.AsyncBaseTransport):
    """Real connections. The reply is handed on event by event, so that the points in a stream are always the same."""

    def __init__(self, points: Points) -> None:
        self._inner = httpx2.AsyncHTTPTransport(verify=False)
        self._points = points
        self._requests = 0

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        self._requests += 1
        name = f"request {self._requests}"

        async def trace(event: str, info: object) -> None:
            del info
            if event == "http11.send_request_body.complete":
                self._points.at(f"{name}: sent")

        request.extensions["trace"] = trace
        self._points.at(f"{name}: before")
        response = await self._inner.handle_async_request(request)
        self._points.at(f"{name}: answer begins")
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        return httpx2.Response(
            response.status_code,
            headers=response.headers,
            stream=_WatchedStream(response.stream, name, self._points),
            extensions=response.extensions,
        )

    async def aclose(self) -> None:
        await self._inner.aclose()


class _WatchedStream(httpx2.AsyncByteStream):
    def __init__(self, stream: httpx2.AsyncByteStream, name: str, points: Points) -> None:
        self._stream = stream
        self._name = name
        self._points = points

    async def __aiter__(self) -> AsyncIterator[bytes]:
        rest = b""
        async for chunk in self._stream:
            *events, rest = (rest + chunk).split(b"\n\n")
            for event in events:
                data = json.loads(event.partition(b"data:")[2])
                self._points.at(f"{self._name}: {data['type']} arrives")
                yield event + b"\n\n"
        if rest:
            yield rest
        self._points.at(f"{self._name}: answer has ended")

    async def aclose(self) -> None:
        await self._stream.aclose()
