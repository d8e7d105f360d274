"""The registry: tools by name, definitions in order, bad and duplicate names refused."""

from __future__ import annotations

import functools
from typing import Any

import pytest

from turnkeeper.tools import Registry, Tool, ToolDefinitionError, tool


@tool
def first(a: int) -> int:
    """First."""
    return a


def second(b: str = "x") -> str:
    """Second."""
    return b


SEARCH = {"type": "web_search_20260209", "name": "web_search", "max_uses": 3}


def test_tools_functions_and_raw_definitions_stand_in_the_order_given() -> None:
    registry = Registry([second, SEARCH, first])
    assert registry.names == ("second", "web_search", "first")
    assert registry.definitions == [tool(second).definition, SEARCH, first.definition]
    assert registry.tools[1] is first
    assert registry.get("first") is first
    assert registry.get("second") is registry.tools[0]
    assert registry.get("web_search") is None
    assert registry.get("nothing") is None
    assert len(registry) == 3


def test_an_empty_registry_is_empty() -> None:
    assert (Registry().definitions, Registry().names, Registry([]).tools) == ([], (), ())


def test_definitions_are_copies() -> None:
    registry = Registry([first, SEARCH])
    registry.definitions[0]["input_schema"]["properties"].clear()
    registry.definitions[1]["name"] = "other"
    assert registry.definitions == [first.definition, SEARCH]


@pytest.mark.parametrize(
    ("tools", "words"),
    [
        ([first, first], "tool 'first': two tools have this name; give one of them another: tool"),
        ([first, {"type": "web_search_20260209", "name": "first"}], "two tools have this name"),
        ([SEARCH, SEARCH], "tool 'web_search': two tools have this name"),
        ([{"name": "get", "input_schema": {"type": "object"}}], "tool 'get': a definition alone can't be run"),
        ([{"type": None, "name": "get", "input_schema": {}}], "with tool(schema=…) or Tool.from_schema(name, "),
        ([{"type": "custom", "name": "get", "input_schema": {}}], "tool 'get': a definition alone can't be run"),
        ([{"input_schema": {}}], "a definition without a name: a definition alone can't be run"),
        ([lambda: 1], "the API takes names"),
        ([7], "is a int, not a function"),
    ],
)
def test_what_the_api_would_refuse_is_refused(tools: Any, words: str) -> None:
    with pytest.raises(ToolDefinitionError) as caught:
        Registry(tools)
    assert words in str(caught.value)


def test_entries_without_a_name_of_their_own_may_repeat() -> None:
    toolset = {"type": "browser_toolset_20260801"}
    assert Registry([toolset, {"type": "computer_toolset_20260801"}]).names == ()


class Shop:
    @tool
    def open(self) -> str:
        return "open"

    @classmethod
    @tool
    def kind(cls) -> str:
        return cls.__name__

    def close(self, note: str) -> str:
        return note


def test_methods_are_taken_from_an_object() -> None:
    shop = Shop()
    registry = Registry([shop.open, shop.close, functools.partial(second, b="y")])
    assert registry.names == ("open", "close", "second")
    with pytest.raises(ToolDefinitionError, match="is a method that belongs to no object yet: take it from one"):
        Registry([Shop.open])


def test_a_class_method_over_a_tool_is_bound_to_its_class() -> None:
    registry = Registry([Shop.kind])
    made = registry.get("kind")
    assert made is not None
    assert made.function() == "Shop"


def test_a_lone_surrogate_in_a_raw_definition_is_made_clean() -> None:
    raw = {"type": "web_search_20260209", "name": "web_search", "blocked_domains": ["x\ud800"]}
    assert Registry([raw]).definitions[0]["blocked_domains"] == ["x�"]
    assert isinstance(first, Tool)
