"""The one place where the SDK's and the transport's exceptions become `turnkeeper.errors.APIError`."""

from __future__ import annotations

import email.utils
import time
from collections.abc import Mapping
from typing import Any

import anthropic
import httpx2

from turnkeeper.client.own_secrets import NOTHING_OWN, Hide
from turnkeeper.core.retries import is_retryable
from turnkeeper.errors import APIError
from turnkeeper.wire.json import fold_surrogates

__all__ = ("failure_from", "failure_in_stream")

_LONGEST_TEXT = 2_000
_LONGEST_READ = 50_000
"""Characters of an answer's text that are looked through for secrets; what is passed on is the beginning of them."""
_LONGEST_KIND = 100
_NO_MESSAGE = "the stream ended with an error event"


def failure_from(error: Exception, hide: Hide) -> APIError | None:
    """The APIError for an exception of one request, None for one that isn't about the API.

    The message is the server's own where the envelope has one, with what `hide` knows to be secret masked: an endpoint
    may repeat the key, or the headers that it came in. The text of a 401 is not passed on at all. A TimeoutError may
    come from any part of a client, such as what fetches its credentials. A note says what it came from, for tracebacks:
    the exception itself is best left out of them, since its text and that of its causes may hold what was sent.
    """
    found = _translated(error, hide)
    if found is not None and not isinstance(error, anthropic.APIStatusError):
        chain: list[str] = []
        cause: BaseException | None = error
        while cause is not None and len(chain) < 5:
            chain.append(_short(f"{type(cause).__name__}: {cause}", hide))
            cause = cause.__cause__ or cause.__context__
        found.add_note("from " + ", from ".join(chain))
    return found


def _translated(error: Exception, hide: Hide) -> APIError | None:
    if isinstance(error, anthropic.APIStatusError):
        return _from_status(error, hide)
    if isinstance(error, anthropic.APITimeoutError | httpx2.TimeoutException | TimeoutError):
        return APIError("the request timed out", kind="timeout_error", retryable=True)
    if isinstance(error, anthropic.APIConnectionError | httpx2.RequestError):
        cause = error.__cause__ or error
        text = f"the connection to the API failed ({type(cause).__name__})"
        return APIError(text, kind="connection_error", retryable=True)
    if isinstance(error, anthropic.AnthropicError):
        return APIError(_short(str(error), hide), kind="client_error")
    return None


def _short(text: str, hide: Hide) -> str:
    # masked before it is cut: half a key would be found by no pattern
    return fold_surrogates(str(hide(text[:_LONGEST_READ]))[:_LONGEST_TEXT])


def _from_status(error: anthropic.APIStatusError, hide: Hide) -> APIError:
    headers = error.response.headers
    envelope = _envelope(error.body)
    kind = _type(envelope, hide) or _kind_for(error.status_code)
    details = _details(envelope)
    return APIError(
        _text(error.status_code, error.body, hide),
        kind=kind,
        status=error.status_code,
        retryable=is_retryable(kind, error.status_code, error_code=_code(details), told=headers.get("x-should-retry")),
        retry_after=_retry_after(headers),
        request_id=hide(error.request_id),
        details=hide(details),
    )


def _envelope(body: object) -> Mapping[str, Any]:
    """The error object of an answer; endpoints that only imitate the API may send anything in its place."""
    inner = body.get("error") if isinstance(body, Mapping) else None
    return inner if isinstance(inner, Mapping) else {}


def _type(envelope: Mapping[str, Any], hide: Hide) -> str | None:
    found = envelope.get("type")
    return _short(found, hide)[:_LONGEST_KIND] if isinstance(found, str) and found else None


def _details(envelope: Mapping[str, Any]) -> dict[str, Any] | None:
    found = envelope.get("details")
    return dict(found) if isinstance(found, Mapping) else None


def _code(details: Mapping[str, Any] | None) -> str | None:
    found = details.get("error_code") if details else None
    return found if isinstance(found, str) else None


def _text(status: int, body: object, hide: Hide) -> str:
    if status == 401:
        return "the API refused the key (401); check ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN"
    places = body if isinstance(body, Mapping) else {}
    for said in (_envelope(body).get("message"), places.get("error"), places.get("message"), places.get("detail")):
        if isinstance(said, str) and said:
            return _short(said, hide)
    return f"the endpoint answered {status} without an error message"


def _kind_for(status: int) -> str:
    """For answers without the API's envelope, such as an HTML page of a proxy. Names: platform docs, api/errors."""
    known = {
        400: "invalid_request_error",
        401: "authentication_error",
        402: "billing_error",
        403: "permission_error",
        404: "not_found_error",
        408: "timeout_error",
        409: "conflict_error",
        413: "request_too_large",
        429: "rate_limit_error",
        504: "timeout_error",
        529: "overloaded_error",
    }
    return known.get(status, "api_error" if status >= 500 else "unknown_error")


def _retry_after(headers: Mapping[str, str]) -> float | None:
    for name, unit in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        try:
            return float(headers[name]) / unit
        except (KeyError, ValueError):
            continue
    when = email.utils.parsedate_tz(headers.get("retry-after", ""))
    try:
        return None if when is None else max(email.utils.mktime_tz(when) - time.time(), 0.0)
    except (ValueError, OverflowError):
        return None


def failure_in_stream(data: Any, request_id: str | None, hide: Hide = NOTHING_OWN) -> APIError:
    """An `event: error` inside a stream that began with 200; it is classified by its type, not by the status."""
    envelope = _envelope(data)
    kind = _type(envelope, hide) or "api_error"
    details = _details(envelope)
    said = envelope.get("message")
    return APIError(
        _short(said, hide) if isinstance(said, str) and said else _NO_MESSAGE,
        kind=kind,
        status=200,
        retryable=is_retryable(kind, 200, error_code=_code(details)),
        request_id=request_id,
        details=hide(details),
    )
