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
    """Every `$ref` that doesn't resolve inside `root` itself, each once."""
    anchors = _anchors(root)
    named = dict.fromkeys(one["$ref"] for _, one in walk(root) if isinstance(one.get("$ref"), str))
    return [reference for reference in named if _found(root, reference, anchors) is None]


def _anchors(root: dict[str, Any]) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for _, schema in walk(root):
        if isinstance(anchor := schema.get("$anchor"), str):
            found.setdefault(anchor, schema)
    return found


def _found(root: dict[str, Any], reference: str, anchors: Mapping[str, dict[str, Any]]) -> dict[str, Any] | None:
    """`resolve`, with the anchors looked up once for all references."""
    if reference.startswith("#") and (pointer := unquote(reference[1:])) and not pointer.startswith("/"):
        return anchors.get(pointer)
    return resolve(root, reference)


_ANYTHING: dict[str, Any] = {}


class SchemaTree:
    """A schema with its references followed and the JSON types it admits worked out, all at the start."""

    __slots__ = ("_kinds", "_targets", "root")

    def __init__(self, root: dict[str, Any]) -> None:
        self.root = root
        self._targets: dict[str, dict[str, Any]] = {}
        # Keyed by identity: every schema asked for later is a part of `root`, which this object keeps alive.
        self._kinds: dict[int, frozenset[str]] = {}
        anchors = _anchors(root)
        parts = {id(schema): schema for _, schema in walk(root)}
        waiting = list(parts.values())
        for schema in waiting:
            reference = schema.get("$ref")
            if isinstance(reference, str) and reference not in self._targets:
                self._targets[reference] = target = _found(root, reference, anchors) or _ANYTHING
                if id(target) not in parts:  # beside the schemas, under a keyword that is none
                    new = [below for _, below in walk(target) if id(below) not in parts]
                    parts |= {id(below): below for below in new}
                    waiting += new
        self._kinds = self._admitted(waiting)

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

    def _admitted(self, parts: list[dict[str, Any]]) -> dict[int, frozenset[str]]:
        """The kinds of every part, the least that fits all of them: a union that refers to itself adds nothing to it.

        Each kind of each part is settled once, and told once to whoever asks for it, so that the work grows as the
        schema does, however often its references meet.
        """
        ends: dict[int, dict[str, Any]] = {}
        end_of = {id(part): (end := self.follow(part), ends.setdefault(id(end), end))[0] for part in parts}
        # How many conditions still keep a kind out; a condition is a union of branches, or one part of allOf.
        missing = {name: dict.fromkeys(_stated_kinds(end), 0) for name, end in ends.items()}
        asking: dict[int, list[tuple[int, set[str]]]] = {}
        ready: list[tuple[int, set[str], str]] = []
        for name, end in ends.items():
            unions = [found for keyword in ("anyOf", "oneOf") if isinstance(found := end.get(keyword), list)]
            for branches in (*unions, *([one] for one in end.get("allOf") or ())):
                met: set[str] = set()
                for kind in missing[name]:
                    missing[name][kind] += 1
                for branch in branches:
                    if isinstance(branch, dict):
                        target = end_of.get(id(branch)) or self.follow(branch)
                        asking.setdefault(id(target), []).append((name, met))
                    else:
                        ready += [(name, met, kind) for kind in self.kinds(branch)]
        admitted: dict[int, set[str]] = {name: set() for name in ends}
        open_ = [(name, kind) for name, kinds in missing.items() for kind, count in kinds.items() if not count]
        while open_ or ready:
            if ready:
                name, met, kind = ready.pop()
                if kind in met or kind not in missing[name]:
                    continue
                met.add(kind)
                missing[name][kind] -= 1
                if missing[name][kind]:
                    continue
                open_.append((name, kind))
            name, kind = open_.pop()
            admitted[name].add(kind)
            ready += [(asker, met, kind) for asker, met in asking.get(name, ())]
        return {part: frozenset(admitted[id(end)]) for part, end in end_of.items()}


def _stated_kinds(schema: dict[str, Any]) -> frozenset[str]:
    if "const" in schema:
        return frozenset({json_kind(schema["const"])})
    if isinstance(options := schema.get("enum"), list):
        return frozenset(json_kind(value) for value in options)
    stated = schema.get("type")
    kinds = frozenset({stated}) if isinstance(stated, str) else frozenset(stated or ALL_KINDS)
    return kinds | {"integer"} if "number" in kinds else kinds
