"""Streams that are open already end when their readers would not be let in any more."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest
from starlette.applications import Starlette
from starlette.requests import Request

import turnkeeper as tk
from tests.web.inside import BASE, Wire, client_of, cookie_of, running, scope_of
from turnkeeper.core.events import IdentityChanged
from turnkeeper.testing import FixedClock, MessagesAPI, faults, reply, script
from turnkeeper.web import Staff, app, watching
from turnkeeper.web.sessions import CUSTOMER_SECONDS, STAFF_SECONDS
from turnkeeper.web.standard import standard_streams
from turnkeeper.wire.json import encode

pytestmark = pytest.mark.anyio

MEGAN = tk.Principal("customer", "8259147", "confirmed")
NOBODY = tk.Principal("customer", "8259147", "anonymous")
JOHN = tk.Principal("customer", "1213210", "confirmed")
FIRST, REST = "Ваш заказ ", "в пути к вам."


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "LOOK_SECONDS", 0.01)


class World:
    """A door whose model stops in the middle of its reply until `go`, with a clock and an identity to be driven."""

    def __init__(self, **options: Any) -> None:
        self.clock, self.go = FixedClock(), anyio.Event()
        self.who: tk.Principal | None = None

        async def sleep(seconds: float) -> None:
            self.pieces -= 1
            if self.pieces < 0:
                await self.go.wait()

        self.pieces = 2
        told = faults.slow(reply(FIRST + REST, chunk=5), between=1.0)
        agent = tk.Agent(client=MessagesAPI(script(told), sleep=sleep), clock=self.clock, identity=self._identity)
        self.web: Starlette = app(agent, secret="s" * 32, more=standard_streams, **options)

    def _identity(self, given: tk.Principal, conversation: str, at: float) -> tk.Principal:
        return self.who or given


OPEN: dict[str, Callable[[str], tuple[str, str, Any]]] = {
    "events": lambda name: ("GET", f"/api/conversations/{name}/events", None),
    "agui": lambda name: (
        "POST",
        "/api/agui",
        {"threadId": name, "runId": "r", "messages": [{"id": "m1", "role": "user", "content": "Где?"}]},
    ),
    "chat": lambda name: ("GET", f"/api/chat/{name}/stream", None),
}


def asking(kind: str, name: str, cookie: tuple[str, str]) -> Wire:
    method, path, body = OPEN[kind](name)
    headers = [("origin", BASE), ("content-type", "application/json"), cookie]
    return Wire(scope_of(method, path, headers), [encode(body).encode() if body else b""])


@asynccontextmanager
async def reading(world: World, kind: str) -> AsyncIterator[tuple[Wire, tuple[str, str]]]:
    """A stream in the middle of a reply; the test ends when the stream has ended."""
    async with running(world.web) as web, client_of(web) as http, anyio.create_task_group() as group:
        await http.post("/api/session")
        path = "/api/conversations/c-1/messages"
        said = await http.post(path, json={"text": "Где?"}, headers={"idempotency-key": "m1"})
        assert said.status_code == 202, said.text
        wire = asking(kind, "c-1", cookie_of(http))
        group.start_soon(wire.run, web)
        await wire.until(FIRST[:5].encode())
        yield wire, cookie_of(http)


@pytest.mark.parametrize("kind", OPEN)
async def test_a_stream_ends_with_its_session(kind: str) -> None:
    world = World()
    with anyio.fail_after(15):
        async with reading(world, kind) as (wire, cookie):
            world.clock.advance(watching.LONGEST_SECONDS - 1)
            with anyio.move_on_after(0.1):
                await wire.news.wait()
            assert not wire.is_over()
            sessions = world.web.state.door.sessions
            sessions.end(sessions.opened(cookie[1].partition("=")[2]))
        assert wire.is_over(), "the answer ends as it should, and is not cut"
        world.go.set()
    assert REST.encode()[-10:] not in wire.body


@pytest.mark.parametrize("kind", OPEN)
@pytest.mark.parametrize("seconds", [watching.LONGEST_SECONDS + 1, CUSTOMER_SECONDS])
async def test_no_stream_outlives_its_time(kind: str, seconds: float) -> None:
    world = World()
    with anyio.fail_after(15):
        async with reading(world, kind) as (wire, _):
            world.clock.advance(seconds)
        assert wire.is_over()


@pytest.mark.parametrize("kind", OPEN)
async def test_a_stream_ends_with_the_proof_that_its_conversation_was_held_with(kind: str) -> None:
    world = World(customer=lambda _: NOBODY)
    world.who = MEGAN
    with anyio.fail_after(15):
        async with reading(world, kind) as (wire, _):
            with anyio.move_on_after(0.1):
                await wire.news.wait()
            assert not wire.is_over(), "she has her proof"
            world.who = None
        assert wire.is_over()
    assert REST.encode()[-10:] not in wire.body


@pytest.mark.parametrize("later", [None, MEGAN, JOHN])
async def test_a_stream_ends_when_the_application_around_knows_another_or_nobody(later: tk.Principal | None) -> None:
    who: list[tk.Principal | None] = [NOBODY]

    def customer(request: Request) -> tk.Principal | None:
        return who[0]

    world = World(customer=customer)
    with anyio.fail_after(15):
        async with reading(world, "events") as (wire, _):
            who[0] = later
        assert wire.is_over()


async def test_a_conversation_that_nobody_held_with_proof_stays_open_whoever_comes_to_be_known() -> None:
    world = World(customer=lambda _: NOBODY)
    with anyio.fail_after(15):
        async with reading(world, "events") as (wire, _):
            for _ in range(3):
                with anyio.move_on_after(0.05):
                    await wire.news.wait()
            assert not wire.is_over()
            world.go.set()
            await wire.until(b'"type":"ended"')
            wire.gone.set()
    assert (FIRST + REST).encode() in wire.body


async def test_proof_that_came_and_went_while_nobody_looked_counts() -> None:
    """The visitor proves who they are, the turn goes on in their name, the proof runs out: between two looks."""
    world = World(customer=lambda _: NOBODY)
    with anyio.fail_after(15):
        async with reading(world, "events") as (wire, _):
            with anyio.move_on_after(0.05):
                await wire.news.wait()
            keeper = world.web.state.door.running.keeper
            recorder = (await keeper.conversation("c-1", principal=NOBODY)).recorder
            event = IdentityChanged(
                at=world.clock(), principal={"kind": "customer", "id": MEGAN.id, "level": "confirmed"}, reason="raised"
            )
            world.go.set()
            await wire.until(b'"type":"ended"')
            await recorder.load()
            await keeper.journal.append("c-1", [event], after=recorder.last)
            world.web.state.door.running.switchboard.announce("c-1")
        assert wire.is_over()


async def test_the_streams_of_staff_end_with_their_session_and_know_no_proof() -> None:
    clock, agent_client = FixedClock(), MessagesAPI(script("Да."))
    agent = tk.Agent(client=agent_client, clock=clock, identity=lambda given, *_: NOBODY)
    web = app(agent, secret="s" * 32, staff=Staff(passwords={"ana": "x"}), more=standard_streams)
    with anyio.fail_after(15):
        async with running(web), anyio.create_task_group() as group:
            service = web.state.door.running
            await service.post("c-1", "hi", key="k", principal=NOBODY)
            sessions = web.state.door.sessions
            ana = sessions.start(tk.Principal("staff", "ana", "signed_in"))
            cookie = ("cookie", f"turnkeeper_staff={sessions.value(ana)}")
            wires = [
                Wire(scope_of("GET", path, [cookie]))
                for path in ("/api/console/changes", "/api/console/conversations/c-1/events")
            ]
            for wire in wires:
                group.start_soon(wire.run, web)
                await wire.until(b"retry")
            with anyio.move_on_after(0.1):
                await anyio.sleep_forever()
            assert [wire.is_over() for wire in wires] == [False, False]
            clock.advance(min(STAFF_SECONDS, watching.LONGEST_SECONDS) + 1)
        assert [wire.is_over() for wire in wires] == [True, True]
