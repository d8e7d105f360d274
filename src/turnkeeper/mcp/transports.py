"""How a server is reached: a program over stdin and stdout, an endpoint over HTTP, an object in this process.

Each transport says when the other side is gone, which the library's own client keeps to itself; a program's stderr goes
to the log, with its last lines kept for the message that it could not be started.
"""

from __future__ import annotations

import logging
import os
import threading
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from contextvars import ContextVar
from types import TracebackType
from typing import Any

import anyio
import httpx2
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

from turnkeeper.mcp.configuration import ServerEntry
from turnkeeper.mcp.mending import mended
from turnkeeper.mcp.unseen import printable
from turnkeeper.tools.masking import mask
from turnkeeper.tools.wording import clean

__all__ = ("FATE", "Fate", "LastWords", "Watched", "opened_streams")

logger = logging.getLogger("turnkeeper.mcp")

_CONNECT_SECONDS = 10.0
_NOT_FOUND = 404
_LONGEST_LINE = 2_000
_KEPT_LINES = 5


class LastWords:
    """Takes what a server's program writes to stderr: to the log line by line, the last lines for an error message."""

    def __init__(self, server: str) -> None:
        self._server = server
        self._lines: deque[str] = deque(maxlen=_KEPT_LINES)
        reader, self._writer = os.pipe()
        self._file = os.fdopen(self._writer, "w", encoding="utf-8")
        self._thread = threading.Thread(target=self._read, args=(reader,), name=f"stderr of {server}", daemon=True)
        self._thread.start()

    @property
    def file(self) -> Any:
        """Where the program writes."""
        return self._file

    def _read(self, descriptor: int) -> None:
        with os.fdopen(descriptor, "rb") as stream:
            for raw in iter(lambda: stream.readline(_LONGEST_LINE), b""):
                line = mask(printable(clean(raw.decode("utf-8", "replace")))).rstrip()
                if line:
                    self._lines.append(line)
                    logger.info("MCP server %s says: %s", self._server, line)

    def end(self) -> str:
        """Let go of this process's own end; the last lines so far."""
        if not self._file.closed:
            self._file.close()
        self._thread.join(0.2)  # what a program that has ended wrote is in the pipe
        return "\n".join(self._lines)


class Watched:
    """A stream of messages that tells when it has ended, its listings made sound."""

    def __init__(self, stream: Any, ended: Callable[[], None]) -> None:
        self._stream = stream
        self._ended = ended

    @property
    def last_context(self) -> Any:
        """The sender's context variables, where the stream carries them."""
        return getattr(self._stream, "last_context", None)

    async def receive(self) -> Any:
        """The next message."""
        try:
            return mended(await self._stream.receive())
        except (anyio.EndOfStream, anyio.ClosedResourceError, anyio.BrokenResourceError):
            self._ended()
            raise

    async def aclose(self) -> None:
        """Close it."""
        await self._stream.aclose()

    def __aiter__(self) -> Watched:
        return self

    async def __anext__(self) -> Any:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def __aenter__(self) -> Watched:
        await self._stream.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        found: bool | None = await self._stream.__aexit__(kind, error, trace)
        return found


class Fate:
    """What is known of one call's request beyond its answer."""

    forgotten = False
    """The endpoint did not know the session any more, and so did nothing."""


FATE: ContextVar[Fate] = ContextVar("FATE")
"""Set around a call; the library sends a request in the context of whoever makes it."""


async def _noted(response: httpx2.Response) -> None:
    # 404 for a request with a session's id means just this, and a new session is to be begun (MCP 2025-11-25,
    # "Transports"); what the body says differs from server to server.
    if response.status_code == _NOT_FOUND and "mcp-session-id" in response.request.headers:
        FATE.get(Fate()).forgotten = True


@asynccontextmanager
async def opened_streams(
    entry: ServerEntry, *, ended: Callable[[], None], words: LastWords | None
) -> AsyncIterator[tuple[Any, Any]]:
    """The two streams of a server that is reached over a transport; `ended` is called when nothing comes any more."""
    if entry.command is not None:
        assert words is not None
        parameters = StdioServerParameters(
            command=entry.command, args=list(entry.args), env=dict(entry.env) or None, cwd=entry.cwd
        )
        async with stdio_client(parameters, errlog=words.file) as (read, write):
            yield Watched(read, ended), write
        return
    assert entry.url is not None
    # Whatever a call may take is its tool's timeout; the client must not give up earlier.
    patience = None if entry.timeout is None else entry.timeout + _CONNECT_SECONDS
    timeout = httpx2.Timeout(_CONNECT_SECONDS, read=patience)
    hooks = {"response": [_noted]}
    client = httpx2.AsyncClient(headers=dict(entry.headers), timeout=timeout, event_hooks=hooks)
    async with (
        client,
        streamable_http_client(entry.url, http_client=client) as (read, write),
    ):
        yield Watched(read, ended), write
