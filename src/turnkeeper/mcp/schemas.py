"""A server's schema in the dialect that the API reads (JSON Schema 2020-12), or why it can't be that.

Servers send what their libraries write: drafts 4 to 7 with `items` as a list, `exclusiveMinimum` as true, `definitions`
for `$defs`. What has a plain counterpart is rewritten; what has none makes that tool, and no other, unusable.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from turnkeeper.errors import ToolDefinitionError
from turnkeeper.mcp.mending import ODD
from turnkeeper.mcp.unseen import seen_schema

__all__ = ("DEEPEST", "input_schema")

DEEPEST = 40
"""Levels of objects and lists; a schema may be nested so deep."""

# Reported as the API's answer for keys at the top level of a tool's properties; one such key spoils every request.
_PROPERTY_KEY = re.compile(r"[a-zA-Z0-9_.-]{1,64}")
_BY_NAME = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"})
_DATA = frozenset({"const", "default", "enum", "examples", "required", "dependentRequired"})
_EXCLUSIVE = (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum"))


def input_schema(schema: Mapping[str, Any], where: str) -> dict[str, Any]:
    """The schema for the model. ToolDefinitionError says what is wrong with it.

    The rest (a reference to nowhere, an unsound schema) is found where the tool is made.
    """
    if ODD in schema:
        raise ToolDefinitionError(f"{where}: {schema[ODD]}")
    if _depth(schema) > DEEPEST:
        raise ToolDefinitionError(f"{where}: its schema is nested more than {DEEPEST} levels deep")
    found: dict[str, Any] = _modern(seen_schema(schema, where))
    properties = found.get("properties")
    if properties is not None and not isinstance(properties, dict):
        raise ToolDefinitionError(f"{where}: the properties of its schema are no object")
    for key in properties or ():
        if not _PROPERTY_KEY.fullmatch(key):
            raise ToolDefinitionError(
                f"{where}: the API takes parameter names of 1 to 64 letters a-z and A-Z, digits, _ . and - only, not"
                f" {key!r}"
            )
    return found


def _modern(schema: Any) -> Any:
    if not isinstance(schema, dict):
        return [_modern(one) for one in schema] if isinstance(schema, list) else schema
    found: dict[str, Any] = {}
    for key, value in schema.items():
        if key in _BY_NAME and isinstance(value, dict):
            found[key] = {name: _modern(one) for name, one in value.items()}
        else:
            found[key] = value if key in _DATA else _modern(value)
    if isinstance(found.get("items"), list):
        found["prefixItems"] = found.pop("items")
        if "additionalItems" in found:
            found["items"] = found.pop("additionalItems")
    for exclusive, bound in _EXCLUSIVE:
        if isinstance(found.get(exclusive), bool) and found.pop(exclusive) and bound in found:
            found[exclusive] = found.pop(bound)
    for key in ("id", "$schema"):  # draft 4's name for $id; the dialect is the one that is checked
        if isinstance(found.get(key), str):
            del found[key]
    if isinstance(found.get("dependencies"), dict):
        _split_dependencies(found)
    return found


def _split_dependencies(schema: dict[str, Any]) -> None:
    for name, value in schema.pop("dependencies").items():
        member = "dependentRequired" if isinstance(value, list) else "dependentSchemas"
        schema.setdefault(member, {})[name] = value


def _depth(value: Any) -> int:
    """Levels, counted without recursion: the schema is a stranger's."""
    deepest = 0
    open_: list[tuple[Any, int]] = [(value, 1)]
    while open_:
        one, level = open_.pop()
        deepest = max(deepest, level)
        if level <= DEEPEST:
            open_ += [(inner, level + 1) for inner in _inside(one)]
    return deepest


def _inside(value: Any) -> Iterator[Any]:
    if isinstance(value, Mapping):
        yield from value.values()
    elif isinstance(value, list):
        yield from value
