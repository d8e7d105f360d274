"""A real server for a test: uvicorn in a thread, and readers of event streams that speak plain HTTP."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Iterator
from typing import Any, Self

import httpx2
import uvicorn
from starlette.types import ASGIApp

from turnkeeper.serving import Server, listen, url_of

__all__ = ("Customer", "Stream", "serving")


@contextlib.contextmanager
def serving(app: ASGIApp) -> Iterator[str]:
    """Serve the application on a free port of 127.0.0.1; gives its base URL."""
    config = uvicorn.Config(app, log_level="error", ws="none", timeout_graceful_shutdown=2)
    started = threading.Event()
    server = Server(config, started=started.set)
    with listen("127.0.0.1", 0) as listener:
        thread = threading.Thread(target=server.run, args=([listener],))
        thread.start()
        try:
            assert started.wait(20), "the server did not start"
            yield url_of(listener)
        finally:
            server.should_exit = True
            thread.join(20)
            assert not thread.is_alive(), "the server did not stop"


class Stream:
    """An open event stream; `next()` gives (id, data) of the next event."""

    def __init__(self, response: httpx2.Response) -> None:
        self.response = response
        self._lines = response.iter_lines()
        self.last: str | None = None

    def next(self) -> tuple[str | None, dict[str, Any]]:
        """The next event with data."""
        seq: str | None = None
        data: list[str] = []
        for line in self._lines:
            if line.startswith("id:"):
                seq = line[3:].strip()
            elif line.startswith("data:"):
                data.append(line[5:].removeprefix(" "))
            elif not line and data:
                self.last = seq or self.last
                return seq, json.loads("\n".join(data))
        raise AssertionError("the stream ended")

    def until(self, kind: str, **fields: Any) -> list[dict[str, Any]]:
        """All events up to the first of that type with those fields, which is the last one."""
        found: list[dict[str, Any]] = []
        while True:
            found.append(self.next()[1])
            last = found[-1]
            if last["type"] == kind and all(last.get(name) == value for name, value in fields.items()):
                return found


class Customer:
    """A customer with a session of their own."""

    def __init__(self, base: str, **headers: str) -> None:
        self.http = httpx2.Client(base_url=base, headers={"origin": base, **headers}, timeout=20)
        answer = self.http.post("/api/session")
        assert answer.status_code == 200, answer.text

    def new(self) -> str:
        """A new conversation's id."""
        return str(self.http.post("/api/conversations").json()["id"])

    def say(self, conversation: str, text: str, key: str = "k1") -> httpx2.Response:
        """Send a message."""
        return self.http.post(
            f"/api/conversations/{conversation}/messages", json={"text": text}, headers={"idempotency-key": key}
        )

    @contextlib.contextmanager
    def stream(self, conversation: str, **headers: str) -> Iterator[Stream]:
        """The conversation's event stream."""
        path = f"/api/conversations/{conversation}/events"
        with self.http.stream("GET", path, headers=headers) as response:
            assert response.status_code == 200, response.read()
            yield Stream(response)

    def close(self) -> None:
        """Close the connections."""
        self.http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
