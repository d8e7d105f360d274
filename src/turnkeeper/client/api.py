"""Requests as bytes, answers as bytes, over the SDK's public `client.post`.

The SDK signs the request, keeps the connections and makes the errors; retries are the driver's, which journals each
try, so the SDK's own are switched off. Loading this module loads the SDK.
"""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import anthropic
import httpx2

from turnkeeper.client.failures import failure_from
from turnkeeper.errors import ConfigurationError
from turnkeeper.wire.frames import CONTENT_TYPE
from turnkeeper.wire.json import decode

__all__ = ("APIClient", "RawAnswer", "RawStream")

_PATH = "/v1/messages"
_TAKE_OBJECTS = (anthropic.AsyncAnthropicBedrock, anthropic.AsyncAnthropicVertex)
"""Clients that build the address from the body, and so need it as an object."""


@dataclass(frozen=True, slots=True)
class RawAnswer:
    """A whole answer: its body and the id that the server gave the request."""

    body: bytes
    request_id: str | None


@dataclass(frozen=True, slots=True)
class RawStream:
    """A streamed answer. `chunks` raises APIError when the connection breaks; `framed`: it is no text but Amazon's
    binary event stream.
    """

    chunks: AsyncGenerator[bytes, None]
    request_id: str | None
    framed: bool


class APIClient:
    """One SDK client, used for `POST /v1/messages`.

    `sdk` is an `anthropic.AsyncAnthropic` or another of the SDK's asynchronous clients (Bedrock, Vertex, Foundry).
    Raises ConfigurationError for what is no asynchronous client.
    """

    def __init__(self, sdk: Any, *, headers: Mapping[str, str] | None = None, timeout: float | None = None) -> None:
        synchronous = hasattr(sdk, "__enter__") and not hasattr(sdk, "__aenter__")
        if not hasattr(sdk, "post") or synchronous:
            raise ConfigurationError(
                f"client must be an asynchronous client such as anthropic.AsyncAnthropic(), not {type(sdk).__name__}"
            )
        self._sdk = sdk
        # What a request carries is for the endpoint that was named, not for where that may point.
        self._options: dict[str, Any] = {"max_retries": 0, "follow_redirects": False}
        if headers:
            self._options["headers"] = dict(headers)
        if timeout is not None:
            self._options["timeout"] = httpx2.Timeout(timeout, connect=5.0)
        self._as_object = isinstance(sdk, _TAKE_OBJECTS)

    @classmethod
    def connect(
        cls,
        *,
        api_key: str | None = None,
        base_url: str | None = None,
        headers: Mapping[str, str] | None = None,
        timeout: float | None = None,
    ) -> APIClient:
        """A client of its own for the running event loop; without `api_key` the SDK looks for credentials as always.

        An endpoint with a `base_url` may need none, and gets a placeholder then. ConfigurationError if there are none.
        Dropped without `aclose`, it closes its connections when it is collected.
        """
        try:
            sdk = anthropic.AsyncAnthropic(api_key=api_key, base_url=base_url, max_retries=0)
        except (anthropic.AnthropicError, ValueError) as error:
            raise ConfigurationError(f"the credentials can't be used: {error}") from error
        if sdk.api_key is None and sdk.auth_token is None and sdk.credentials is None:
            if str(sdk.base_url).startswith("https://api.anthropic.com"):
                raise ConfigurationError(
                    "no API key: set ANTHROPIC_API_KEY, pass api_key= or client=, or use turnkeeper.testing.MessagesAPI"
                    " to run without one"
                )
            sdk = anthropic.AsyncAnthropic(api_key="none", base_url=base_url, max_retries=0)
        client = cls(sdk, headers=headers, timeout=timeout)
        weakref.finalize(client, _close_on, asyncio.get_running_loop(), sdk).atexit = False
        return client

    def _payload(self, body: bytes) -> dict[str, Any]:
        return {"body": decode(body.decode())} if self._as_object else {"content": body}

    async def send(self, body: bytes) -> RawAnswer:
        """One request, answered whole. Raises APIError."""
        with _translated():
            response = await self._sdk.post(
                _PATH, cast_to=httpx2.Response, options=self._options, **self._payload(body)
            )
        return RawAnswer(response.content, response.headers.get("request-id"))

    @asynccontextmanager
    async def stream(self, body: bytes) -> AsyncIterator[RawStream]:
        """One request, answered as a stream: `async with client.stream(body) as answer`. Raises APIError."""
        with _translated():
            response = await self._sdk.post(
                _PATH,
                cast_to=httpx2.Response,
                options=self._options,
                stream=True,
                stream_cls=anthropic.AsyncStream[Any],
                **self._payload(body),
            )
        framed = response.headers.get("content-type", "").startswith(CONTENT_TYPE)
        try:
            yield RawStream(_chunks(response), response.headers.get("request-id"), framed)
        finally:
            await response.aclose()

    async def aclose(self) -> None:
        """Close the connections."""
        await self._sdk.close()


_closing: set[asyncio.Task[None]] = set()


def _close_on(loop: asyncio.AbstractEventLoop, sdk: anthropic.AsyncAnthropic) -> None:
    """Close a client where its connections live; called from whichever thread collects it."""

    def begin() -> None:
        task = loop.create_task(sdk.close())
        _closing.add(task)
        task.add_done_callback(_closing.discard)

    with suppress(RuntimeError):  # the loop is closed, and its connections with it
        loop.call_soon_threadsafe(begin)


async def _chunks(response: httpx2.Response) -> AsyncGenerator[bytes, None]:
    with _translated():
        async for chunk in response.aiter_bytes():
            yield chunk


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except Exception as error:
        failure = failure_from(error)
        if failure is None:
            raise
        raise failure from error
