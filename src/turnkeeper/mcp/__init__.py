"""MCP: servers' tools for an agent (`connect`), tools as a server (`serve_stdio`, `http_app`); in the extra `mcp`.

The names below load the `mcp` library when they are first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from turnkeeper.errors import ConfigurationError
from turnkeeper.mcp.errors import MCPServerError, PinsDamagedError

if TYPE_CHECKING:
    from turnkeeper.mcp.configuration import ServerEntry
    from turnkeeper.mcp.pins import Pins
    from turnkeeper.mcp.servers import MCPTools, connect
    from turnkeeper.mcp.serving import Authorization, http_app, serve_stdio

__all__ = (
    "Authorization",
    "MCPServerError",
    "MCPTools",
    "Pins",
    "PinsDamagedError",
    "ServerEntry",
    "connect",
    "http_app",
    "serve_stdio",
)

_HOMES = {
    "Authorization": "turnkeeper.mcp.serving",
    "MCPTools": "turnkeeper.mcp.servers",
    "Pins": "turnkeeper.mcp.pins",
    "ServerEntry": "turnkeeper.mcp.configuration",
    "connect": "turnkeeper.mcp.servers",
    "http_app": "turnkeeper.mcp.serving",
    "serve_stdio": "turnkeeper.mcp.serving",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        module = importlib.import_module(_HOMES[name])
    except ModuleNotFoundError as error:
        if error.name not in ("mcp", "mcp_types"):
            raise
        raise ConfigurationError("MCP needs the library of that name: pip install 'turnkeeper[mcp]'") from error
    return getattr(module, name)
