"""Errors as the API sends them: the JSON envelope, its statuses, and the HTML page of the proxy in front of it.

Source: platform.claude.com/docs/en/api/errors.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from turnkeeper.simulator.encoding import dump

__all__ = ("ERROR_STATUS", "TOO_LARGE_PAGE", "error_body", "error_type")

ERROR_STATUS: Mapping[str, int] = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "conflict_error": 409,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}
"""Error type -> HTTP status."""

TOO_LARGE_PAGE = (
    b"<html>\r\n<head><title>413 Request Entity Too Large</title></head>\r\n<body>\r\n"
    b"<center><h1>413 Request Entity Too Large</h1></center>\r\n<hr>"
    b"<center>cloudflare</center>\r\n</body>\r\n</html>\r\n"
)
"""What the proxy in front of the API answers to a body over 32 MB: HTML, no request id."""


def error_type(status: int) -> str:
    """The error type that goes with a status; other 4xx are `invalid_request_error`, other 5xx `api_error`."""
    for name, known in ERROR_STATUS.items():
        if known == status:
            return name
    return "invalid_request_error" if status < 500 else "api_error"


def error_body(
    type_: str, message: str, *, request_id: str | None = None, details: Mapping[str, Any] | None = None
) -> bytes:
    """The envelope `{"type": "error", "error": {type, message, details?}, "request_id"?}` as bytes."""
    error: dict[str, Any] = {"type": type_, "message": message}
    if details:
        error["details"] = dict(details)
    body: dict[str, Any] = {"type": "error", "error": error}
    if request_id is not None:
        body["request_id"] = request_id
    return dump(body)
