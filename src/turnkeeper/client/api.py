"""Requests as bytes, answers as bytes, over the SDK's public `client.post`.

The SDK signs the request, keeps the connections and makes the errors; retries are the driver's, which journals each
try, so the SDK's own are switched off. Loading this module loads the SDK.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import anthropic
import httpx2

from turnkeeper.client.failures import failure_from
from turnkeeper.errors import ConfigurationError
from turnkeeper.wire.json import decode

__all__ = ("APIClient", "RawAnswer")

_PATH = "/v1/messages"


@dataclass(frozen=True, slots=True)
class RawAnswer:
    """A whole answer: its body and the id that the server gave the request."""

    body: bytes
    request_id: str | None


class APIClient:
    """One SDK client, used for `POST /v1/messages`.

    `sdk` is an `anthropic.AsyncAnthropic` or another of the SDK's asynchronous clients (Bedrock, Vertex, Foundry).
    """

    def __init__(self, sdk: Any, *, headers: Mapping[str, str] | None = None, timeout: float | None = None) -> None:
        if not hasattr(sdk, "post") or isinstance(sdk, anthropic.Anthropic):
            raise ConfigurationError(
                f"client must be an asynchronous client such as anthropic.AsyncAnthropic(), not {type(sdk).__name__}"
            )
        self._sdk = sdk
        self._options: dict[str, Any] = {"max_retries": 0}
        if headers:
            self._options["headers"] = dict(headers)
        if timeout is not None:
            self._options["timeout"] = httpx2.Timeout(timeout, connect=5.0)
        # The platforms' clients read the body to build the address, so they need it as an object.
        self._as_object = type(sdk).__module__.startswith("anthropic.lib.")

    @classmethod
    def connect(
        cls,
        *,
        api_key: str | None = None,
        base_url: str | None = None,
        headers: Mapping[str, str] | None = None,
        timeout: float | None = None,
    ) -> APIClient:
        """A client of its own; without `api_key` the SDK looks for credentials where it always does.

        An endpoint with a `base_url` may need none, and gets a placeholder then. ConfigurationError if there are none.
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
        return cls(sdk, headers=headers, timeout=timeout)

    def _payload(self, body: bytes) -> dict[str, Any]:
        return {"body": decode(body.decode())} if self._as_object else {"content": body}

    async def send(self, body: bytes) -> RawAnswer:
        """One request, answered whole. Raises APIError."""
        try:
            response = await self._sdk.post(
                _PATH, cast_to=httpx2.Response, options=self._options, **self._payload(body)
            )
        except Exception as error:
            raise (failure_from(error) or error) from error
        return RawAnswer(response.content, response.headers.get("request-id"))

    @asynccontextmanager
    async def stream(self, body: bytes) -> AsyncIterator[tuple[AsyncIterator[bytes], str | None]]:
        """One request, answered as a stream: `async with client.stream(body) as (chunks, request_id)`.

        Raises APIError, also from `chunks` when the connection breaks.
        """
        try:
            response = await self._sdk.post(
                _PATH,
                cast_to=httpx2.Response,
                options=self._options,
                stream=True,
                stream_cls=anthropic.AsyncStream[Any],
                **self._payload(body),
            )
        except Exception as error:
            raise (failure_from(error) or error) from error
        try:
            yield _chunks(response), response.headers.get("request-id")
        finally:
            await response.aclose()

    async def aclose(self) -> None:
        """Close the connections."""
        await self._sdk.close()


async def _chunks(response: httpx2.Response) -> AsyncIterator[bytes]:
    try:
        async for chunk in response.aiter_bytes():
            yield chunk
    except Exception as error:
        raise (failure_from(error) or error) from error
