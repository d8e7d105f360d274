"""A listing as the protocol has it, from one that is not quite: one odd tool must not hide all the others.

The library refuses a whole listing for one wrong member in it. What is wrong is taken out here, before it looks; a tool
whose schema is of another kind than an object keeps a mark, by which it is refused with the reason.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

import mcp_types
from mcp.shared.message import SessionMessage
from pydantic import ValidationError

__all__ = ("ODD", "mended")

logger = logging.getLogger("turnkeeper.mcp")

ODD = "turnkeeper/odd"
"""The member of a schema that says why it is none for arguments."""


def mended(message: Any) -> Any:
    """The message; one with a listing of tools, with that listing made sound."""
    if not isinstance(message, SessionMessage) or not isinstance(message.message, mcp_types.JSONRPCResponse):
        return message
    result = message.message.result
    if isinstance(result.get("tools"), list) and "content" not in result:
        result["tools"] = [sound for tool in result["tools"] if (sound := _sound(tool)) is not None]
    return message


def _sound(tool: Any) -> dict[str, Any] | None:
    if not isinstance(tool, Mapping) or not isinstance(tool.get("name"), str) or not tool["name"]:
        logger.warning("an MCP server lists a tool without a name; it is left out")
        return None
    found: dict[str, Any] = {"name": tool["name"], "inputSchema": _schema(tool.get("inputSchema"))}
    for member in ("title", "description"):
        if isinstance(tool.get(member), str):
            found[member] = tool[member]
    output = tool.get("outputSchema")
    if isinstance(output, Mapping) and output.get("type") == "object":
        found["outputSchema"] = output
    try:
        mcp_types.ToolAnnotations.model_validate(tool.get("annotations"), by_name=False)
        found["annotations"] = tool["annotations"]
    except ValidationError:
        pass
    return found


def _schema(given: Any) -> dict[str, Any]:
    if given is None:
        return {"type": "object"}
    if not isinstance(given, Mapping):
        return {"type": "object", ODD: "its schema is no JSON object"}
    if given.get("type", "object") != "object":
        return {**given, "type": "object", ODD: f"its schema's root must be of type object, not {given['type']!r}"}
    return {"type": "object", **given}
