"""The types of tool definitions in the stable API: which members each has, which name it must bear.

Source: anthropic/types/tool_union_param.py and the files it names (SDK 2.14.0).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from turnkeeper.simulator.rules.blocks import CACHE_CONTROL
from turnkeeper.simulator.rules.shapes import (
    Checker,
    array_of,
    boolean,
    integer,
    nullable,
    object_,
    one_of,
    record,
    string,
    tagged,
)

__all__ = ("SEARCH_TOOLS", "TOOL", "TOOLSETS", "is_custom", "served_by")

_CALLERS = array_of(one_of("direct", "code_execution_20250825", "code_execution_20260120", "code_execution_20260521"))
_SHARED: Mapping[str, Checker] = {
    "type": string,
    "allowed_callers": _CALLERS,
    "cache_control": CACHE_CONTROL,
    "defer_loading": boolean,
    "strict": boolean,
}
_CUSTOM = record(
    {
        **_SHARED,
        "type": nullable(string),
        "name": string,
        "description": string,
        "input_schema": object_,
        "eager_input_streaming": nullable(boolean),
        "input_examples": array_of(object_),
    },
    ("name", "input_schema"),
)


def _named(name: str, **members: Checker) -> Checker:
    return record({**_SHARED, "name": one_of(name), **members}, ("name",))


_EXAMPLES: Mapping[str, Checker] = {"input_examples": array_of(object_)}
_DOMAINS: Mapping[str, Checker] = {
    "allowed_domains": nullable(array_of(string)),
    "blocked_domains": nullable(array_of(string)),
    "max_uses": nullable(integer),
}
_SEARCH: Mapping[str, Checker] = {**_DOMAINS, "user_location": nullable(object_)}
_FETCH: Mapping[str, Checker] = {
    **_DOMAINS,
    "citations": nullable(record({"enabled": boolean})),
    "max_content_tokens": nullable(integer),
    "url_sources": nullable(object_),
}
_INCLUSION: Mapping[str, Checker] = {"response_inclusion": one_of("full", "excluded")}
_USE_CACHE: Mapping[str, Checker] = {"use_cache": boolean}
_TOOLSET = record({"type": string, "cache_control": CACHE_CONTROL, "configs": nullable(object_)})

TOOLSETS = ("computer_toolset_20260801", "browser_toolset_20260801")
"""Entries without a name: each declares a family of tools."""
SEARCH_TOOLS = (
    "tool_search_tool_bm25",
    "tool_search_tool_bm25_20251119",
    "tool_search_tool_regex",
    "tool_search_tool_regex_20251119",
)

TOOL = tagged(
    {
        "custom": _CUSTOM,
        "bash_20250124": _named("bash", **_EXAMPLES),
        "memory_20250818": _named("memory", **_EXAMPLES),
        "text_editor_20250124": _named("str_replace_editor", **_EXAMPLES),
        "text_editor_20250429": _named("str_replace_based_edit_tool", **_EXAMPLES),
        "text_editor_20250728": _named("str_replace_based_edit_tool", **_EXAMPLES, max_characters=nullable(integer)),
        **{
            f"code_execution_{date}": _named("code_execution")
            for date in ("20250522", "20250825", "20260120", "20260521")
        },
        "web_search_20250305": _named("web_search", **_SEARCH),
        "web_search_20260209": _named("web_search", **_SEARCH),
        "web_search_20260318": _named("web_search", **_SEARCH, **_INCLUSION),
        "web_fetch_20250910": _named("web_fetch", **_FETCH),
        "web_fetch_20260209": _named("web_fetch", **_FETCH),
        "web_fetch_20260309": _named("web_fetch", **_FETCH, **_USE_CACHE),
        "web_fetch_20260318": _named("web_fetch", **_FETCH, **_USE_CACHE, **_INCLUSION),
        **{kind: _named(kind.removesuffix("_20251119")) for kind in SEARCH_TOOLS},
        **dict.fromkeys(TOOLSETS, _TOOLSET),
    },
    default="custom",
)
"""One entry of `tools`; without a type, or with type null, it is a custom tool."""


def is_custom(tool: Mapping[str, Any]) -> bool:
    """Whether the definition is one of the caller's own tools."""
    return tool.get("type") in (None, "custom")


def served_by(tool: Mapping[str, Any]) -> tuple[str, ...]:
    """The names that a server_tool_use may bear because of this definition."""
    kind = tool.get("type")
    if not isinstance(kind, str):
        return ()
    if kind.startswith("code_execution_"):
        return ("code_execution", "bash_code_execution", "text_editor_code_execution")
    for name in ("web_search", "web_fetch", "tool_search_tool_regex", "tool_search_tool_bm25"):
        if kind.startswith(name):
            return (name,)
    return ()
