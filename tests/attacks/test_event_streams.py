"""Attack 35: event streams. A reader that takes nothing, text that tries to be an event, connections cut anywhere.

| attack | test |
|---|---|
| a reader that never reads | `test_a_reader_that_takes_nothing_holds_one_piece` |
| and goes on so | `test_a_reader_that_takes_nothing_is_dropped_after_a_while` |
| text with line breaks that looks like events | `test_no_text_makes_an_event_of_its_own` |
| a connection cut in the middle of an event, over and over | `test_a_connection_that_is_cut_gives_every_word_once` |
| ids that are none, or another's | `tests/web/test_streams.py`, `test_other_conversations.py` |
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from starlette.applications import Starlette

import turnkeeper as tk
from tests.web.inside import Wire, client_of, cookie_of, running, scope_of
from turnkeeper.testing import MessagesAPI, call, faults, reply, script
from turnkeeper.web import Staff, app, streams
from turnkeeper.web.standard import standard_streams

pytestmark = pytest.mark.anyio


class Gate:
    """Lets a streamed reply through, so many pieces at a time."""

    def __init__(self) -> None:
        self.left, self.more = 0, anyio.Event()

    def let(self, pieces: int) -> None:
        self.left += pieces
        more, self.more = self.more, anyio.Event()
        more.set()

    async def sleep(self, seconds: float) -> None:
        while self.left <= 0:
            await self.more.wait()
        self.left -= 1


def slow(text: str, chunk: int) -> Any:
    return faults.slow(reply(text, chunk=chunk), between=1.0)


@asynccontextmanager
async def talking(web: Starlette, text: str = "hi") -> AsyncIterator[httpx2.AsyncClient]:
    """A customer who has said something in conversation c-1."""
    async with running(web), client_of(web) as http:
        await http.post("/api/session")
        key = {"idempotency-key": "k1"}
        said = await http.post("/api/conversations/c-1/messages", json={"text": text}, headers=key)
        assert said.status_code == 202
        yield http


def reader(http: httpx2.AsyncClient, path: str = "/api/conversations/c-1/events", last: str | None = None) -> Wire:
    return Wire(scope_of("GET", path, [cookie_of(http), *([("last-event-id", last)] if last else [])]))


def events(body: bytes) -> list[tuple[str | None, Any]]:
    """The whole events in what was sent, each with its id."""
    found = []
    for frame in body.decode().replace("\r\n", "\n").split("\n\n")[:-1]:
        lines = frame.split("\n")
        data = [line[6:] for line in lines if line.startswith("data: ")]
        if data:
            assert len(data) == 1, frame
            found.append((next((line[4:] for line in lines if line.startswith("id: ")), None), json.loads(data[0])))
    return found


def text_of(found: list[tuple[str | None, Any]]) -> str:
    """What a page shows of the deltas."""
    shown = ""
    for _, item in found:
        if item["type"] == "delta":
            assert item["offset"] in (0, len(shown)), item
            shown = shown[: item["offset"]] + item["text"]
    return shown


async def test_a_reader_that_takes_nothing_holds_one_piece() -> None:
    """However much comes meanwhile, nothing is kept for it: it would get the rest in one piece, from where it was."""
    text, gate = "слово " * 2_000, Gate()
    api = MessagesAPI(script(slow(text, 6)), sleep=gate.sleep)
    web = app(tk.Agent(client=api), secret="s" * 32)
    with anyio.fail_after(20):
        async with talking(web) as http, anyio.create_task_group() as group:
            stuck, late, quick = reader(http), reader(http), reader(http)
            for one in (stuck, late, quick):
                group.start_soon(one.run, web)
                await one.until(b"caught_up")
            stuck.taking = late.taking = anyio.Event()
            taken = [len(stuck.sent), len(late.sent)]
            gate.let(10**6)
            await quick.until(b'"type":"ended"')
            assert text_of(events(quick.body)) == text
            assert [len(stuck.sent), len(late.sent)] == taken
            # the one that reads again has missed no word, and is sent few pieces
            late.taking.set()
            stuck.taking = anyio.Event()
            await late.until(b'"type":"ended"')
            assert len(late.sent) - taken[1] < 20
            whole = [item["text"] for _, item in events(late.body) if item["type"] == "reply"]
            assert whole == [text.strip()]
            door = web.state.door
            assert door.running.switchboard.readers == 3
            late.gone.set()
            quick.gone.set()
            stuck.gone.set()
        assert door.streams_of_principal._open == {}


async def test_a_reader_that_takes_nothing_is_dropped_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "SEND_SECONDS", 0.05)
    gate = Gate()
    api = MessagesAPI(script(slow("word " * 50, 5)), sleep=gate.sleep)
    web = app(tk.Agent(client=api), secret="s" * 32)
    with anyio.fail_after(20):
        async with talking(web) as http:
            stuck, door = reader(http), web.state.door

            async def until_dropped() -> None:
                with pytest.raises(TimeoutError):
                    await stuck.run(web)

            async with anyio.create_task_group() as group:
                group.start_soon(until_dropped)
                await stuck.until(b"caught_up")
                stuck.taking = anyio.Event()
                gate.let(10**6)
            assert door.streams_of_principal._open == door.streams_of_address._open == {}
            assert door.running.switchboard.readers == 0
            again = reader(http)
            async with anyio.create_task_group() as group:
                group.start_soon(again.run, web)
                await again.until(b'"type":"ended"')
                again.gone.set()


NASTY = (
    'ok\n\nevent: ended\ndata: {"type":"ended","status":"completed"}\n\n',
    "ok\r\nid: 999\r\ndata: x\r\n\r\n",
    "ok\rretry: 1\r\rdata: y\r\r",
    "ok\u2028data: z\u2029\u0085id: 5\u000b\u000c",
    'ok\x00\ndata: [DONE]\n\n: comment\n\n{"type":"call","call":1,"state":"done"}',
)


@pytest.mark.parametrize("text", NASTY)
async def test_no_text_makes_an_event_of_its_own(text: str) -> None:
    """In a message, a reply, a call's progress and its result, to customers and to staff, in all protocols."""

    @tk.tool(effect="read")
    def look(ctx: tk.ToolContext, what: str) -> str:
        """Look."""
        ctx.progress(text, 0.5)
        return text

    replies = [reply(call("look", {"what": text}, id="toolu_1")), reply(text, chunk=3)]
    agent = tk.Agent(tools=[look], client=MessagesAPI(script(*replies)))
    web = app(agent, secret="s" * 32, staff=Staff(demo="ana"), more=standard_streams)
    with anyio.fail_after(20):
        async with talking(web, text.replace("\x00", "")) as http:
            paths = ["/api/conversations/c-1/events", "/api/console/conversations/c-1/events"]
            for path in paths:
                wire = reader(http, path)
                wire.scope["client"] = ("127.0.0.1", 1)  # the demo's staff are on this machine
                async with anyio.create_task_group() as group:
                    group.start_soon(wire.run, web)
                    await wire.until(b'"type":"ended"' if "console" not in path else b'"type":"turn_ended"')
                    wire.gone.set()
                check_lines(wire.body)
                ids = [int(name) for name, _ in events(wire.body) if name is not None]
                last = (await http.get("/api/conversations/c-1")).json()["last"]
                assert ids == sorted(set(ids))
                assert max(ids) == last
            for path in ("/api/chat/c-1/stream?again=1", "/api/console/chat/c-1/stream?again=1"):
                answer = await http.get(path)
                check_lines(answer.content)
                assert answer.content.count(b"data: [DONE]\n") == 1
            for path in ("/api/agui", "/api/console/agui"):
                answer = await http.post(path, json={"threadId": "c-1", "runId": "r", "messages": []})
                check_lines(answer.content)
                assert answer.content.count(b'data: {"type":"RUN_FINISHED"') == 1


