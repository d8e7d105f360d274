"""What does the web door add to the first word, and what does an open stream cost? `python -m benchmarks.streams`.

Three processes: the simulator with the practice model, the web door over it with a journal in a SQLite file, and this
one, which holds hundreds of event streams open, each of a customer of its own, and sends messages at a steady rate. In
the same seconds it asks the simulator directly, as a program without a door would, for the same answer. At the end
every stream is looked at: each message must have its one reply, whole, in order, and what streamed in must be its text.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

__all__ = ("main",)

MODEL = "claude-opus-5-5"
QUESTION = "Привет 🙂, № {}. What can you do?"
MANY = 10**9


def serve(api: str, journal: str) -> None:
    """The web door, on a port that the system finds; prints its address."""
    import socket

    import uvicorn

    import turnkeeper as tk
    from turnkeeper.web import app
    from turnkeeper.web.rates import Rates

    listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
    rates = Rates(messages=MANY, posts=MANY, reads=MANY, sessions=MANY, streams_per_address=MANY)
    agent = tk.Agent(model=MODEL, max_tokens=1000, base_url=api, api_key="none")
    service = app(agent, journal=journal, secret="at least sixteen bytes", rates=rates)
    print(f"http://127.0.0.1:{listener.getsockname()[1]}", flush=True)
    uvicorn.Server(uvicorn.Config(service, log_level="warning")).run(sockets=[listener])


@contextlib.contextmanager
def process(*arguments: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A Python program that prints its address first; ended when the block is left."""
    with subprocess.Popen([sys.executable, *arguments], stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        try:
            yield running, running.stdout.readline().strip().removeprefix("listening on ")
        finally:
            running.terminate()


def resident(pid: int) -> int:
    """Bytes of memory that the process has in use."""
    return int(Path(f"/proc/{pid}/statm").read_text("utf-8").split()[1]) * os.sysconf("SC_PAGE_SIZE")


def processor_seconds(pid: int) -> float:
    """What the process has computed so far."""
    fields = Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@dataclass
class Reader:
    """One customer with one conversation and its stream; what came, and when."""

    address: tuple[str, int]
    cookie: str
    conversation: str
    sent: dict[str, float] = field(default_factory=dict)
    first_words: list[float] = field(default_factory=list)
    events: list[dict[str, Any]] = field(default_factory=list)
    caught_up: asyncio.Event = field(default_factory=asyncio.Event)
    ended: int = 0
    all_ended: asyncio.Event = field(default_factory=asyncio.Event)
    streamed: str = ""
    wrong: list[str] = field(default_factory=list)
    waiting_since: float | None = None

    async def follow(self) -> None:
        """Read until cancelled, from the beginning."""
        self.events.clear()
        self.ended = 0
        async for line in lines_of(self.address, f"/api/conversations/{self.conversation}/events", self.cookie):
            if line.startswith(b"data:"):
                self.take(json.loads(line[5:]))

    def take(self, event: dict[str, Any]) -> None:
        """Note one event, and whether it fits those before."""
        kind = event["type"]
        if kind == "delta":
            if self.waiting_since is not None:
                self.first_words.append(time.perf_counter() - self.waiting_since)
                self.waiting_since = None
            if event["offset"] not in (0, len(self.streamed)):
                self.wrong.append(f"text at {event['offset']} behind {len(self.streamed)} characters")
            self.streamed = self.streamed[: event["offset"]] + event["text"]
            return
        if kind == "caught_up":
            self.caught_up.set()
            return
        if self.events and event["seq"] <= self.events[-1]["seq"]:
            self.wrong.append(f"event {event['seq']} behind {self.events[-1]['seq']}")
        self.events.append(event)
        if kind == "reply":
            if self.streamed not in ("", event["text"]):
                self.wrong.append("what streamed in is not the reply")
            self.streamed = ""
        if kind == "ended":
            self.ended += 1
            if self.ended >= len(self.sent):
                self.all_ended.set()

    def lost(self) -> list[str]:
        """What should have come and did not, or came twice."""
        keys = [event["key"] for event in self.events if event["type"] == "message" and event["from"] == "customer"]
        found = list(self.wrong)
        if sorted(keys) != sorted(self.sent):
            found.append(f"{len(self.sent)} messages sent, {len(keys)} came")
        whole = [event for event in self.events if event["type"] == "ended" and event["status"] == "completed"]
        if len(whole) != len(self.sent):
            found.append(f"{len(self.sent)} messages sent, {len(whole)} turns completed")
        return found


async def lines_of(address: tuple[str, int], path: str, cookie: str) -> AsyncIterator[bytes]:
    """The lines of an event stream: no client library, which would cost more than what is measured."""
    reader, writer = await asyncio.open_connection(*address)
    host = f"{address[0]}:{address[1]}"
    writer.write(
        f"GET {path} HTTP/1.1\r\nHost: {host}\r\nCookie: {cookie}\r\nAccept: text/event-stream\r\n\r\n".encode()
    )
    try:
        head = await reader.readuntil(b"\r\n\r\n")
        if b" 200 " not in head.split(b"\r\n", 1)[0]:
            raise RuntimeError(head.decode("latin-1"))
        while line := await reader.readline():
            yield line.strip()
    finally:
        writer.close()


async def customers(client: Any, base: str, count: int) -> list[Reader]:
    """As many sessions, each with an empty conversation."""
    host, _, port = base.removeprefix("http://").partition(":")
    found = []
    for _ in range(count):
        session = await client.post(f"{base}/api/session", headers={"origin": base})
        session.raise_for_status()
        cookie = session.headers["set-cookie"].split(";")[0]
        client.cookies.clear()
        made = await client.post(f"{base}/api/conversations", headers={"origin": base, "cookie": cookie})
        made.raise_for_status()
        found.append(Reader((host, int(port)), cookie, made.json()["id"]))
    return found


async def ask_directly(client: Any, api: str, number: int) -> float:
    """Seconds until the first word of the same answer without the door."""
    body = {
        "model": MODEL,
        "max_tokens": 1000,
        "stream": True,
        "messages": [{"role": "user", "content": QUESTION.format(number)}],
    }
    headers = {"x-api-key": "none", "anthropic-version": "2023-06-01"}
    begun = time.perf_counter()
    async with client.stream("POST", f"{api}/v1/messages", json=body, headers=headers) as response:
        response.raise_for_status()
        found = None
        async for line in response.aiter_lines():
            if found is None and line.startswith("data:") and '"text_delta"' in line:
                found = time.perf_counter() - begun
    assert found is not None
    return found


async def send(client: Any, base: str, reader: Reader, number: int) -> None:
    """One message; durable when this returns."""
    key = f"k-{number}"
    reader.all_ended.clear()
    reader.sent[key] = reader.waiting_since = time.perf_counter()
    posted = await client.post(
        f"{base}/api/conversations/{reader.conversation}/messages",
        headers={"origin": base, "cookie": reader.cookie, "idempotency-key": key},
        json={"text": QUESTION.format(number)},
    )
    posted.raise_for_status()


async def begin(client: Any, base: str, reader: Reader) -> None:
    """A first turn: only a conversation that has begun has a stream."""
    await send(client, base, reader, -1)
    task = asyncio.create_task(reader.follow())
    await reader.all_ended.wait()
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task
    reader.caught_up.clear()


@dataclass
class Figures:
    """What was measured."""

    per_stream: float
    direct: list[float]
    through: list[float]
    rate: float
    busy: float
    turns: int
    lost: list[str]


async def measure(api: str, base: str, pid: int, options: argparse.Namespace) -> Figures:
    """Open the streams, send at the rate, wait for the last turn."""
    import httpx2

    limits = httpx2.Limits(max_connections=100)
    async with httpx2.AsyncClient(limits=limits, timeout=60) as client, asyncio.TaskGroup() as group:
        readers = await customers(client, base, options.streams)
        for few in (readers[at : at + 20] for at in range(0, len(readers), 20)):
            await asyncio.gather(*(begin(client, base, reader) for reader in few))
        before = resident(pid)
        tasks = [group.create_task(reader.follow()) for reader in readers]
        for reader in readers:
            await reader.caught_up.wait()
            reader.first_words.clear()
        per_stream = (resident(pid) - before) / len(readers)

        total = options.rate * options.seconds
        computed, begun = processor_seconds(pid), time.perf_counter()
        posts, asked = [], []
        for number in range(total):
            await asyncio.sleep(max(begun + number / options.rate - time.perf_counter(), 0))
            posts.append(group.create_task(send(client, base, readers[number % len(readers)], number)))
            if number % 10 == 0:
                asked.append(group.create_task(ask_directly(client, api, number)))
        await asyncio.wait(posts)
        with contextlib.suppress(TimeoutError):  # what is missing then is told as lost
            async with asyncio.timeout(60):
                for reader in readers:
                    await reader.all_ended.wait()
        took = time.perf_counter() - begun
        busy = (processor_seconds(pid) - computed) / took
        direct = [await one for one in asked]
        for task in tasks:
            task.cancel()
    through = [seconds for reader in readers for seconds in reader.first_words]
    lost = [f"{reader.conversation}: {what}" for reader in readers for what in reader.lost()]
    return Figures(per_stream, direct, through, total / took, busy, total, lost)


def main(arguments: list[str] | None = None) -> int:
    """Measure and print; 1 if anything was lost."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.streams", description=__doc__.splitlines()[0])
    parser.add_argument("--streams", type=int, default=500, help="event streams open at once (default: 500)")
    parser.add_argument("--rate", type=int, default=50, help="turns begun per second (default: 50)")
    parser.add_argument("--seconds", type=int, default=20, help="for how long (default: 20)")
    parser.add_argument("--serve", nargs=2, metavar=("API", "JOURNAL"), help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.serve:
        serve(*options.serve)
        return 0
    with (
        tempfile.TemporaryDirectory() as folder,
        process("-m", "turnkeeper.cli", "simulate", "--keep", "1") as (_, api),
        process("-m", "benchmarks.streams", "--serve", api, f"sqlite:///{folder}/journal.db") as (door, base),
    ):
        found = asyncio.run(measure(api, base, door.pid, options))
    direct, through = (statistics.median(seconds) * 1000 for seconds in (found.direct, found.through))
    late = statistics.quantiles(found.through, n=20)[-1] * 1000
    print(f"Python {platform.python_version()}, {platform.system()} {platform.machine()}, {os.cpu_count()} processors;")
    print(f"{options.streams} streams open, {found.turns} turns in {options.seconds} seconds.\n")
    print("| | |\n|---|---:|")
    print(f"| memory of the server per open stream | {found.per_stream / 1024:.1f} KiB |")
    print(f"| turns per second, to the end of the last | {found.rate:.1f} |")
    print(f"| first word, asked directly (median) | {direct:.1f} ms |")
    print(f"| first word, through the door (median; 95 %) | {through:.1f} ms; {late:.1f} ms |")
    print(f"| added by the door (median) | {through - direct:.1f} ms |")
    print(f"| processor of the server in use | {found.busy:.0%} of one |")
    print(f"| messages, replies or words lost or told twice | {len(found.lost)} |")
    for what in found.lost[:20]:
        print(what, file=sys.stderr)
    return 1 if found.lost else 0


if __name__ == "__main__":
    sys.exit(main())
