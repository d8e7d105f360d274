"""What a client must keep to itself: the keys it signs with, kept out of what an endpoint says of its requests."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from turnkeeper.tools.masking import mask_spelled, spellings

__all__ = ("NOTHING_OWN", "Hide", "hiding", "values_of")

Hide = Callable[[Any], Any]
"""Takes text, or a JSON value with text in it, and gives it without secrets."""

_ATTRIBUTES = (
    "api_key",
    "auth_token",
    "access_token",
    "aws_secret_key",
    "aws_access_key",
    "aws_session_token",
    "webhook_key",
)
"""Where the SDK's clients (Anthropic, Bedrock, Vertex, Foundry) hold what they sign with."""
_SECRET_NAME = re.compile(r"key|token|secret|auth|cookie|credential|sig|pass|code", re.IGNORECASE)
_HARMLESS_HEADERS = frozenset({"idempotency-key"})


def values_of(sdk: Any, *, headers: Mapping[str, str] | None = None, url: str = "") -> tuple[str, ...]:
    """The secrets of an SDK client, and those of a request that it sent: its headers, its address."""
    found = [getattr(sdk, name, None) for name in _ATTRIBUTES]
    for name, value in (headers or {}).items():
        if _is_secret(name):
            found += [value, *value.split(" ", 1)[1:], *(part.partition("=")[2] for part in value.split(";"))]
    for one in (str(getattr(sdk, "base_url", "")), url):
        found += _in_url(one)
    return tuple(one for one in found if isinstance(one, str) and one)


@functools.lru_cache(maxsize=512)
def _is_secret(header: str) -> bool:
    return _SECRET_NAME.search(header) is not None and header.lower() not in _HARMLESS_HEADERS


def _in_url(url: str) -> list[str]:
    if "@" not in url and "?" not in url:  # as good as all: asked for each answer, so not taken apart
        return []
    found: list[str] = []
    try:
        parts = urlsplit(url)
        found += (unquote(one) for one in (parts.username, parts.password) if one)
        found += (value for name, value in parse_qsl(parts.query) if _SECRET_NAME.search(name))
    except ValueError:
        pass
    return found


def hiding(values: tuple[str, ...]) -> Hide:
    """A function that hides these values, and whatever else looks like a key, in any text inside a JSON value."""

    spelled = spellings(values)

    def hide(value: Any) -> Any:
        if isinstance(value, str):
            return mask_spelled(value, spelled)
        if isinstance(value, Mapping):
            return {hide(key): hide(one) for key, one in value.items()}
        if isinstance(value, list):
            return [hide(one) for one in value]
        return value

    return hide


NOTHING_OWN = hiding(())
"""Hides what looks like a key."""
