"""What a JSON Schema may hold: validity, and the subset that grammar-constrained output understands.

The subset: platform.claude.com/docs/en/build-with-claude/structured-outputs and
docs/en/agents-and-tools/tool-use/strict-tool-use.
"""

from __future__ import annotations

import functools
import json
import re
import string
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from urllib.parse import quote

__all__ = ("grammar_problems", "is_valid_schema", "optional_parameters", "union_parameters", "validates")

_UNSUPPORTED = {
    "number": ("maximum", "minimum", "multipleOf", "exclusiveMaximum", "exclusiveMinimum"),
    "integer": ("maximum", "minimum", "multipleOf", "exclusiveMaximum", "exclusiveMinimum"),
    "string": ("maxLength", "minLength"),
}
_REGEX_FEATURES = (
    (re.compile(r"\(\?<?[=!]"), "lookaround"),
    (re.compile(r"(?<!\\)(?:\\\\)*\\[1-9]"), "backreference"),
    (re.compile(r"(?<!\\)(?:\\\\)*\\[bB]"), "word boundary"),
)


def is_valid_schema(schema: Mapping[str, Any]) -> bool:
    """Whether the schema is a valid JSON Schema of draft 2020-12; one nested too deep to read is none."""
    try:
        return _validator(_key(schema)) is not None
    except RecursionError:
        return False


def validates(schema: Mapping[str, Any], value: Any) -> bool:
    """Whether the value fits the schema; True where the schema itself is not valid."""
    try:
        check = _validator(_key(schema))
        return check is None or check(value)
    except (ValueError, RecursionError):  # text that has no UTF-8 form; values nested too deep to read
        return False


def _key(schema: Mapping[str, Any]) -> str:
    return json.dumps(schema, sort_keys=True)


@functools.lru_cache(maxsize=512)
def _validator(schema: str) -> Callable[[Any], bool] | None:
    from jsonschema_rs import Draft202012Validator  # noqa: PLC0415 - heavy, and only schemas need it

    try:
        parsed = json.loads(schema, object_hook=_with_ascii_reference)
        return Draft202012Validator(parsed, retriever=_no_retrieval).is_valid
    except ValueError:
        return None


def _with_ascii_reference(node: dict[str, Any]) -> dict[str, Any]:
    """A reference to a definition with a name beyond ASCII, as generators write it, in the form that URIs have."""
    reference = node.get("$ref")
    if isinstance(reference, str) and not reference.isascii():
        return {**node, "$ref": quote(reference, safe=string.punctuation)}
    return node


def _no_retrieval(uri: str) -> Any:
    raise ValueError(f"the simulator fetches no schema ({uri})")


def _nodes(schema: Any) -> Iterator[Mapping[str, Any]]:
    """Every subschema, the root first; values of enum, const, default and examples are no schemas."""
    stack = [schema]
    while stack:
        node = stack.pop()
        if isinstance(node, Mapping):
            yield node
            for key, value in node.items():
                if key in ("properties", "$defs", "definitions", "patternProperties") and isinstance(value, Mapping):
                    stack.extend(value.values())
                elif key not in ("enum", "const", "default", "examples"):
                    stack.append(value)
        elif isinstance(node, list):
            stack.extend(node)


def grammar_problems(schema: Mapping[str, Any]) -> Iterator[str]:
    """What keeps a schema from being compiled, in the API's words where they are known."""
    for node in _nodes(schema):
        kinds = node.get("type")
        kind = kinds if isinstance(kinds, str) else None
        if (kind == "object" or "properties" in node) and node.get("additionalProperties") is not False:
            yield "For 'object' type, 'additionalProperties' must be explicitly set to false"
        used = sorted(word for word in _UNSUPPORTED.get(kind or "", ()) if word in node)
        if used:
            yield f"For '{kind}' type, properties {', '.join(used)} are not supported"
        if "minItems" in node and node["minItems"] not in (0, 1):
            yield "For 'array' type, 'minItems' values other than 0 or 1 are not supported"
        if any(isinstance(value, Mapping | list) for value in node.get("enum") or () if isinstance(node["enum"], list)):
            yield "'enum' values must be strings, numbers, booleans or null"
        reference = node.get("$ref")
        if isinstance(reference, str) and not reference.startswith("#"):
            yield f"External '$ref' is not supported: {reference}"
        if isinstance(node.get("pattern"), str):
            yield from _regex_problems(node["pattern"])
    if _recursive(schema):
        yield "Recursive schemas are not supported"


def _regex_problems(pattern: str) -> Iterator[str]:
    for expression, feature in _REGEX_FEATURES:
        if expression.search(pattern):
            yield f"Unsupported regex feature in pattern field: {feature}"


def _recursive(schema: Mapping[str, Any]) -> bool:
    """Whether a local reference leads back to a schema that contains it."""
    edges: dict[str, set[str]] = {}
    for name, target in (("#", schema), *_definitions(schema)):
        edges[name] = {
            node["$ref"] for node in _within(target) if isinstance(node.get("$ref"), str) and node["$ref"][:1] == "#"
        }
    return any(_reaches(edges, name, name) for name in edges)


def _definitions(schema: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for key in ("$defs", "definitions"):
        held = schema.get(key)
        for name, target in held.items() if isinstance(held, Mapping) else ():
            yield f"#/{key}/{name}", target


def _within(schema: Any) -> Iterator[Mapping[str, Any]]:
    """The subschemas of one definition, without the definitions it carries."""
    if isinstance(schema, Mapping):
        schema = {key: value for key, value in schema.items() if key not in ("$defs", "definitions")}
    yield from _nodes(schema)


def _reaches(edges: Mapping[str, set[str]], start: str, goal: str) -> bool:
    seen: set[str] = set()
    stack = list(edges.get(start, ()))
    while stack:
        name = stack.pop()
        if name == goal:
            return True
        if name not in seen:
            seen.add(name)
            stack.extend(edges.get(name, ()))
    return False


def optional_parameters(schema: Mapping[str, Any]) -> int:
    """How many properties of all objects are not required."""
    count = 0
    for node in _nodes(schema):
        properties, needed = node.get("properties"), node.get("required")
        if isinstance(properties, Mapping):
            names = set(needed) if isinstance(needed, list) and all(isinstance(name, str) for name in needed) else set()
            count += len(set(properties) - names)
    return count


def union_parameters(schema: Mapping[str, Any]) -> int:
    """How many subschemas are unions: a list of types, or anyOf."""
    return sum(1 for node in _nodes(schema) if isinstance(node.get("type"), list) or "anyOf" in node)
