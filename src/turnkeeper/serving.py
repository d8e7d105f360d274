"""What every program here that listens has in common: an address to listen on, and a server that ends quietly.

Needs uvicorn, of the extras `cli`, `mcp` and `web`.
"""

from __future__ import annotations

import contextlib
import ipaddress
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from types import FrameType

import uvicorn

from turnkeeper.errors import ConfigurationError

__all__ = ("Server", "is_loopback", "listen", "url_of")

_BACKLOG = 512


class Server(uvicorn.Server):
    """Tells when requests are taken; ends on SIGINT and SIGTERM, at the second at once, without raising them again."""

    def __init__(self, config: uvicorn.Config, *, started: Callable[[], object] | None = None) -> None:
        super().__init__(config)
        self._tell_started = started

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """See uvicorn's; then `started` is called."""
        await super().startup(sockets=sockets)
        if self._tell_started is not None:
            self._tell_started()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """See uvicorn's. Outside of the main thread signals are somebody else's."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.signal(number, self._stop) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _stop(self, number: int, frame: FrameType | None) -> None:
        del number, frame
        self.force_exit = self.should_exit
        self.should_exit = True


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens there; port 0 finds a free one. ConfigurationError says why it can't."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=_BACKLOG)
    except (OSError, OverflowError) as error:
        raise ConfigurationError(f"can't listen on {host} port {port}: {error}") from error


def url_of(listener: socket.socket) -> str:
    """Where it listens, as http://HOST:PORT."""
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach that address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
