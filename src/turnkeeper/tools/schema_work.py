"""How often a schema makes a validator look at one and the same value.

References may meet again: of 27 definitions, each `allOf` the next one twice, the first leads to the last in 67 million
ways, and whoever checks a value by it goes every one of them. Such a schema is small, valid, and stops the program.
Where they meet again one level further inside of the value, the ways double with each level of the value instead: then
it is the value that is refused (`Work`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import quote, unquote

from turnkeeper.tools.schema_tree import resolve, walk

__all__ = ("MOST_LOOKS", "MOST_WAYS", "Work", "has_too_many_ways")

MOST_WAYS = 50_000
"""From a schema to those that judge the same value, all schemas of a tool taken together."""

MOST_LOOKS = 10_000
"""At a value and what is inside of it, where ten of eleven looks are at what was looked at by the same schema before.
A look takes the validator up to 0.1 ms where it ends in a fault, and far less where it doesn't."""

_BESIDE_ONE = ("not", "if", "then", "else")
_BESIDE_MANY = ("allOf", "anyOf", "oneOf")


def has_too_many_ways(root: dict[str, Any]) -> bool:
    """Whether there are more than `MOST_WAYS`; a way ends where it would meet itself. The work is bounded by that."""
    ways = _Ways(root)
    for start in ways.schemas:
        way = {id(start)}
        open_ = [(start, ways.beside(start))]
        while open_:
            schema, rest = open_[-1]
            following = next(rest, None)
            if following is None:
                open_.pop()
                way.discard(id(schema))
                continue
            ways.left -= 1
            if ways.left < 0:
                return True
            if id(following) not in way:
                way.add(id(following))
                open_.append((following, ways.beside(following)))
    return False


class _Ways:
    """The schemas of one root, and what of it judges the same value as each of them."""

    def __init__(self, root: dict[str, Any]) -> None:
        self.left = MOST_WAYS
        self.schemas = [schema for _, schema in walk(root)]
        self._resources = [root, *(one for one in self.schemas if "$id" in one and one is not root)]
        self._anchored: dict[str, list[dict[str, Any]]] = {}
        for schema in self.schemas:
            for keyword in ("$anchor", "$dynamicAnchor"):
                if isinstance(anchor := schema.get(keyword), str):
                    self._anchored.setdefault(anchor, []).append(schema)
        self._known: dict[str, list[dict[str, Any]]] = {}

    def beside(self, schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """The schemas that a value has to be held against when it is held against this one."""
        for keyword in ("$ref", "$dynamicRef"):
            if isinstance(reference := schema.get(keyword), str):
                yield from self._targets(reference)
        for keyword in _BESIDE_ONE:
            if isinstance(one := schema.get(keyword), dict):
                yield one
        for keyword in _BESIDE_MANY:
            if isinstance(many := schema.get(keyword), list):
                yield from (one for one in many if isinstance(one, dict))
        if isinstance(named := schema.get("dependentSchemas"), dict):
            yield from (one for one in named.values() if isinstance(one, dict))

    def _targets(self, reference: str) -> list[dict[str, Any]]:
        """A reference is meant inside one $id; to take it for each of them errs on the safe side."""
        if reference in self._known:
            return self._known[reference]
        pointer = unquote(reference.partition("#")[2])
        if pointer and not pointer.startswith("/"):
            found = self._anchored.get(pointer, [])
        else:
            self.left -= len(self._resources) - 1
            tried = self._resources[: max(self.left, 1)]
            found = [one for root in tried if (one := resolve(root, f"#{quote(pointer)}")) is not None]
        self._known[reference] = found
        return found


class Work:
    """How often a validator by a schema looks at a value, counted without looking that often."""

    __slots__ = ("_ways",)

    def __init__(self, root: dict[str, Any]) -> None:
        ways = _Ways(root)
        # without a reference, no two ways lead to one schema
        refers = any("$ref" in schema or "$dynamicRef" in schema for schema in ways.schemas)
        self._ways = ways if refers else None

    def is_too_much(self, value: Any, schema: dict[str, Any]) -> bool:
        """Whether to hold the value against that part of the root would look at the same again and again for long."""
        if self._ways is None or not isinstance(value, (dict, list)):
            return False
        count = _Count(self._ways)
        looks = count.looks(value, schema)
        return looks > MOST_LOOKS and looks > 10 * count.new


class _Count:
    """One count: `new` is how many looks there are if no schema looks twice at one object or array."""

    def __init__(self, ways: _Ways) -> None:
        self._ways = ways
        self._known: dict[tuple[int, int], int] = {}
        self._plain: dict[int, int] = {}
        self.new = 0

    def looks(self, value: Any, schema: dict[str, Any]) -> int:
        if not isinstance(value, (dict, list)):
            found = self._plain_looks(schema)
            self.new += found
            return found
        key = (id(value), id(schema))
        if key not in self._known:
            self._known[key] = 0  # a way ends where it would meet itself
            self.new += 1
            beside = sum(self.looks(value, one) for one in self._ways.beside(schema))
            self._known[key] = 1 + beside + sum(self.looks(*one) for one in _inside(value, schema))
        return self._known[key]

    def _plain_looks(self, schema: dict[str, Any]) -> int:
        if id(schema) not in self._plain:
            self._plain[id(schema)] = 0
            self._plain[id(schema)] = 1 + sum(self._plain_looks(one) for one in self._ways.beside(schema))
        return self._plain[id(schema)]


def _inside(value: dict[str, Any] | list[Any], schema: dict[str, Any]) -> Iterator[tuple[Any, dict[str, Any]]]:
    """What of a value a schema hands on, and to which schema."""
    if isinstance(value, list):
        first = schema.get("prefixItems")
        first = first if isinstance(first, list) else []
        pairs = [*zip(value, first, strict=False), *((item, schema.get("items")) for item in value[len(first) :])]
        pairs += [(item, schema.get(keyword)) for keyword in ("contains", "unevaluatedItems") for item in value]
    else:
        named = schema.get("properties") or {}
        others = [*(schema.get("patternProperties") or {}).values()]
        others += [schema.get(keyword) for keyword in ("additionalProperties", "unevaluatedProperties")]
        pairs = [(item, named[key]) for key, item in value.items() if key in named]
        pairs += [(item, one) for key, item in value.items() if key not in named for one in others]
    yield from ((item, one) for item, one in pairs if isinstance(one, dict))
