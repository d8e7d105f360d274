"""`connect`: the tools of MCP servers, for any agent, as long as the block lasts."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, overload

from turnkeeper.driver import portal
from turnkeeper.errors import ConfigurationError, ToolDefinitionError, ToolError
from turnkeeper.mcp.configuration import ServerEntry, read_entries, read_file
from turnkeeper.mcp.connection import Connection
from turnkeeper.mcp.errors import MCPServerError
from turnkeeper.mcp.offering import definition_of, offered
from turnkeeper.mcp.pins import Pins, digest_of
from turnkeeper.tools import Tool

if TYPE_CHECKING:
    import mcp_types

__all__ = ("Connecting", "MCPTools", "Source", "connect", "pins_beside")

logger = logging.getLogger("turnkeeper.mcp")

Source: TypeAlias = "str | os.PathLike[str] | Mapping[str, Any]"
Refusals: TypeAlias = "dict[tuple[str, str], str]"


def connect(
    *sources: Source, pins: str | os.PathLike[str] | Literal[False] | None = None, strict: bool = False
) -> Connecting:
    """Connect to MCP servers: `async with connect(".mcp.json") as tools`, or `with …` in synchronous code.

    Each source is a file in the format of `.mcp.json`, the same as a mapping, or a mapping of entries by name. What
    comes out is a sequence of tools for `Agent(tools=…)`; it is as good as the block lasts. Give it to the agents whose
    turns run inside the block: those of a keeper, of workers and of `run_sync` alike.

    `pins` is the file with the accepted definitions: None for the one beside the first file (`.mcp.pins.json`), or this
    process's memory where there is no file; False for memory in any case. A tool whose definition differs from the
    accepted one is not offered (see `MCPTools.refused`). The first one is accepted as it is, unless `strict` is set:
    then it waits for a person too.

    ConfigurationError for entries that can't be used, MCPServerError where a required server can't be reached,
    PinsDamagedError where the file can't be read or written. Needs the extra `mcp`.
    """
    entries: list[ServerEntry] = []
    for source in sources:
        entries += read_entries(source) if isinstance(source, Mapping) else read_file(source)
    names = [entry.name for entry in entries]
    for name in names:
        if names.count(name) > 1:
            raise ConfigurationError(f"two MCP servers are named {name!r}; give one of them another name")
    path: Path | None = None
    if pins is None:
        path = next((pins_beside(source) for source in sources if not isinstance(source, Mapping)), None)
    elif pins is not False:
        path = Path(pins)
    return Connecting(tuple(entries), path, strict=strict)


def pins_beside(file: str | os.PathLike[str]) -> Path:
    """The file with the accepted definitions for a file of servers: `.mcp.pins.json` for `.mcp.json`."""
    path = Path(file)
    stem = path.name.removesuffix(".json")
    return path.with_name(f"{stem}.pins.json")


class MCPTools(Sequence[Tool[..., Any]]):
    """The tools of the connected servers, in the servers' order; a sequence for `Agent(tools=…)`.

    It does not change while it is used: what a model was told stays true. `refused` says of each tool that is not on
    offer why, by server and name; `notices` tells what the servers have changed since.
    """

    def __init__(self, servers: Sequence[_Server], pins: Pins, refused: Refusals) -> None:
        self._servers = servers
        self._pins = pins
        self._refused = refused
        self._tools: tuple[Tool[..., Any], ...] = ()

    @overload
    def __getitem__(self, at: int) -> Tool[..., Any]: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[Tool[..., Any], ...]: ...
    def __getitem__(self, at: int | slice) -> Tool[..., Any] | tuple[Tool[..., Any], ...]:
        return self._tools[at]

    def __len__(self) -> int:
        return len(self._tools)

    @property
    def names(self) -> tuple[str, ...]:
        """The names that the model knows."""
        return tuple(tool.name for tool in self._tools)

    @property
    def refused(self) -> Mapping[tuple[str, str], str]:
        """(server, tool) -> why the tool is not on offer; the tool is "" for a server that could not be reached."""
        return MappingProxyType(self._refused)

    @property
    def notices(self) -> tuple[str, ...]:
        """What the servers have changed since the tools were offered: tools that are new, gone or different."""
        return tuple(notice for server in self._servers for notice in server.notices())

    async def refresh(self) -> tuple[str, ...]:
        """Ask every server for its tools anew, and give the notices. New tools are on offer at the next `connect`."""
        for server in self._servers:
            await server.connection.relist()
        return self.notices

    def fill(self) -> None:
        """Offer what the servers have, by now."""
        found: dict[str, Tool[..., Any]] = {}
        for server in self._servers:
            for own, made in server.offer(self._pins, self._refused):
                if made.name in found:
                    self._refuse(server, own, f"its name for the model, {made.name!r}, is another tool's already")
                else:
                    found[made.name] = made
        self._pins.save()
        self._tools = tuple(found.values())

    def _refuse(self, server: _Server, own: str, reason: str) -> None:
        refuse(self._refused, server.entry, own, reason)


def refuse(refused: Refusals, entry: ServerEntry, tool: str, reason: str) -> None:
    """Note, and log, that a tool is not on offer."""
    refused[entry.name, tool] = reason
    logger.warning("MCP server %s: %s is not on offer: %s", entry.name, tool or "none of its tools", reason)


class _Server:
    """One server, what it lists now, and what of that was offered."""

    def __init__(self, entry: ServerEntry) -> None:
        self.entry = entry
        self.connection = Connection(entry, self._listed)
        self._listing: dict[str, mcp_types.Tool] = {}
        self._now: dict[str, str] = {}
        self._then: dict[str, str] = {}
        self._known: frozenset[str] = frozenset()

    def _listed(self, tools: list[mcp_types.Tool]) -> None:
        self._listing = {tool.name: tool for tool in tools}
        self._now = {name: digest_of(definition_of(tool)) for name, tool in self._listing.items()}
        if self._known:
            for notice in self.notices():
                logger.warning("%s", notice)

    def notices(self) -> Iterator[str]:
        """What is different from what was offered."""
        where = f"MCP server {self.entry.name}"
        for name, digest in self._then.items():
            if name not in self._now:
                yield f"{where} no longer has the tool {name}: calls of it are refused"
            elif self._now[name] != digest:
                yield f"{where} has changed the definition of {name}: calls of it are refused"
        for name in self._now:
            if name not in self._known:
                yield f"{where} has a new tool, {name}: it can be used after connecting again"

    def offer(self, pins: Pins, refused: Refusals) -> Iterator[tuple[str, Tool[..., Any]]]:
        """The tools that are allowed, accepted and fit for the API."""
        self._known = frozenset(self._listing)
        entry = self.entry
        wanted = {*(entry.allow or ()), *entry.effects, *entry.approval}
        for name in sorted(wanted - set(self._listing)):
            logger.warning("MCP server %s has no tool %s, which its entry names", entry.name, name)
        for name, tool in self._listing.items():
            if (entry.allow is not None and name not in entry.allow) or name in entry.deny:
                continue
            if pins.standing(entry.name, name, definition_of(tool)) == "changed":
                reason = "its definition is not the one that was accepted"
                if pins.path is not None:
                    reason += f"; compare the two in {pins.path}, then accept with `turnkeeper mcp --accept`"
                refuse(refused, entry, name, reason)
                continue
            try:
                made = offered(entry, tool, self.connection, self._check(name, self._now[name]))
            except ToolDefinitionError as error:
                refuse(refused, entry, name, str(error))
                continue
            self._then[name] = self._now[name]
            yield name, made

    def _check(self, name: str, digest: str) -> Callable[[], None]:
        def check() -> None:
            if name not in self._now:
                raise ToolError(f"The MCP server {self.entry.name!r} no longer has this tool. The call was not sent.")
            if self._now[name] != digest:
                raise ToolError(
                    f"The MCP server {self.entry.name!r} has changed what this tool says of itself since it was"
                    " accepted. The call was not sent; a person has to look at the change first."
                )

        return check


class Connecting:
    """What `connect` gives: a context manager, in `async with` and in `with`."""

    def __init__(self, entries: tuple[ServerEntry, ...], path: Path | None, *, strict: bool) -> None:
        self._entries = entries
        self._path = path
        self._strict = strict
        self._servers: list[_Server] = []

    async def __aenter__(self) -> MCPTools:
        pins = Pins(self._path, strict=self._strict)
        refused: Refusals = {}
        servers = [_Server(entry) for entry in self._entries]
        self._servers = servers
        try:
            outcomes = await asyncio.gather(*(one.connection.open() for one in servers), return_exceptions=True)
            there = []
            for server, outcome in zip(servers, outcomes, strict=True):
                if outcome is None:
                    there.append(server)
                elif isinstance(outcome, MCPServerError) and not server.entry.required:
                    refuse(refused, server.entry, "", str(outcome))
                else:
                    raise outcome
            tools = MCPTools(there, pins, refused)
            tools.fill()
        except BaseException:
            await self._close()
            raise
        return tools

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._close()

    def __enter__(self) -> MCPTools:
        return portal.call(self.__aenter__)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        portal.call(self._close)

    async def _close(self) -> None:
        servers, self._servers = self._servers, []
        await asyncio.gather(*(server.connection.aclose() for server in servers))
