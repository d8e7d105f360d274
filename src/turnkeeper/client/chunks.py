"""The bytes of an answer, bounded: how many, how long without a sign of life, how long in all.

The transport's own time-out is for each read: an endpoint that sends one byte now and then never meets it. What is
compressed is counted as it is unpacked.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any, Self

import anyio
import httpx2

from turnkeeper.errors import APIError
from turnkeeper.wire.sse import LARGEST_EVENT

__all__ = ("LARGEST_REPLY", "LONGEST_REPLY", "Chunks", "bound_refusal", "patience_of")

LARGEST_REPLY = LARGEST_EVENT
"""Bytes of an answer, unpacked. A request may have 32 MB, so that a larger reply could not be sent back anyway."""
LONGEST_REPLY = 2 * 3600.0
"""Seconds that an answer may take in all."""
_LARGEST_REFUSAL = 64 * 2**10
"""Bytes of an answer that is an error, as they come; unpacked they are a thousand times more at the most."""
_PATIENCE = 600.0
_PINGS = 3
"""Times the patience that pings alone may hold a connection."""


class Chunks:
    """`async for chunk in chunks`; `alive()` says that a whole event came.

    Raises APIError: `malformed_reply` beyond LARGEST_REPLY; `timeout_error` after `patience` seconds without an event
    (None: no limit), after three times as long with nothing but pings (a model may think for long, and the API pings
    meanwhile), or after LONGEST_REPLY in all.
    """

    def __init__(self, chunks: AsyncGenerator[bytes, None], *, patience: float | None) -> None:
        self._chunks = chunks
        self._patience = patience
        self._left = LARGEST_REPLY
        self._until = anyio.current_time() + LONGEST_REPLY
        self._alive_at = self._moved_at = anyio.current_time()

    def alive(self, *, moved: bool) -> None:
        """An event came; `moved`: it moves the reply on."""
        self._alive_at = anyio.current_time()
        if moved:
            self._moved_at = self._alive_at

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        quiet = self._until
        if self._patience is not None:
            quiet = min(self._alive_at + self._patience, self._moved_at + _PINGS * self._patience)
        left = min(quiet, self._until) - anyio.current_time()
        try:
            if left <= 0:  # what comes at once would come before any cancellation
                raise TimeoutError
            with anyio.fail_after(left):
                chunk = await anext(self._chunks)
        except TimeoutError:
            how = "went on for too long" if quiet >= self._until else "brought nothing for too long"
            raise APIError(f"the answer {how}", kind="timeout_error", retryable=True) from None
        self._left -= len(chunk)
        if self._left < 0:
            text = f"the answer is not a message: it is larger than {LARGEST_REPLY} bytes"
            raise APIError(text, kind="malformed_reply", status=200, retryable=True)
        return chunk

    async def aclose(self) -> None:
        """Read no more."""
        await self._chunks.aclose()


def patience_of(timeout: Any) -> float | None:
    """How long an SDK client waits for a read; None for ever."""
    if isinstance(timeout, httpx2.Timeout):
        return timeout.read
    if timeout is None or (isinstance(timeout, int | float) and not isinstance(timeout, bool)):
        return timeout
    return _PATIENCE


class _Bounded(httpx2.AsyncByteStream):
    def __init__(self, stream: httpx2.AsyncByteStream) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncGenerator[bytes, None]:
        left = _LARGEST_REFUSAL
        async for chunk in self._stream:
            yield chunk[:left]
            left -= len(chunk)
            if left <= 0:
                return

    async def aclose(self) -> None:
        await self._stream.aclose()


async def bound_refusal(response: httpx2.Response) -> None:
    """For a client's hook on responses: the SDK reads the answer to a failed request whole, so it is cut before."""
    if response.status_code >= 400 and isinstance(response.stream, httpx2.AsyncByteStream):
        if response.headers.get("content-encoding", "identity").lower() not in ("identity", "gzip", "deflate"):
            del response.headers["content-encoding"]
        response.stream = _Bounded(response.stream)
