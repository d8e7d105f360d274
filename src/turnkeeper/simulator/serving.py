"""The simulator on a socket: `serve()` for programs of any language, `listening()` for a server beside a test."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import Any

import anyio
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from turnkeeper.errors import ConfigurationError
from turnkeeper.serving import Server, listen, url_of
from turnkeeper.simulator.answerers import Answerer, PracticeAnswerer
from turnkeeper.simulator.app import HANG_UP, App
from turnkeeper.simulator.delivery import Sleep
from turnkeeper.simulator.exchange import Exchange, Options
from turnkeeper.simulator.imitations import find_imitation
from turnkeeper.simulator.script_files import read_script

__all__ = ("find_model", "listening", "listening_app", "serve", "serve_app")


def serve(
    host: str = "127.0.0.1",
    port: int = 0,
    *,
    model: str | Answerer = "practice",
    strict: bool = True,
    imitation: str | None = None,
    keep: int | None = 100,
    announce: Callable[[str], None] | None = None,
) -> None:
    """Serve until SIGINT or SIGTERM; then end quietly. `model` is `practice`, a script file's path, or a Script.

    `keep` is how many requests GET /simulator/requests shows. Prints `listening on http://HOST:PORT` as its only
    line on stdout once requests are taken (`announce` gets the line instead); port 0 picks a free one. Raises
    ConfigurationError when the address can't be used, InputError for a bad script.
    """
    options = Options(strict=strict, imitation=find_imitation(imitation), keep=keep)
    serve_app(App(Exchange(find_model(model), options)), host, port, announce=announce)


def serve_app(
    app: Any, host: str, port: int, *, announce: Callable[[str], None] | None = None, lifespan: bool = False
) -> None:
    """The same for any ASGI application; with `lifespan`, it is told of the start and the end."""
    listener = listen(host, port)
    line = f"listening on {url_of(listener)}"
    server = Server(_config(app, lifespan=lifespan), started=lambda: (announce or _print)(line))
    try:
        server.run(sockets=[listener])
    finally:
        listener.close()


def listening(
    exchange: Exchange, *, host: str = "127.0.0.1", sleep: Sleep = anyio.sleep
) -> contextlib.AbstractContextManager[str]:
    """Serve an exchange from a thread of this process; gives the base URL, and stops the server at the end."""
    return listening_app(App(exchange, sleep=sleep), host=host)


@contextlib.contextmanager
def listening_app(app: Any, *, host: str = "127.0.0.1") -> Iterator[str]:
    """The same for any ASGI application."""
    listener = listen(host, 0)
    ready = threading.Event()
    server = Server(_config(app), started=ready.set)
    thread = threading.Thread(target=server.run, args=([listener],), name="turnkeeper-simulator", daemon=True)
    thread.start()
    try:
        if not ready.wait(timeout=30):
            raise ConfigurationError("the simulator's server didn't start within 30 seconds")
        yield url_of(listener)
    finally:
        server.should_exit = True
        thread.join(timeout=30)
        listener.close()


def find_model(model: str | Answerer) -> Answerer:
    """The practice model by its name, a script by its path, or what was given."""
    if not isinstance(model, str):
        return model
    return PracticeAnswerer() if model == "practice" else read_script(model)


class _Protocol(H11Protocol):
    """HTTP/1.1 whose app can abort the connection."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        app = self.app

        async def with_hang_up(scope: Any, receive: Any, send: Any) -> None:
            scope.setdefault("extensions", {})[HANG_UP] = self._hang_up
            await app(scope, receive, send)

        self.app = with_hang_up

    def _hang_up(self, how: str) -> None:
        if how == "cut":
            self.transport.close()  # What was written still goes out; the final chunk never does.
        else:
            self.transport.abort()


def _config(app: Any, *, lifespan: bool = False) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http=_Protocol,
        ws="none",
        lifespan="on" if lifespan else "off",
        log_config=None,
        log_level="critical",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=1,
    )


def _print(line: str) -> None:
    print(line, flush=True)  # noqa: T201 - this line is the server's whole output
