"""`--mcp FILE`: tools of MCP servers, for the commands that drive conversations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from turnkeeper.cli.escapes import clean_line
from turnkeeper.cli.options import Talk
from turnkeeper.cli.terminal import Terminal
from turnkeeper.driver.settings import Settings

if TYPE_CHECKING:
    from turnkeeper.mcp.servers import Connecting

__all__ = ("listed", "mcp_servers", "tell_refused")


def mcp_servers(talk: Talk) -> Connecting | None:
    """The servers that the options or the settings name, to be connected to; None if there are none."""
    files = talk.mcp or listed(Settings().find("mcp"))
    if not files:
        return None
    from turnkeeper import mcp  # noqa: PLC0415 - heavy, and few commands have servers

    return mcp.connect(*files)


def tell_refused(brought: Sequence[Any], terminal: Terminal) -> None:
    """Say which of the servers' tools are not on offer, and why."""
    for (server, tool), reason in getattr(brought, "refused", {}).items():
        which = f"the tool {tool!r} of MCP server {server!r}" if tool else "an MCP server"
        terminal.note(clean_line(f"turnkeeper: {which} is not on offer: {reason}"), "yellow")


def listed(value: Any) -> tuple[str, ...]:
    """A setting that is a text or a list of texts in turnkeeper.toml; of the environment, a text with commas."""
    if not value:
        return ()
    return tuple(str(one) for one in value) if isinstance(value, list) else tuple(str(value).split(","))
