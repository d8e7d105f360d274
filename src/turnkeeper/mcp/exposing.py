"""Tools as an MCP server: which of them whoever asks may see, and what becomes of their calls."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from importlib.metadata import version
from typing import Any

import mcp_types
from mcp import MCPError
from mcp.server import Server
from mcp.server.context import ServerRequestContext

from turnkeeper.core.identity import reaches
from turnkeeper.errors import ConfigurationError
from turnkeeper.mcp.calling import LONGEST_KEY, Calls, answer
from turnkeeper.mcp.offering import KEY
from turnkeeper.tools import Registry, Tool
from turnkeeper.types import Principal

__all__ = ("OUTCOME", "Offer", "Who", "exposed")

Who = Callable[[], "Principal | None"]
"""Who asks, found out anew for every request: from the request's own token, never from what it says."""

Offer = Callable[["Principal | None", Tool[..., Any]], bool]
"""Whether somebody may have a tool that their level reaches."""

OUTCOME = "call_outcome"
DIALECT = "https://json-schema.org/draft/2020-12/schema"
_OUTCOME = mcp_types.Tool(
    name=OUTCOME,
    description="Ask for the outcome of a call that had to wait for a person, by the id that its answer named.",
    input_schema={
        "type": "object",
        "properties": {"id": {"type": "string", "description": "The id, which begins with mcp-."}},
        "required": ["id"],
        "additionalProperties": False,
    },
    annotations=mcp_types.ToolAnnotations(read_only_hint=True, open_world_hint=False),
)


@asynccontextmanager
async def exposed(
    tools: Sequence[Any],
    *,
    who: Who,
    name: str = "turnkeeper",
    journal: str = "memory:",
    instructions: str | None = None,
    offer: Offer | None = None,
    settings: Mapping[str, Any] | None = None,
) -> AsyncIterator[Server[Any]]:
    """A server of these tools (functions or `Tool`s), to be served over any transport while the block lasts.

    A principal sees the tools that their level reaches and that `offer` lets them have; any other is answered as one
    that isn't there. Calls with an effect are turns in `journal`: approvals, effects and recovery are those of every
    conversation. `settings` are further ones of `Agent`. ConfigurationError for tools that can't be served so.
    """
    registry = Registry(tools)
    offered = registry.tools
    if len(offered) != len(registry):
        raise ConfigurationError("only tools that run here can be served, not definitions of the API's own")
    waits = any(tool.approval not in (None, "never") for tool in offered) or journal != "memory:"
    if waits and registry.get(OUTCOME) is not None:
        raise ConfigurationError(f"the tool {OUTCOME!r} is the server's own: give yours another name")
    names = [tool.name for tool in offered if tool.effect == "transactional"]
    if names and journal == "memory:":
        raise ConfigurationError(
            f"{', '.join(names)}: a transactional tool writes in the journal's own database; name one, such as"
            " sqlite:///calls.db"
        )
    async with Calls.opened(offered, journal, settings or {}) as calls:
        handlers = _Handlers(registry, calls, who, offer or _anybody, waits=waits and calls.durable)
        yield Server(
            name,
            version=version("turnkeeper"),
            instructions=instructions,
            on_list_tools=handlers.list_tools,
            on_call_tool=handlers.call_tool,
        )


class _Handlers:
    def __init__(self, registry: Registry, calls: Calls, who: Who, offer: Offer, *, waits: bool) -> None:
        self._registry = registry
        self._calls = calls
        self._who = who
        self._offer = offer
        self._waits = waits

    def _sees(self, who: Principal | None, tool: Tool[..., Any]) -> bool:
        return reaches(who, tool.requires) and self._offer(who, tool)

    async def list_tools(
        self, ctx: ServerRequestContext[Any], params: mcp_types.PaginatedRequestParams | None
    ) -> mcp_types.ListToolsResult:
        del ctx, params
        who = self._who()
        seen = [_described(tool) for tool in self._registry.tools if self._sees(who, tool)]
        # What is on offer depends on who asks: nobody in between may keep it for another.
        return mcp_types.ListToolsResult(
            tools=[*seen, *([_OUTCOME] if self._waits else ())], cache_scope="private", ttl_ms=0
        )

    async def call_tool(
        self, ctx: ServerRequestContext[Any], params: mcp_types.CallToolRequestParams
    ) -> mcp_types.CallToolResult:
        who, arguments = self._who(), params.arguments or {}

        async def report(done: float, total: float | None, message: str) -> None:
            await ctx.session.report_progress(done, total, message)

        if params.name == OUTCOME and self._waits:
            wanted = arguments.get("id")
            return await self._calls.outcome(str(wanted), principal=who, report=report)
        tool = self._registry.get(params.name)
        if tool is None or not self._sees(who, tool):
            raise MCPError(mcp_types.INVALID_PARAMS, f"Unknown tool: {params.name[:100]}")
        key = (ctx.meta or {}).get(KEY)
        if key is not None and not (isinstance(key, str) and 0 < len(key) <= LONGEST_KEY):
            return answer(f"Not run: {KEY} is text of 1 to {LONGEST_KEY} characters.", is_error=True)
        return await self._calls.call(tool.name, arguments, principal=who, key=key, report=report)


def _anybody(who: Principal | None, tool: Tool[..., Any]) -> bool:
    del who, tool
    return True


def _described(tool: Tool[..., Any]) -> mcp_types.Tool:
    return mcp_types.Tool(
        name=tool.name,
        description=tool.description or None,
        input_schema={"$schema": DIALECT, **tool.definition["input_schema"]},
        annotations=mcp_types.ToolAnnotations(
            read_only_hint=tool.effect == "read",
            idempotent_hint=True if tool.effect in ("read", "idempotent") else None,
        ),
    )
