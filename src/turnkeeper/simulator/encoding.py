"""JSON as the API writes it: compact, UTF-8, keys in the order they were given."""

from __future__ import annotations

import json
from typing import Any, NoReturn

__all__ = ("dump", "dump_text", "load")


def dump_text(value: Any) -> str:
    """One line of compact JSON; letters of any script stay readable."""
    return _READABLE.encode(value)


def dump(value: Any) -> bytes:
    """The bytes of `dump_text`; unpaired surrogates are written as escapes (UTF-8 has no form for them)."""
    try:
        return dump_text(value).encode("utf-8")
    except UnicodeEncodeError:
        return _ESCAPED.encode(value).encode("ascii")


def load(raw: bytes) -> Any:
    """Parse strictly: UTF-8 only, no NaN or Infinity. Raises ValueError that says where it went wrong."""
    return json.loads(raw.decode("utf-8"), parse_constant=_refuse_constant)


_READABLE = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
_ESCAPED = json.JSONEncoder(separators=(",", ":"))


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")
