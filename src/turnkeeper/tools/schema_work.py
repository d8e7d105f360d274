"""How often a schema makes a validator look at one and the same value.

References may meet again: of 27 definitions, each `allOf` the next one twice, the first leads to the last in 67 million
ways, and whoever checks a value by it goes every one of them. Such a schema is small, valid, and stops the program.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import quote, unquote

from turnkeeper.tools.schema_tree import resolve, walk

__all__ = ("MOST_WAYS", "has_too_many_ways")

MOST_WAYS = 50_000
"""From a schema to those that judge the same value, all schemas of a tool taken together."""

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
