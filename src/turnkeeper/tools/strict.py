"""The form of a schema that `strict: true` takes, and what can't be brought into it.

Source: platform.claude.com/docs, "Structured outputs" and "Strict tool use". Strict mode needs
`additionalProperties: false` on every object and refuses recursion, bounds on numbers and lengths, and regular
expressions with look-around, back references or word boundaries. What it refuses as a keyword is moved into the
description, for the model to read, and still validated here; what it refuses as a shape is a ToolDefinitionError.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

from turnkeeper.errors import ToolDefinitionError
from turnkeeper.tools.schema_tree import resolve, walk

__all__ = ("check_strict_totals", "strict_form")

_KEPT = frozenset(
    {"type", "description", "default", "enum", "const", "$ref", "required", "additionalProperties", "anyOf", "allOf"}
    | {"properties", "$defs", "definitions", "items"}
)
_FORMATS = frozenset({"date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"})
_UNSUPPORTED_PATTERN = re.compile(r"\(\?(?!:)|\\[1-9bBkKAzZG]")
_DROPPED = frozenset({"title", "discriminator", "$schema", "$id", "$comment", "examples"})
_STRICT_TOOLS, _OPTIONAL, _UNIONS = 20, 24, 16


def strict_form(schema: dict[str, Any], where: str) -> dict[str, Any]:
    """A copy of a root schema in the form for strict mode; ToolDefinitionError for what has none."""
    _refuse_recursion(schema, where)
    form: dict[str, Any] = _convert(schema, where, ())
    return form


def check_strict_totals(schemas: Iterable[dict[str, Any]]) -> None:
    """Refuse a set of strict tools that the API would: it allows 20 tools, 24 optional properties, 16 unions a request.

    Source: the same pages; beyond it the API answers 400 "Schema is too complex for compilation."
    """
    roots = list(schemas)
    optional = unions = 0
    for root in roots:
        for _, schema in walk(root):
            properties = schema.get("properties") or {}
            optional += len(set(properties) - set(schema.get("required") or ()))
            unions += sum(
                "anyOf" in part or isinstance(part.get("type"), list)
                for part in properties.values()
                if isinstance(part, dict)
            )
    for count, most, what in (
        (len(roots), _STRICT_TOOLS, "strict tools"),
        (optional, _OPTIONAL, "optional parameters in strict tools"),
        (unions, _UNIONS, "parameters of a union type in strict tools"),
    ):
        if count > most:
            raise ToolDefinitionError(
                f"one request takes at most {most} {what}, and these are {count}: make fewer tools strict, or give "
                "them fewer such parameters"
            )


def _refuse_recursion(root: dict[str, Any], where: str) -> None:
    done: set[str] = set()  # references may meet again: each is followed once

    def visit(schema: dict[str, Any], open_references: tuple[str, ...]) -> None:
        for path, part in walk(schema):
            if path[:1] in {("$defs",), ("definitions",)}:
                continue
            reference = part.get("$ref")
            if not isinstance(reference, str):
                continue
            if reference in open_references:
                name = reference.rpartition("/")[2]
                raise ToolDefinitionError(
                    f"{where}: strict mode takes no recursive types, and {name} contains itself; bound its depth, or "
                    "leave strict out"
                )
            if reference not in done:
                visit(resolve(root, reference) or {}, (*open_references, reference))
                done.add(reference)

    visit(root, ())


def _convert(schema: Any, where: str, path: tuple[str, ...]) -> Any:
    if not isinstance(schema, dict) or not schema:
        raise ToolDefinitionError(
            f"{where}: strict mode needs a type for every value, and {_named(path)} may be anything: annotate it"
        )
    form: dict[str, Any] = {}
    notes: dict[str, Any] = {}
    for key, value in schema.items():
        if key in {"$defs", "definitions", "properties"}:
            form[key] = {name: _convert(part, where, (*path, name)) for name, part in value.items()}
        elif key in {"anyOf", "oneOf", "allOf"}:
            form["allOf" if key == "allOf" else "anyOf"] = [_convert(part, where, path) for part in value]
        elif key == "items":
            form[key] = _convert(value, where, (*path, "[]"))
        elif key == "prefixItems":
            form["items"] = {"anyOf": _distinct(_convert(part, where, (*path, "[]")) for part in value)}
            notes["in this order"] = [part.get("type", "any") for part in value]
        elif key in _KEPT or _keeps(key, value):
            form[key] = value
        elif key not in _DROPPED:
            notes[key] = value
    _close_object(schema, form, where, path)
    if isinstance(options := schema.get("enum"), list) and any(isinstance(o, dict | list) for o in options):
        raise ToolDefinitionError(f"{where}: strict mode takes no arrays or objects as choices of {_named(path)}")
    if notes:
        text = ", ".join(f"{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in notes.items())
        form["description"] = f"{schema.get('description', '')} ({text})".strip()
    return form


def _close_object(schema: dict[str, Any], form: dict[str, Any], where: str, path: tuple[str, ...]) -> None:
    if schema.get("type") != "object" and "properties" not in schema:
        return
    others = schema.get("additionalProperties", "properties" not in schema)
    if others is not False or schema.get("patternProperties"):
        raise ToolDefinitionError(
            f"{where}: strict mode needs every key named, and {_named(path)} takes any: use a model or a TypedDict, or "
            "a list of pairs"
        )
    form["additionalProperties"] = False


def _keeps(key: str, value: Any) -> bool:
    if key == "minItems":
        return value in {0, 1}
    if key == "format":
        return value in _FORMATS
    return key == "pattern" and not _UNSUPPORTED_PATTERN.search(value)


def _distinct(schemas: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for schema in schemas:
        if schema not in found:
            found.append(schema)
    return found


def _named(path: tuple[str, ...]) -> str:
    return "its root" if not path else ".".join(path).replace(".[]", "[]")
