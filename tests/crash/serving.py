"""One server for the simulators of all cells: each has an address of its own, and knows nothing of the others."""

from __future__ import annotations

import itertools
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

import uvicorn

from turnkeeper.testing import MessagesAPI

__all__ = ("Simulators",)


class Simulators:
    """A context manager; the server runs in a thread of this process and outlives whoever it serves."""

    def __init__(self) -> None:
        self._apps: dict[str, Any] = {}
        self._numbers = itertools.count(1)
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=512)
        self._server = uvicorn.Server(
            uvicorn.Config(
                cast(Any, self._answer),
                http="h11",
                ws="none",
                interface="asgi3",
                lifespan="off",
                log_config=None,
                log_level="critical",
                access_log=False,
                timeout_graceful_shutdown=1,
            )
        )
        self._thread = threading.Thread(target=self._server.run, args=([self._listener],), daemon=True)

    @contextmanager
    def serving(self, api: MessagesAPI) -> Iterator[str]:
        """Serve this API while the block runs; its base URL."""
        name = str(next(self._numbers))
        self._apps[name] = api.app
        try:
            yield f"http://127.0.0.1:{self._listener.getsockname()[1]}/{name}"
        finally:
            del self._apps[name]

    async def _answer(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        _, name, rest = scope["path"].split("/", 2)
        path = f"/{rest}"
        await self._apps[name]({**scope, "path": path, "raw_path": path.encode()}, receive, send)

    def __enter__(self) -> Simulators:
        self._thread.start()  # connections wait in the listener's queue until it has started
        return self

    def __exit__(self, *error: object) -> None:
        self._server.should_exit = True
        self._thread.join(timeout=30)
        self._listener.close()
