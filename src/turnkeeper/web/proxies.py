"""What a trusted reverse proxy says of a request: whose it is, and whether it came over https."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable

from starlette.datastructures import Headers
from starlette.types import Scope

from turnkeeper.errors import ConfigurationError

__all__ = ("PEER", "Proxies")

PEER = "turnkeeper.peer"
"""Where a scope keeps the address that is really at the other end of the connection."""


class Proxies:
    """The addresses and networks whose `X-Forwarded-For` and `X-Forwarded-Proto` are believed."""

    def __init__(self, trusted: Iterable[str]) -> None:
        try:
            self._networks = tuple(ipaddress.ip_network(one) for one in trusted)
        except ValueError as error:
            raise ConfigurationError(
                f"a trusted proxy is an address or a network such as 10.0.0.0/8: {error}"
            ) from None

    def __bool__(self) -> bool:
        return bool(self._networks)

    def holds(self, address: str) -> bool:
        """Whether the address is a trusted proxy's."""
        try:
            found = ipaddress.ip_address(address)
        except ValueError:
            return False
        return any(found in network for network in self._networks)

    def seen_through(self, scope: Scope, headers: Headers) -> Scope:
        """The request as it was before the proxies: its client, its scheme. `PEER` keeps who is connected."""
        peer = str((scope.get("client") or ("",))[0])
        seen = {**scope, PEER: peer}
        if not self.holds(peer):
            return seen
        # from the right: each proxy adds whom it saw, and what stands further left anybody may have written
        for one in reversed(headers.get("x-forwarded-for", "").split(",")):
            address = one.strip()
            if address and not self.holds(address):
                seen["client"] = (address, 0)
                break
        if headers.get("x-forwarded-proto", "").strip().lower() == "https":
            seen["scheme"] = "https"
        return seen
