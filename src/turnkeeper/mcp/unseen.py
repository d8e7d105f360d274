"""Characters in a server's definitions that nobody sees and a model reads, and sequences that a terminal obeys.

A person who accepts a tool must see what the model is told. Texts lose such characters; what arguments are judged by (a
name, a choice, a pattern) can't lose them and mean the same, so that it is refused. Joiners and the emoji selector stay
where writing needs them: behind a letter of a script that joins, behind a sign.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from turnkeeper.errors import ToolDefinitionError

__all__ = ("printable", "seen", "seen_schema")

_JOINING = "\u0600-\u08ff\u0900-\u0dff\u0f00-\u109f\u1780-\u18af\ufb50-\ufdff\ufe70-\ufefc"
_SIGNS = "\u00a9\u00ae\u203c\u2049\u2122\u2139\u2190-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001faff"
_HIDDEN = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0e\ufeff\uffa0\ufff9-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
    f"|(?<![{_JOINING}{_SIGNS}\ufe0f])[\u200c\u200d]|(?<![{_SIGNS}0-9#*])\ufe0f"
)
# A control sequence, a string for the terminal, and whatever control character is left.
_OBEYED = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)"
    r"|[\x00-\x08\x0a-\x1f\x7f-\x9f]"
)

_BY_NAME = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies"})
_TEXTS = frozenset({"default", "examples"})
_JUDGED = frozenset(
    {"const", "enum", "required", "dependentRequired", "pattern", "type", "format", "contentEncoding"}
    | {"contentMediaType", "$ref", "$dynamicRef", "$anchor", "$dynamicAnchor", "$id", "id", "$schema"}
)


def seen(text: str) -> str:
    """The text without what nobody sees."""
    while (found := _HIDDEN.sub("", text)) != text:  # what stood behind a hidden character may now hide itself
        text = found
    return text


def printable(line: str) -> str:
    """One line without what nobody sees or a terminal obeys."""
    return seen(_OBEYED.sub("", line))


def seen_schema(schema: Mapping[str, Any], where: str) -> dict[str, Any]:
    """A schema whose texts are `seen`. ToolDefinitionError where it hides something that arguments are judged by."""
    return {
        _judged(key, where): _named(value, where)
        if key in _BY_NAME and isinstance(value, Mapping)
        else _judged(value, where)
        if key in _JUDGED
        else _text(value, where)
        if key in _TEXTS
        else _inside(value, where)
        for key, value in schema.items()
    }


def _named(schemas: Mapping[str, Any], where: str) -> dict[str, Any]:
    return {
        _judged(name, where): _judged(one, where) if isinstance(one, list) else _inside(one, where)
        for name, one in schemas.items()
    }


def _inside(value: Any, where: str) -> Any:
    if isinstance(value, Mapping):
        return seen_schema(value, where)
    if isinstance(value, list):
        return [_inside(one, where) for one in value]
    return seen(value) if isinstance(value, str) else value


def _text(value: Any, where: str) -> Any:
    """Plain data for the model to read."""
    if isinstance(value, Mapping):
        return {_judged(key, where): _text(one, where) for key, one in value.items()}
    if isinstance(value, list):
        return [_text(one, where) for one in value]
    return seen(value) if isinstance(value, str) else value


def _judged(value: Any, where: str) -> Any:
    if isinstance(value, Mapping):
        return {_judged(key, where): _judged(one, where) for key, one in value.items()}
    if isinstance(value, list):
        return [_judged(one, where) for one in value]
    if isinstance(value, str) and (found := _HIDDEN.search(value)):
        raise ToolDefinitionError(
            f"{where}: its schema has a character that nobody sees, U+{ord(found[0]):04X}, in {value!a}, by which"
            " arguments are judged; the server must leave it out"
        )
    return value
