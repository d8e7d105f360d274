"""Requests as bytes, answers as bytes, over the SDK's public `client.post`.

The SDK signs the request, keeps the connections and makes the errors; retries are the driver's, which journals each
try, so the SDK's own are switched off. Loading this module loads the SDK.
"""

from __future__ import annotations

import asyncio
import os
import weakref
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any

import anthropic
import httpx2

from turnkeeper.client.chunks import Chunks, bound_refusal, patience_of
from turnkeeper.client.failures import failure_from
from turnkeeper.client.own_secrets import Hide, hiding, values_of
from turnkeeper.errors import APIError, ConfigurationError
from turnkeeper.tools.masking import mask_values
from turnkeeper.wire.frames import CONTENT_TYPE
from turnkeeper.wire.json import decode

__all__ = ("APIClient", "RawAnswer", "RawStream")

_PATH = "/v1/messages"
_BETAS = "anthropic-beta"
_KEYS = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN")
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
    binary event stream; `hide` takes the request's secrets out of what the stream says of a failure.
    """

    chunks: Chunks
    request_id: str | None
    framed: bool
    hide: Hide


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
        self._patience = patience_of(self._options.get("timeout", getattr(sdk, "timeout", None)))
        self._as_object = isinstance(sdk, _TAKE_OBJECTS)
        self._hiding: tuple[tuple[str, ...], Hide] | None = None

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
            sdk = _own(api_key, base_url)
        except (anthropic.AnthropicError, ValueError) as error:
            raise ConfigurationError(
                f"the credentials can't be used: {mask_values(str(error), _given(api_key))}"
            ) from None
        if sdk.api_key is None and sdk.auth_token is None and sdk.credentials is None:
            if str(sdk.base_url).startswith("https://api.anthropic.com"):
                raise ConfigurationError(
                    "no API key: set ANTHROPIC_API_KEY, pass api_key= or client=, or use turnkeeper.testing.MessagesAPI"
                    " to run without one"
                )
            sdk = _own("none", base_url)
        if any(not (one.isascii() and one.isprintable()) for one in (sdk.api_key, sdk.auth_token) if one):
            raise ConfigurationError(
                "the key holds characters that no key has (a blank line, a letter that is not ASCII?)"
            )
        client = cls(sdk, headers=headers, timeout=timeout)
        weakref.finalize(client, _close_on, asyncio.get_running_loop(), sdk).atexit = False
        return client

    def _payload(self, body: bytes) -> dict[str, Any]:
        return {"body": decode(body.decode())} if self._as_object else {"content": body}

    def _with(self, headers: Mapping[str, str] | None) -> dict[str, Any]:
        if not headers:
            return self._options
        given = self._options.get("headers", {})
        both = {**given, **headers}
        for name, value in given.items():
            if name.lower() == _BETAS and _BETAS in headers:
                both[name] = f"{value},{headers[_BETAS]}"
        return {**self._options, "headers": both}

    async def send(self, body: bytes, *, headers: Mapping[str, str] | None = None) -> RawAnswer:
        """One request, answered whole; `headers` are its own. Raises APIError."""
        async with self.stream(body, headers=headers) as answer:
            return RawAnswer(b"".join([chunk async for chunk in answer.chunks]), answer.request_id)

    @asynccontextmanager
    async def stream(self, body: bytes, *, headers: Mapping[str, str] | None = None) -> AsyncIterator[RawStream]:
        """One request, answered as a stream: `async with client.stream(body) as answer`. Raises APIError."""
        response = await self._post(body, headers)
        framed = response.headers.get("content-type", "").startswith(CONTENT_TYPE)
        hide = self._hide(response.request)
        try:
            chunks = Chunks(_chunks(response, hide), patience=self._patience)
            yield RawStream(chunks, _request_id(response, hide), framed, hide)
        finally:
            await response.aclose()

    async def _post(self, body: bytes, headers: Mapping[str, str] | None) -> httpx2.Response:
        """The answer, not read yet: an answer asked for as a whole is read here as well, within bounds."""
        # The failure is raised outside of the handler: no traceback, and no tool that reads them, finds the exception
        # of the SDK behind it, whose text and request hold keys.
        try:
            response: httpx2.Response = await self._sdk.post(
                _PATH,
                cast_to=httpx2.Response,
                options=self._with(headers),
                stream=True,
                stream_cls=anthropic.AsyncStream[Any],
                **self._payload(body),
            )
        except Exception as error:
            failure = self._failure(error)
            if failure is None:
                raise
        else:
            return response
        raise failure

    def _failure(self, error: Exception) -> APIError | None:
        return failure_from(error, self._hide(error.request if isinstance(error, anthropic.APIError) else None))

    def _hide(self, request: httpx2.Request | None) -> Hide:
        headers = {**self._options.get("headers", {}), **(request.headers if request is not None else {})}
        values = values_of(self._sdk, headers=headers, url=str(request.url) if request is not None else "")
        if self._hiding is None or self._hiding[0] != values:  # a client signs with the same keys for long
            self._hiding = values, hiding(values)
        return self._hiding[1]

    async def aclose(self) -> None:
        """Close the connections."""
        await self._sdk.close()


def _request_id(response: httpx2.Response, hide: Hide) -> str | None:
    found = response.headers.get("request-id")
    return None if found is None else str(hide(found))


def _own(api_key: str | None, base_url: str | None) -> anthropic.AsyncAnthropic:
    http = anthropic.DefaultAsyncHttpxClient(event_hooks={"response": [bound_refusal]})
    return anthropic.AsyncAnthropic(api_key=api_key, base_url=base_url, max_retries=0, http_client=http)


_closing: set[asyncio.Task[None]] = set()


def _close_on(loop: asyncio.AbstractEventLoop, sdk: anthropic.AsyncAnthropic) -> None:
    """Close a client where its connections live; called from whichever thread collects it."""

    def begin() -> None:
        task = loop.create_task(sdk.close())
        _closing.add(task)
        task.add_done_callback(_closing.discard)

    with suppress(RuntimeError):  # the loop is closed, and its connections with it
        loop.call_soon_threadsafe(begin)


async def _chunks(response: httpx2.Response, hide: Hide) -> AsyncGenerator[bytes, None]:
    failure = None
    try:
        async for chunk in response.aiter_bytes():
            yield chunk
    except Exception as error:
        failure = failure_from(error, hide)
        if failure is None:
            raise
    if failure is not None:
        raise failure


def _given(key: str | None) -> list[str]:
    """The keys that a client is made of."""
    return [one for one in (key, *(os.environ.get(name) for name in _KEYS)) if one]
