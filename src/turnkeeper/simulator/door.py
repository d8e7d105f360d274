"""What is checked before a request is read as a message: path, method, size, key, version, JSON.

Source: platform.claude.com/docs/en/api/errors and …/api/versioning. Texts are the API's as users reported them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import unquote

from turnkeeper.simulator.encoding import load
from turnkeeper.simulator.ledger import Refusal

__all__ = ("VERSIONS", "Endpoint", "check_door", "find_endpoint", "read_body")

MAX_BODY = 32 * 1024 * 1024
VERSIONS = ("2023-06-01", "2026-10-21")
"""Values of `anthropic-version` that the API knows."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One endpoint: what it is called here, its method, and the id in its path, if it has one."""

    name: str
    method: str
    id: str = ""


def find_endpoint(path: str) -> Endpoint | None:
    """The endpoint behind a path, None for a path that the API doesn't have (or the simulator doesn't)."""
    path = path.rstrip("/")
    if path == "/v1/messages":
        return Endpoint("messages", "POST")
    if path == "/v1/messages/count_tokens":
        return Endpoint("count_tokens", "POST")
    if path == "/v1/models":
        return Endpoint("models", "GET")
    if path.startswith("/v1/models/") and path.count("/") == 3:
        return Endpoint("model", "GET", unquote(path.rsplit("/", 1)[1]))
    return None


def check_door(method: str, path: str, headers: Mapping[str, str], size: int) -> Refusal | None:
    """Why this request is turned away before its body is read, or None. Header names are lower-case."""
    endpoint = find_endpoint(path)
    if endpoint is None:
        return Refusal("path", path, 404, "not_found_error", "Not Found", repair="the simulator has /v1/messages, …")
    if method != endpoint.method:
        text = "Method Not Allowed"
        return Refusal("method", method, 405, "invalid_request_error", text, repair=f"send {endpoint.method}")
    if size > MAX_BODY:
        return Refusal("size", "", 413, "request_too_large", "Request Entity Too Large", repair="send at most 32 MB")
    bearer = headers.get("authorization", "")
    if not headers.get("x-api-key") and not bearer.lower().startswith("bearer "):
        text = "x-api-key header is required"
        return Refusal("key", "x-api-key", 401, "authentication_error", text, repair="send any key; it isn't checked")
    version = headers.get("anthropic-version")
    if version is None:
        text = "anthropic-version: header is required"
        return Refusal(
            "version", "anthropic-version", 400, "invalid_request_error", text, repair=f"send {VERSIONS[-1]}"
        )
    if version not in VERSIONS:
        text = f'anthropic-version: "{version}" is not a valid version'
        return Refusal(
            "version", "anthropic-version", 400, "invalid_request_error", text, repair=f"send {VERSIONS[-1]}"
        )
    return None


def read_body(raw: bytes) -> dict[str, object] | Refusal:
    """The body as a JSON object, or why it isn't one."""
    repair = "send one JSON object in UTF-8"
    try:
        body = load(raw)
    except (ValueError, RecursionError) as error:
        text = f"The request body is not valid JSON: {error}"
        return Refusal("json", "", 400, "invalid_request_error", text, repair=repair)
    if not isinstance(body, dict):
        text = "The request body is not a JSON object"
        return Refusal("json", "", 400, "invalid_request_error", text, repair=repair)
    return body
