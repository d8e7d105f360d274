"""Attack 15: other people's conversations at the web door. Each way to one is answered as if it were not there.

Every operation of the OpenAPI document that names a conversation is tried, so a new one can't be forgotten. What begins
a conversation under an id of the client's own choice refuses one that is taken, with the same words.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from starlette.applications import Starlette

import turnkeeper as tk
from tests.web.helpdesk import HelpDesk
from tests.web.inside import BASE, Wire, client_of, cookie_of, running, scope_of
from turnkeeper.testing import MessagesAPI, script
from turnkeeper.web import Rates, app
from turnkeeper.web.openapi import OPERATIONS
from turnkeeper.web.openapi.parts import Operation
from turnkeeper.web.standard import standard_streams
from turnkeeper.wire.json import encode

pytestmark = pytest.mark.anyio

SECRET = "Ваш секрет 24601"
WAYS = [one for one in OPERATIONS if "{conversation}" in one.path and not one.path.startswith("/api/console")]
BEGINS = {"/api/conversations/{conversation}/messages"}
THEIRS = ("begun-1", "queue-1", "nobody1")


async def asked(web: Any, http: httpx2.AsyncClient, one: Operation, name: str) -> tuple[int, dict[str, str], bytes]:
    """The answer of that operation for a conversation of that name; its name is taken out."""
    method, path = one.method.upper(), one.path.replace("{conversation}", name)
    headers = [("origin", BASE), ("content-type", "application/json"), ("idempotency-key", "k9"), cookie_of(http)]
    bodies: dict[str, Any] = {
        "card": {"id": "x", "digest": "x", "decision": "confirm"},
        "code": {"code": "123456"},
        "contact": {"contact": "megana@gmail.com"},
    }
    body = bodies.get(path.rpartition("/")[2], {})
    wire = Wire(scope_of(method, path, headers), [encode(body).encode()])
    async with anyio.create_task_group() as group:

        async def run() -> None:
            await wire.run(web)
            group.cancel_scope.cancel()

        group.start_soon(run)
        with anyio.move_on_after(10):
            await wire.until(b"caught_up")
    return wire.status, wire.headers, wire.body.replace(name.encode(), b"NAME")


@pytest.mark.parametrize("with_desk", [False, True])
async def test_somebody_elses_conversation_is_one_that_is_not_there(with_desk: bool, tmp_path: Path) -> None:
    rates = Rates(messages=10**6)
    with HelpDesk(tmp_path) as helpdesk:
        if with_desk:
            web = helpdesk.app(SECRET, SECRET, drive=False, more=standard_streams, rates=rates)
        else:
            agent = tk.Agent(client=MessagesAPI(script(SECRET, SECRET)))
            web = app(agent, secret="s" * 32, drive=False, more=standard_streams, rates=rates)
        await look_everywhere(web)


async def look_everywhere(web: Starlette) -> None:
    async with running(web), client_of(web) as eve:
        keeper = web.state.door.running.keeper
        john = tk.Principal("customer", "1213210")
        await (await keeper.conversation("begun-1", principal=john)).send(SECRET, key="m1")
        await keeper.post("queue-1", SECRET, key="m1", principal=john)
        await (await keeper.conversation("nobody1")).send(SECRET)
        await eve.post("/api/session")
        for one in WAYS:
            if one.path in BEGINS:
                continue
            nowhere = await asked(web, eve, one, "nowhere")
            # the AI SDK asks whether there is a stream to come back to before a chat has begun
            assert nowhere[0] == (204 if one.name == "resume_chat" else 404), one.path
            for name in THEIRS:
                found = await asked(web, eve, one, name)
                assert SECRET.encode() not in found[2]
                assert found == nowhere, (one.path, name)
        assert (await eve.get("/api/conversations")).json() == {"conversations": []}


async def test_nobody_writes_into_a_conversation_that_is_anothers() -> None:
    web = app(tk.Agent(client=MessagesAPI(script(SECRET, SECRET))), secret="s" * 32, drive=False, more=standard_streams)
    async with running(web), client_of(web) as eve:
        keeper = web.state.door.running.keeper
        john = tk.Principal("customer", "1213210")
        await (await keeper.conversation("begun-1", principal=john)).send(SECRET, key="m1")
        await keeper.post("queue-1", SECRET, key="m1", principal=john)
        await (await keeper.conversation("nobody1")).send(SECRET)
        before = {name: (await keeper.journal.read(name), await keeper.journal.queued(name)) for name in THEIRS}
        await eve.post("/api/session")
        user = {"id": "m2", "role": "user", "content": "hi"}
        for name in THEIRS:
            key = {"idempotency-key": "k"}
            refused = [
                await eve.post(f"/api/conversations/{name}/messages", json={"text": "hi"}, headers=key),
                await eve.post("/api/agui", json={"threadId": name, "runId": "r", "messages": [user]}),
                await eve.post("/api/agui", json={"threadId": name, "runId": "r", "messages": []}),
                await eve.post("/api/chat", json={"id": name, "messages": [user]}),
            ]
            for answer in refused:
                assert (answer.status_code, SECRET in answer.text) == (404, False), name
                assert answer.json()["error"] == {
                    "code": "unknown_conversation",
                    "message": f"no conversation {name!r} in this journal",
                }
        after = {name: (await keeper.journal.read(name), await keeper.journal.queued(name)) for name in THEIRS}
        assert after == before


@pytest.mark.parametrize("name", ["..", "a/b", "%2e%2e", "a b", "é", "x" * 129, "a\u202eb", "a%00b", "{conversation}"])
async def test_an_id_that_can_be_none_is_not_there(name: str) -> None:
    web = app(tk.Agent(client=MessagesAPI(script())), secret="s" * 32)
    async with running(web), client_of(web) as eve:
        await eve.post("/api/session")
        scope = scope_of("GET", f"/api/conversations/{name}", [cookie_of(eve)])
        scope["raw_path"] = None
        wire = Wire(scope)
        await wire.run(web)
    assert wire.status == 404
    assert encode({"error": {"code": "x"}})[:9].encode() == wire.body[:9]
