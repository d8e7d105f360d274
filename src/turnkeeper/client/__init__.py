"""The Messages API over the official SDK: its authentication, transports and errors, our bytes."""

from turnkeeper.client.api import APIClient, RawAnswer

__all__ = ("APIClient", "RawAnswer")
