"""A server's tool as one of Turnkeeper's: its name made legal, its words marked as a stranger's, its effect `once`.

What a server says of its tools is untrusted text. Its annotations (`readOnlyHint`, `idempotentHint`) are hints from
whoever wrote it, so they decide nothing: the effect is what the entry declares.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from mcp import MCPError
from pydantic import ValidationError

from turnkeeper.errors import ToolError
from turnkeeper.mcp.configuration import ServerEntry
from turnkeeper.mcp.connection import Connection, LostError, NotSentError
from turnkeeper.mcp.naming import legal_name
from turnkeeper.mcp.results import content_of
from turnkeeper.mcp.schemas import input_schema
from turnkeeper.mcp.unseen import seen
from turnkeeper.tools import Tool, ToolContext
from turnkeeper.tools.wording import clean_value, cut
from turnkeeper.types import Block, Effect

if TYPE_CHECKING:
    import mcp_types

__all__ = ("DESCRIPTION_LIMIT", "KEY", "definition_of", "offered")

DESCRIPTION_LIMIT = 8_000
"""Characters of a description that the model is sent."""
KEY = "turnkeeper/key"
"""The member of a call's `_meta` with its key: the same whenever the same call is made."""

_REPEATABLE = ("read", "idempotent")


def definition_of(tool: mcp_types.Tool) -> dict[str, Any]:
    """What a tool says of itself, for its pin: everything that the model or a person may go by."""
    given = tool.model_dump(by_alias=True, mode="json", exclude_none=True)
    members = ("name", "title", "description", "inputSchema", "outputSchema", "annotations")
    found: dict[str, Any] = clean_value({name: given[name] for name in members if name in given})
    return found


def offered(
    entry: ServerEntry, tool: mcp_types.Tool, connection: Connection, check: Callable[[], None]
) -> Tool[..., Any]:
    """The tool for an agent. ToolDefinitionError says why the API would not take it.

    `check` raises ToolError where the tool may no longer be called.
    """
    name = legal_name(entry.name, tool.name)
    where = f"tool {tool.name!r} of MCP server {entry.name!r}"
    effect: Effect = entry.effects.get(tool.name, "once")
    repeatable = effect in _REPEATABLE

    async def call(ctx: ToolContext, the_whole_input: Mapping[str, Any]) -> str | list[Block]:
        async def report(progress: float, total: float | None, message: str | None) -> None:
            share = progress / total if total else None
            ctx.progress(message or (f"{progress:g} of {total:g}" if total else f"{progress:g}"), share)

        try:
            result = await connection.call(
                tool.name,
                the_whole_input,
                check=check,
                meta={KEY: hashlib.sha256(ctx.key.encode()).hexdigest()} if ctx.key else {},
                progress=report,
                repeatable=repeatable,
            )
        except (LostError, NotSentError, MCPError, ValidationError, RuntimeError) as error:
            told = _told(error, entry, effect)
            if isinstance(error, MCPError) and not entry.is_trusted:
                told = ctx.untrusted(told)
            raise ToolError(told) from error
        if not entry.is_trusted:
            ctx.untrusted("")
        return content_of(result)

    return Tool.from_schema(
        name,
        _described(entry, tool),
        input_schema(tool.input_schema, where),
        call,
        effect=effect,
        approval=entry.approval.get(tool.name),
        timeout=entry.timeout,
    )


def _described(entry: ServerEntry, tool: mcp_types.Tool) -> str:
    text = tool.description or tool.title or (tool.annotations.title if tool.annotations else None) or ""
    said = seen(text).strip()
    return cut(f"[a tool of the MCP server {entry.name!r}, in that server's own words]\n{said}", DESCRIPTION_LIMIT)


def _told(error: Exception, entry: ServerEntry, effect: str) -> str:
    """What the model is told of a call that has no result."""
    server = f"The MCP server {entry.name!r}"
    if isinstance(error, NotSentError):
        return f"{server} can't be reached. The call was not sent and had no effect."
    if isinstance(error, LostError):
        if effect == "read":
            return f"{server} closed the connection while the call ran. Nothing was changed; it can be tried again."
        return (
            f"{server} closed the connection while the call ran: its effect is unknown, it may have happened in whole,"
            " in part or not at all. It was not run again. Do not repeat it on your own; say that its outcome must be"
            " checked."
        )
    if isinstance(error, MCPError):
        return f"{server} refused the call: {error.message}"
    changed = "" if effect == "read" else " It may have taken effect."
    return f"{server} answered the call with something that its own description doesn't allow.{changed}"