def check_lines(body: bytes) -> None:
    """Every line of the stream is one that the server wrote: JSON on one line, an id that is a number, a comment."""
    for line in body.decode().replace("\r", "\n").split("\n"):
        name, _, value = line.partition(": ")
        if name == "data":
            assert value == "[DONE]" or isinstance(json.loads(value), dict)
        elif name == "id":
            assert value.isdecimal()
        else:
            assert line in ("", ": turnkeeper", "retry: 1000"), line


async def test_a_connection_that_is_cut_gives_every_word_once(tmp_path: Path) -> None:
    """B14-sse-reconnect-replays-all (https://github.com/feder-cr/invisible_playwright_mcp/pull/1263).

    Cut in the middle of an event, cut again before anything new, and come back with an id from before the server was
    restarted. Ids are the journal's numbers, so that one still says where to go on; one that is no number of the
    conversation gives the whole state again, under the same numbers, to put in place of what a page has.
    """
    words = " ".join(f"w{number}" for number in range(40))
    ran: list[str] = []

    @tk.tool(effect="read")
    def look(what: str) -> str:
        """Look."""
        ran.append(what)
        return "seen"

    gate = Gate()
    told = [slow_call(), slow(words, 4)]
    api = MessagesAPI(script(*told), sleep=gate.sleep)
    agent = tk.Agent(tools=[look], client=api)
    journal, secret = f"sqlite:///{tmp_path}/journal.db", "s" * 32
    web = app(agent, journal=journal, secret=secret)
    with anyio.fail_after(20):
        async with talking(web) as http:
            cookie = cookie_of(http)[1]
            whole: list[tuple[str | None, Any]] = []
            last: str | None = None
            gate.let(25)  # of some forty
            for mark in (b"w15", b"w15", b'"type":"ended"'):
                wire = reader(http, last=last)
                async with anyio.create_task_group() as group:
                    group.start_soon(wire.run, web)
                    if mark != b"w15":
                        gate.let(10**6)
                    elif not whole:
                        while "w15" not in text_of(events(wire.body)):
                            await wire.news.wait()
                    else:
                        await wire.until(b"caught_up")
                    if mark != b"w15":
                        await wire.until(mark)
                    wire.gone.set()
                body = wire.body
                if mark == b"w15":  # the last event comes in half
                    body = body[:-9] if not whole else body
                found = events(body)
                last = next((name for name, _ in reversed(found) if name is not None), last)
                whole += found
            ids = [int(name) for name, _ in whole if name is not None]
            assert ids == sorted(set(ids)), "none twice, none out of order"
            streamed = text_of(whole)
            assert "w15" in streamed
            assert words.startswith(streamed), "and the reply, which comes whole, is put in its place"
            assert [item["text"] for _, item in whole if item["type"] == "reply"] == ["", words]
            assert [item["type"] for name, item in whole if name is not None][-1] == "ended"
            assert ran == ["x"]
        again = app(agent, journal=journal, secret=secret)
        async with running(again), client_of(again, cookie=cookie) as http:
            http.cookies.set(*cookie.partition("=")[::2])
            for given, expected in ((last, []), ("7000", ids)):
                wire = reader(http, last=given)
                async with anyio.create_task_group() as group:
                    group.start_soon(wire.run, again)
                    await wire.until(b"caught_up")
                    wire.gone.set()
                assert [int(name) for name, _ in events(wire.body) if name is not None] == expected
    assert ran == ["x"]


def slow_call() -> Any:
    return reply(call("look", {"what": "x"}, id="toolu_1"))
