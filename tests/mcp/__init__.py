"""Tests of the part `mcp`: servers' tools for an agent, and tools as a server."""
