"""The tools of one agent, by name."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping
from types import MethodType
from typing import Any

from turnkeeper.errors import ToolDefinitionError
from turnkeeper.tools.definition import Tool
from turnkeeper.tools.strict import check_strict_totals
from turnkeeper.tools.wording import clean_value

__all__ = ("Registry",)


class Registry:
    """Tools by name, in the order given, and their definitions for the request.

    Takes `Tool`s, plain functions (as if decorated with a bare `@tool`), and dicts: definitions of tools that the API
    runs itself, such as `{"type": "web_search_20260209", "name": "web_search"}`, which are sent as they are.
    ToolDefinitionError for a definition with a schema of its own (it has no function that could run), for a bad or
    duplicate name, and for strict tools beyond what one request takes.
    """

    __slots__ = ("_definitions", "_tools")

    def __init__(self, tools: Iterable[Tool | Callable[..., Any] | Mapping[str, Any]] = ()) -> None:
        self._tools: dict[str, Tool] = {}
        self._definitions: list[dict[str, Any]] = []
        seen: set[str] = set()
        for given in tools:
            if isinstance(given, Mapping):
                definition = _raw(given)
            else:
                made = _as_tool(given)
                definition = made.definition
                self._tools.setdefault(made.name, made)
            name = definition.get("name")
            if name is not None:
                if name in seen:
                    raise ToolDefinitionError(
                        f"tool {name!r}: two tools have this name; give one of them another: tool(name=…)"
                    )
                seen.add(name)
            self._definitions.append(definition)
        check_strict_totals(d["input_schema"] for d in self._definitions if d.get("strict") and "input_schema" in d)

    @property
    def definitions(self) -> list[dict[str, Any]]:
        """A fresh copy of what goes into the request's `tools`, always in the same order."""
        return copy.deepcopy(self._definitions)

    @property
    def names(self) -> tuple[str, ...]:
        """The names that the request declares, those of raw definitions included."""
        return tuple(d["name"] for d in self._definitions if "name" in d)

    @property
    def tools(self) -> tuple[Tool, ...]:
        """The tools that run here."""
        return tuple(self._tools.values())

    @property
    def injected(self) -> frozenset[str]:
        """The names of all parameters that the application binds."""
        return frozenset(one.name for made in self.tools for one in made.shape.parameters if one.role == "injected")

    def plus(self, one: Tool) -> Registry:
        """The same tools and one more, whose name none of them has."""
        more = Registry()
        more._tools = {**self._tools, one.name: one}
        more._definitions = [*self._definitions, one.definition]
        return more

    def get(self, name: str) -> Tool | None:
        """The tool of that name; None if there is none that runs here."""
        return self._tools.get(name)

    def __len__(self) -> int:
        return len(self._definitions)


def _as_tool(given: Any) -> Tool:
    if isinstance(given, MethodType) and isinstance(given.__func__, Tool):
        # @classmethod on top of @tool, from Python 3.13 on
        given = given.__func__.bound_to(given.__self__)
    made = given if isinstance(given, Tool) else Tool.from_function(given)
    if made.binding != "plain":
        raise ToolDefinitionError(
            f"tool {made.name!r} is a method that belongs to no object yet: take it from one, such as desk.{made.name}"
        )
    return made


def _raw(given: Mapping[str, Any]) -> dict[str, Any]:
    definition: dict[str, Any] = clean_value(copy.deepcopy(dict(given)))
    kind = definition.get("type")
    if not isinstance(kind, str) or kind == "custom":
        named = f"tool {definition['name']!r}" if "name" in definition else "a definition without a name"
        raise ToolDefinitionError(
            f"{named}: a definition alone can't be run, only the API's own tools are given as dicts; give the function,"
            " with tool(schema=…) or Tool.from_schema(name, description, input_schema, function)"
        )
    return definition
