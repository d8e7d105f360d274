"""Walking a JSON Schema by its keywords: a property that is named like a keyword is never taken for one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import unquote

from turnkeeper.tools.wording import json_kind

__all__ = ("ALL_KINDS", "SchemaTree", "children", "dangling_references", "resolve", "walk")

_ONE = (
    "items",
    "additionalProperties",
    "additionalItems",
    "contains",
    "propertyNames",
    "not",
    "if",
    "then",
    "else",
    "unevaluatedItems",
    "unevaluatedProperties",
    "contentSchema",
)
_MANY = ("anyOf", "oneOf", "allOf", "prefixItems")
_NAMED = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")

ALL_KINDS = frozenset({"string", "integer", "number", "boolean", "array", "object", "null"})


def children(schema: Mapping[str, Any]) -> Iterator[tuple[tuple[str, ...], dict[str, Any]]]:
    """Each schema directly inside `schema`, with the steps that lead to it."""
    for keyword in _ONE:
        if isinstance(child := schema.get(keyword), dict):
            yield (keyword,), child
    for keyword in (*_MANY, "items"):
        if isinstance(members := schema.get(keyword), list):
            for index, child in enumerate(members):
                if isinstance(child, dict):
                    yield (keyword, str(index)), child
    for keyword in _NAMED:
        if isinstance(named := schema.get(keyword), dict):
            for name, child in named.items():
                if isinstance(child, dict):
                    yield (keyword, name), child


def walk(schema: dict[str, Any], path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], dict[str, Any]]]:
    """`schema` and every schema below it, each with its path."""
    yield path, schema
    for steps, child in children(schema):
        yield from walk(child, (*path, *steps))


def resolve(root: dict[str, Any], reference: str) -> dict[str, Any] | None:
    """What a `$ref` points to inside `root`: a JSON pointer or an `$anchor`; None if it points nowhere."""
    if not reference.startswith("#"):
        return None
    pointer = unquote(reference[1:])
    if pointer and not pointer.startswith("/"):
        return next((schema for _, schema in walk(root) if schema.get("$anchor") == pointer), None)
    target: Any = root
    for raw in pointer.split("/")[1:]:
        step = raw.replace("~1", "/").replace("~0", "~")
        if isinstance(target, dict) and step in target:
            target = target[step]
        elif isinstance(target, list) and step.isdecimal() and int(step) < len(target):
            target = target[int(step)]
        else:
            return None
    return target if isinstance(target, dict) else None


def dangling_references(root: dict[str, Any]) -> list[str]:
    """Every `$ref` that doesn't resolve inside `root` itself."""
    return [
        schema["$ref"]
        for _, schema in walk(root)
        if isinstance(schema.get("$ref"), str) and resolve(root, schema["$ref"]) is None
    ]


_ANYTHING: dict[str, Any] = {}


class SchemaTree:
    """A schema with its references followed and the JSON types it admits worked out, all at the start."""

    __slots__ = ("_kinds", "_targets", "root")

    def __init__(self, root: dict[str, Any]) -> None:
        self.root = root
        self._targets: dict[str, dict[str, Any]] = {}
        # Keyed by identity: every schema asked for later is a part of `root`, which this object keeps alive.
        self._kinds: dict[int, frozenset[str]] = {}
        waiting = [schema for _, schema in walk(root)]
        for schema in waiting:
            reference = schema.get("$ref")
            if isinstance(reference, str) and reference not in self._targets:
                self._targets[reference] = target = resolve(root, reference) or _ANYTHING
                waiting.extend(below for _, below in walk(target))
        for schema in waiting:
            if id(schema) not in self._kinds:
                self._kinds[id(schema)] = self._find(schema, frozenset())

    def follow(self, schema: dict[str, Any]) -> dict[str, Any]:
        """The schema that `schema` refers to, or itself; a reference to nowhere or to itself admits anything."""
        seen: set[str] = set()
        while isinstance(reference := schema.get("$ref"), str):
            if reference in seen:
                return _ANYTHING
            seen.add(reference)
            schema = self._targets.get(reference, _ANYTHING)
        return schema

    def kinds(self, schema: Any) -> frozenset[str]:
        """The JSON types that a part of the root admits, as far as its keywords say; `number` includes `integer`."""
        if isinstance(schema, dict):
            return self._kinds.get(id(schema), ALL_KINDS)
        return frozenset() if schema is False else ALL_KINDS

    def _find(self, branch: Any, above: frozenset[int]) -> frozenset[str]:
        if not isinstance(branch, dict):
            return self.kinds(branch)
        schema = self.follow(branch)
        if id(schema) in above:
            # A union that refers to itself: the round trip adds nothing to what it admits.
            return frozenset()
        above |= {id(schema)}
        kinds = _stated_kinds(schema)
        for keyword in ("anyOf", "oneOf"):
            if isinstance(branches := schema.get(keyword), list):
                kinds &= frozenset().union(*(self._find(branch, above) for branch in branches))
        for part in schema.get("allOf") or ():
            kinds &= self._find(part, above)
        return kinds


def _stated_kinds(schema: dict[str, Any]) -> frozenset[str]:
    if "const" in schema:
        return frozenset({json_kind(schema["const"])})
    if isinstance(options := schema.get("enum"), list):
        return frozenset(json_kind(value) for value in options)
    stated = schema.get("type")
    kinds = frozenset({stated}) if isinstance(stated, str) else frozenset(stated or ALL_KINDS)
    return kinds | {"integer"} if "number" in kinds else kinds
