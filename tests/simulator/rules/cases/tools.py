"""Cases of tool definitions: shapes, names, deferred loading, examples."""

from __future__ import annotations

from typing import Any

from tests.simulator.rules.asked import Case, ask, refused, taken, tool, web_search

__all__ = ("CASES",)

_CITY = {"type": "object", "properties": {"город": {"type": "string"}}, "required": ["город"]}
_SERVER_TYPES = (
    ("bash_20250124", "bash"),
    ("memory_20250818", "memory"),
    ("text_editor_20250124", "str_replace_editor"),
    ("text_editor_20250728", "str_replace_based_edit_tool"),
    ("code_execution_20250522", "code_execution"),
    ("web_fetch_20260309", "web_fetch"),
    ("tool_search_tool_bm25_20251119", "tool_search_tool_bm25"),
    ("tool_search_tool_regex", "tool_search_tool_regex"),
)


def with_tools(*tools: Any, **members: Any) -> dict[str, Any]:
    return ask(tools=list(tools), **members)


CASES: tuple[Case, ...] = (
    taken(
        "tools.shape",
        "every member of a custom tool",
        with_tools(
            tool(
                type="custom",
                description="Найти заказ",
                cache_control={"type": "ephemeral"},
                strict=False,
                defer_loading=False,
                eager_input_streaming=None,
                allowed_callers=["direct"],
                input_examples=[{}],
            ),
            tool("b", type=None),
        ),
    ),
    *(taken("tools.shape", kind, with_tools({"type": kind, "name": name}, tool())) for kind, name in _SERVER_TYPES),
    taken("tools.shape", "a toolset, which has no name", with_tools({"type": "computer_toolset_20260801"})),
    taken("tools.shape", "an empty list", ask(tools=[])),
    refused("tools.shape", "a string", ask(tools="x"), "tools", "tools: Input should be a valid array"),
    refused("tools.shape", "null", ask(tools=None), "tools", "tools: Input should be a valid array"),
    refused("tools.shape", "a number in the list", with_tools(7), "tools.0", "tools.0: Input should be an object"),
    refused(
        "tools.shape",
        "no schema",
        with_tools(tool(), {"name": "b"}),
        "tools.1.custom.input_schema",
        "tools.1.custom.input_schema: Field required",
    ),
    refused(
        "tools.shape",
        "no name",
        with_tools({"input_schema": {"type": "object"}}),
        "tools.0.custom.name",
        "tools.0.custom.name: Field required",
    ),
    refused(
        "tools.shape",
        "another dialect's member",
        with_tools(tool(parameters={})),
        "tools.0.custom.parameters",
        "tools.0.custom.parameters: Extra inputs are not permitted",
    ),
    refused(
        "tools.shape",
        "a server tool under another name",
        with_tools(web_search(name="поиск")),
        "tools.0.web_search_20260318.name",
        "tools.0.web_search_20260318.name: Input should be 'web_search'",
    ),
    refused(
        "tools.shape",
        "a member of another version",
        with_tools({"type": "web_fetch_20250910", "name": "web_fetch", "use_cache": False}),
        "tools.0.web_fetch_20250910.use_cache",
        "tools.0.web_fetch_20250910.use_cache: Extra inputs are not permitted",
    ),
    refused(
        "tools.shape",
        "a deferred toolset",
        with_tools({"type": "browser_toolset_20260801", "defer_loading": True}),
        "tools.0.browser_toolset_20260801.defer_loading",
        "tools.0.browser_toolset_20260801.defer_loading: Extra inputs are not permitted",
    ),
    taken("tools.name", "64 characters", with_tools(tool("a" * 64), tool("Z-9_"))),
    refused(
        "tools.name",
        "65 characters",
        with_tools(tool("a" * 65)),
        "tools.0.custom.name",
        "tools.0.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,64}$'",
    ),
    refused(
        "tools.name",
        "Cyrillic",
        with_tools(tool("найти")),
        "tools.0.custom.name",
        "tools.0.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,64}$'",
    ),
    refused(
        "tools.name",
        "a line feed at the end",
        with_tools(tool("find\n")),
        "tools.0.custom.name",
        "tools.0.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,64}$'",
    ),
    refused(
        "tools.name",
        "empty",
        with_tools(tool("")),
        "tools.0.custom.name",
        "tools.0.custom.name: String should have at least 1 character",
    ),
    taken("tools.names-unique", "names that differ in case", with_tools(tool("find"), tool("Find"))),
    refused(
        "tools.names-unique",
        "the same name twice",
        with_tools(tool("find"), tool("b"), tool("find")),
        "tools.2",
        "tools: Tool names must be unique.",
    ),
    refused(
        "tools.names-unique",
        "a tool of one's own beside the server tool",
        with_tools(tool("web_search"), web_search()),
        "tools.1",
        "tools: Tool names must be unique.",
    ),
    taken(
        "tools.not-all-deferred",
        "the search tool stays",
        with_tools(
            {"type": "tool_search_tool_regex_20251119", "name": "tool_search_tool_regex"}, tool(defer_loading=True)
        ),
    ),
    refused(
        "tools.not-all-deferred",
        "every tool",
        with_tools(tool(defer_loading=True), tool("b", defer_loading=True)),
        "tools",
        "All tools have defer_loading: true",
    ),
    taken(
        "tools.search-not-deferred",
        "not deferred",
        with_tools({"type": "tool_search_tool_bm25", "name": "tool_search_tool_bm25", "defer_loading": False}),
    ),
    refused(
        "tools.search-not-deferred",
        "deferred",
        with_tools(tool(), {"type": "tool_search_tool_bm25", "name": "tool_search_tool_bm25", "defer_loading": True}),
        "tools.1.tool_search_tool_bm25.defer_loading",
        "tools.1.tool_search_tool_bm25.defer_loading: The tool search tool cannot have defer_loading set",
    ),
    taken("tools.input-examples", "one that fits", with_tools(tool(schema=_CITY, input_examples=[{"город": "北京"}]))),
    refused(
        "tools.input-examples",
        "one that doesn't",
        with_tools(tool(schema=_CITY, input_examples=[{"город": "北京"}, {"город": 5}])),
        "tools.0.custom.input_examples.1",
        "tools.0.custom.input_examples.1: Input example does not match the tool's input_schema",
    ),
)
