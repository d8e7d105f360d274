"""A way to a PostgreSQL server that can be cut at a chosen word, as a failing network would."""

from __future__ import annotations

import select
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ("Proxy", "proxy_to")


class Proxy:
    """Forwards bytes to the server. `cut_at(word, when)` breaks each connection that sends the word.

    `when` is `before`: the server doesn't get the word; or `after`: the server acts on it, and only its answer is lost.
    `refuse` lets nobody connect any more.
    """

    def __init__(self, host: str, port: int) -> None:
        self._server = (host, port)
        self._word: bytes | None = None
        self._when = "before"
        self._times = 0
        self.refuse = False
        self.cuts = 0
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._ended = threading.Event()
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    def cut_at(self, word: str, when: str, *, times: int = 1) -> None:
        """Break the next connections that send the word."""
        self._word, self._when, self._times = word.encode(), when, times

    def close(self) -> None:
        self._ended.set()
        for thread in self._threads:
            thread.join(10)
        self._listener.close()

    def _accept(self) -> None:
        while not self._ended.is_set():
            if select.select([self._listener], [], [], 0.05)[0]:
                client, _ = self._listener.accept()
                if self.refuse:
                    client.close()
                    continue
                thread = threading.Thread(target=self._serve, args=(client,))
                self._threads.append(thread)
                thread.start()

    def _serve(self, client: socket.socket) -> None:
        with client, socket.create_connection(self._server) as server:
            while not self._ended.is_set():
                ready = select.select([client, server], [], [], 0.05)[0]
                for source, target in ((client, server), (server, client)):
                    if source in ready and not self._forward(source, target, from_client=source is client):
                        return

    def _forward(self, source: socket.socket, target: socket.socket, *, from_client: bool) -> bool:
        data = source.recv(1 << 16)
        if not data:
            return False
        if from_client and self._word is not None and self._word in data and self._times > 0:
            self._times -= 1
            self.cuts += 1
            if self._when == "after":
                target.sendall(data)
                target.recv(1 << 16)  # the server has acted; nobody learns of it
            return False
        target.sendall(data)
        return True


@contextmanager
def proxy_to(host: str, port: int) -> Iterator[tuple[Proxy, Callable[[str], str]]]:
    """A proxy, and what makes a URL go through it."""
    proxy = Proxy(host, port)
    try:
        yield proxy, lambda url: url.replace(f"{host}:{port}", f"127.0.0.1:{proxy.port}")
    finally:
        proxy.close()
