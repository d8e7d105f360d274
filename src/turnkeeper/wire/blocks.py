"""Reading content blocks without changing them; unknown types pass through every function here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

__all__ = ("CLIENT_CALL", "is_blank_text", "is_server_call", "server_result_for", "text_of")

CLIENT_CALL = "tool_use"


def is_blank_text(block: Mapping[str, Any]) -> bool:
    """A text block without a visible character: the API sends such blocks and refuses them when they come back."""
    return block.get("type") == "text" and not str(block.get("text") or "").strip()


def is_server_call(block: Mapping[str, Any]) -> bool:
    """A call that the API itself runs (`server_tool_use`, `mcp_tool_use`); it is never answered by the client."""
    kind = str(block.get("type"))
    return kind != CLIENT_CALL and kind.endswith("tool_use")


def server_result_for(block: Mapping[str, Any]) -> str | None:
    """The id of the server call that this block answers (`web_search_tool_result`, …), or None."""
    kind = str(block.get("type"))
    if kind.endswith("tool_result") and kind != "tool_result":
        answered = block.get("tool_use_id")
        return answered if isinstance(answered, str) else None
    return None


def text_of(blocks: Iterable[Mapping[str, Any]]) -> str:
    """The text blocks' text, joined as it is."""
    return "".join(str(block.get("text") or "") for block in blocks if block.get("type") == "text")
