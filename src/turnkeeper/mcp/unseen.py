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
from turnkeeper.hidden import EMOJI, HIDDEN, JOINING

__all__ = ("printable", "seen", "seen_schema")

_SIGNS = f"\u00a9\u00ae\u203c\u2049\u2122\u2139{EMOJI}"
_HIDDEN = re.compile(f"[{HIDDEN}]|(?<![{JOINING}{_SIGNS}\ufe0f])[\u200c\u200d]|(?<![{_SIGNS}0-9#*])\ufe0f")
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
