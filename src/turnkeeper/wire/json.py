"""JSON text as the conversation keeps it: compact UTF-8, key order kept, slices taken without decoding twice."""

from __future__ import annotations

import json
import math
import re
from typing import Any

from turnkeeper.types import fold_surrogates

__all__ = (
    "MOST_NESTED",
    "NestedTooDeepError",
    "decode",
    "encode",
    "fold_surrogates",
    "raw_elements",
    "raw_members",
    "sendable",
)

MOST_NESTED = 100
"""How many levels of lists and objects a value may hold that others sent: deeper ones would break what reads them."""


class NestedTooDeepError(ValueError):
    """JSON text whose lists and objects lie deeper in each other than may be read."""

    def __init__(self) -> None:
        super().__init__("the value is nested too deeply")


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise ValueError(f"the number {text[:40]} is too large")
    return number


_encoder = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False)
_decoder = json.JSONDecoder(parse_constant=_refuse_constant, parse_float=_finite)
_WHITE = frozenset(" \t\n\r")
_space = re.compile(r"[ \t\n\r]*").match


def encode(value: Any) -> str:
    """Compact JSON text with real characters, never `\\u` escapes of printable ones; always encodable as UTF-8.

    Raises ValueError for NaN and infinities, TypeError for what JSON has no form for.
    """
    return fold_surrogates(_encoder.encode(value))


def decode(text: str, *, most_nested: int | None = None) -> Any:
    """Parse JSON text; raises ValueError where it isn't JSON, NestedTooDeepError beyond `most_nested` levels.

    NaN and infinities are no JSON, nor is a number so large that only an infinity could stand for it: they could not
    be written down again.
    """
    try:
        value = _decoder.decode(text)
    except RecursionError:
        raise NestedTooDeepError from None
    if most_nested is not None and text.count("[") + text.count("{") > most_nested and _is_deeper(value, most_nested):
        raise NestedTooDeepError
    return value


def _is_deeper(value: Any, levels: int) -> bool:
    layer = [value]
    for _ in range(levels + 1):
        held = [one.values() if isinstance(one, dict) else one for one in layer if isinstance(one, dict | list)]
        if not held:
            return False
        layer = [inner for one in held for inner in one]
    return True


def sendable(raw: str) -> str:
    """JSON text as it is, unless an escape in it hides a lone surrogate, which no request can carry: then mended."""
    if "\\ud" not in raw and "\\uD" not in raw:
        return fold_surrogates(raw)
    mended = encode(decode(raw))
    return mended if mended.count("\ufffd") > raw.count("\ufffd") else raw


def _value_end(text: str, start: int) -> int:
    try:
        return _decoder.raw_decode(text, start)[1]
    except RecursionError:
        raise NestedTooDeepError from None


def _skip(text: str, at: int) -> int:
    if text[at : at + 1] not in _WHITE:  # as it is in what was written compactly
        return at
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


def raw_members(text: str, *, unique: bool = False) -> dict[str, str]:
    """The members of a JSON object: each key with its value's very text. ValueError if `text` is no object.

    Of a key that is there twice the last one counts, as for everybody who reads JSON; `unique` refuses it.
    """
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
        key = decode(text[at:end])
        if unique and key in members:
            raise ValueError(f"the member {key[:40]!r} is there twice")
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
