"""What goes wrong between Turnkeeper and an MCP server; for programs, never for the model."""

from __future__ import annotations

from turnkeeper.errors import TurnkeeperError

__all__ = ("MCPServerError", "PinsDamagedError")


class MCPServerError(TurnkeeperError):
    """An MCP server could not be started or reached, or does not speak the protocol; none of its tools is on offer.

    The text names the server and what it said. Mend its entry, or say `"required": false` there to do without it.
    """

    code = "mcp_server"


class PinsDamagedError(TurnkeeperError):
    """The file with the accepted definitions of MCP tools can't be read or written; no server was asked for anything.

    Restore it, for it says what was accepted. Deleting it accepts whatever the servers offer next.
    """

    code = "mcp_pins_damaged"
