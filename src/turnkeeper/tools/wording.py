"""Text as it may be sent: valid Unicode, never over its limit, values shown short."""

from __future__ import annotations

import json
from typing import Any

from turnkeeper.types import fold_surrogates as clean

__all__ = ("KIND_WORDS", "clean", "clean_value", "cut", "json_kind", "shown")

KIND_WORDS = {
    "string": "a string",
    "integer": "an integer",
    "number": "a number",
    "boolean": "true or false",
    "array": "an array",
    "object": "an object",
    "null": "null",
}
"""JSON Schema's type names, as words for a sentence."""

_SHOWN = 80


def clean_value(value: Any) -> Any:
    """A copy of a JSON value with every string in it, keys too, made clean."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, list):
        return [clean_value(item) for item in value]
    if isinstance(value, dict):
        return {clean_value(key): clean_value(item) for key, item in value.items()}
    return value


def cut(text: str, limit: int) -> str:
    """`text` in at most `limit` characters; a cut text ends with a mark that says how much is gone."""
    if len(text) <= limit:
        return text
    total = len(text)
    room = max(limit - len(_mark(total, total)), 0)
    return (text[:room] + _mark(total - room, total))[:limit]


def _mark(left_out: int, total: int) -> str:
    return f"\n[truncated: {left_out} of {total} characters were cut]"


def json_kind(value: Any) -> str:
    """JSON Schema's name for the type of a value that came from JSON."""
    if value is None:
        return "null"
    kinds: tuple[tuple[type, str], ...] = (
        (bool, "boolean"),
        (str, "string"),
        (int, "integer"),
        (float, "number"),
        (dict, "object"),
        (list, "array"),
    )
    return next((name for kind, name in kinds if isinstance(value, kind)), "object")


def shown(value: Any) -> str:
    """A value from the model's arguments as compact JSON, shortened to about 80 characters."""
    try:
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=lambda _: "…")
    except (TypeError, ValueError, RecursionError):
        text = f"({KIND_WORDS[json_kind(value)]})"
    text = clean(text)
    if len(text) <= _SHOWN:
        return text
    return f"{text[:_SHOWN]}… ({len(text)} characters)"
