"""JSON text as the conversation keeps it: compact UTF-8, key order kept, slices taken without decoding twice."""

from __future__ import annotations

import json
import re
from typing import Any

__all__ = ("decode", "encode", "fold_surrogates", "raw_elements", "raw_members", "sendable")

_encoder = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False)
_value_at = json.JSONDecoder().raw_decode
_space = re.compile(r"[ \t\n\r]*").match


def fold_surrogates(text: str) -> str:
    """Join surrogate pairs and turn each lone surrogate into U+FFFD: UTF-8 can't carry it, and the API refuses it."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def encode(value: Any) -> str:
    """Compact JSON text with real characters, never `\\u` escapes of printable ones; always encodable as UTF-8.

    Raises ValueError for NaN and infinities, TypeError for what JSON has no form for.
    """
    return fold_surrogates(_encoder.encode(value))


def decode(text: str) -> Any:
    """Parse JSON text; raises ValueError (json.JSONDecodeError) where it isn't JSON."""
    return json.loads(text)


def sendable(raw: str) -> str:
    """JSON text as it is, unless an escape in it hides a lone surrogate, which no request can carry: then mended."""
    if "\\ud" not in raw and "\\uD" not in raw:
        return fold_surrogates(raw)
    mended = encode(decode(raw))
    return mended if mended.count("\ufffd") > raw.count("\ufffd") else raw


def _value_end(text: str, start: int) -> int:
    return _value_at(text, start)[1]


def _skip(text: str, at: int) -> int:
    found = _space(text, at)
    return found.end() if found else at


def raw_elements(text: str) -> list[str]:
    """The elements of a JSON array, each as the very text it was sent as. ValueError if `text` is no array."""
    at = _skip(text, 0)
    if text[at : at + 1] != "[":
        raise json.JSONDecodeError("Expecting an array", text, at)
    at = _skip(text, at + 1)
    elements: list[str] = []
    if text[at : at + 1] == "]":
        return elements
    while True:
        end = _value_end(text, at)
        elements.append(text[at:end])
        at = _skip(text, end)
        mark = text[at : at + 1]
        if mark == "]":
            return elements
        if mark != ",":
            raise json.JSONDecodeError("Expecting ',' delimiter", text, at)
        at = _skip(text, at + 1)


def raw_members(text: str) -> dict[str, str]:
    """The members of a JSON object: each key with its value's very text. ValueError if `text` is no object."""
    at = _skip(text, 0)
    if text[at : at + 1] != "{":
        raise json.JSONDecodeError("Expecting an object", text, at)
    at = _skip(text, at + 1)
    members: dict[str, str] = {}
    if text[at : at + 1] == "}":
        return members
    while True:
        if text[at : at + 1] != '"':
            raise json.JSONDecodeError("Expecting property name enclosed in double quotes", text, at)
        end = _value_end(text, at)
        key = json.loads(text[at:end])
        at = _skip(text, end)
        if text[at : at + 1] != ":":
            raise json.JSONDecodeError("Expecting ':' delimiter", text, at)
        at = _skip(text, at + 1)
        end = _value_end(text, at)
        members[key] = text[at:end]
        at = _skip(text, end)
        mark = text[at : at + 1]
        if mark == "}":
            return members
        if mark != ",":
            raise json.JSONDecodeError("Expecting ',' delimiter", text, at)
        at = _skip(text, at + 1)
