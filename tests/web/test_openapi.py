"""The OpenAPI document says what there is, and what is sent is what it says."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from jsonschema_rs import meta
from starlette.applications import Starlette

import turnkeeper as tk
from tests.web.helpdesk import HelpDesk, Visitor
from tests.web.inside import Wire, client_of, cookie_of, running, scope_of
from tests.web.judged import Judge
from tests.web.operators import PASSWORDS
from tests.web.served import serving
from turnkeeper import desk
from turnkeeper.testing import MessagesAPI, call, faults, reply, script
from turnkeeper.web import Rates, Staff, app
from turnkeeper.web.openapi import OPERATIONS, document, paths_of, proofs
from turnkeeper.web.standard import standard_streams

RATES = Rates(messages=10**6, posts=10**6, reads=10**6, logins=10**6, sessions=10**6, streams_per_principal=1_000)
PROOFS = {one.path for one in proofs.OPERATIONS}
pytestmark = pytest.mark.anyio


def shop(api: MessagesAPI, **settings: Any) -> tk.Agent:
    @tk.tool(effect="read")
    def status(ctx: tk.ToolContext, order: str) -> str:
        """Where an order is."""
        ctx.progress("смотрю", 0.5)
        return f"{order}: отправлен"

    @tk.tool(approval="always")
    def refund(order: str, amount: int) -> str:
        """Refund an order."""
        return f"{amount} 已退款"

    @tk.tool
    async def pay(amount: int) -> str:
        """Pay."""
        await anyio.sleep_forever()
        return "never"

    retry = tk.RetryPolicy(first_wait=0.0)
    return tk.Agent(model="claude-opus-4-8", tools=[status, refund, pay], client=api, retry=retry, **settings)


def door(agent: tk.Agent, **options: Any) -> Starlette:
    given = {"secret": "s" * 32, "staff": Staff(passwords=PASSWORDS), "rates": RATES, "metrics_token": "m" * 16}
    return app(agent, **{**given, "more": standard_streams, **options})


def test_every_route_is_in_the_document_and_nothing_else() -> None:
    web = door(shop(MessagesAPI(script())))
    paths = document(web.routes)["paths"]
    assert {(path, method) for path, methods in paths.items() for method in methods} == paths_of(web.routes)
    assert (
        len(OPERATIONS) == len({(one.path, one.method) for one in OPERATIONS}) == len({one.name for one in OPERATIONS})
    )
    assert {(one.path, one.method) for one in OPERATIONS} == paths_of(web.routes)
    bare = app(shop(MessagesAPI(script())), secret="s" * 32)
    assert {one.path for one in OPERATIONS} - set(document(bare.routes)["paths"]) == {
        path for path in paths if "/chat" in path or "/agui" in path
    }


def test_the_document_is_sound() -> None:
    whole = document(door(shop(MessagesAPI(script()))).routes)
    names = set(whole["components"]["schemas"])
    used = set(re.findall(r'"#/components/schemas/(\w+)"', json.dumps(whole)))
    assert used == names
    for schema in whole["components"]["schemas"].values():
        meta.validate({"$schema": "https://json-schema.org/draft/2020-12/schema", **schema})
    for path, methods in whole["paths"].items():
        for method, operation in methods.items():
            declared = {one["name"] for one in operation.get("parameters", ()) if one["in"] == "path"}
            assert declared == set(re.findall(r"\{(\w+)\}", path)), path
            assert ("Origin" in str(operation.get("parameters"))) == (method != "get"), path


def test_every_path_stands_in_the_docs() -> None:
    """Written `api/…` or, behind another of its table, `…/…`; the console's below `api/console/`."""
    docs = Path(__file__).resolve().parents[2] / "docs"
    told = (docs / "web.md").read_text("utf-8") + (docs / "streams.md").read_text("utf-8")
    for one in OPERATIONS:
        path = one.path.replace("{conversation}", "ID").replace("{seq}", "SEQ").removeprefix("/")
        whole = path.replace("api/console/chat/ID", "api/chat/ID").removeprefix("api/console/")
        tail = whole.partition("/ID/")[2]
        known = [f"{whole}`", f"{whole}?", f"`{whole} ", f"{whole}…`"]
        if tail:
            known += [f"…/{tail}`", f"…/{tail} ", f"…/{tail.rpartition('/')[2]}`"]
        assert any(form in told for form in known), path


async def test_under_a_prefix_the_document_says_where_it_is() -> None:
    from starlette.routing import Mount

    inner = door(shop(MessagesAPI(script())), title="Nova")
    async with running(inner), client_of(Starlette(routes=[Mount("/help", inner)])) as http:
        found = (await http.get("/help/openapi.json")).json()
    assert (found["openapi"], found["info"]["title"], found["servers"]) == ("3.1.0", "Nova", [{"url": "/help"}])


class Story:
    """One application, a customer, a member of staff; every answer is held against the document."""

    def __init__(self, judge: Judge, john: httpx2.AsyncClient, ana: httpx2.AsyncClient) -> None:
        self.judge, self.john, self.ana = judge, john, ana

    async def say(self, name: str, text: str, key: str) -> dict[str, Any]:
        path, headers = f"/api/conversations/{name}/messages", {"idempotency-key": key}
        answer = await self.john.post(path, json={"text": text}, headers=headers)
        assert answer.status_code == 202, answer.text
        return dict(answer.json())

    async def stream(self, http: httpx2.AsyncClient, path: str, until: str, **headers: str) -> bytes:
        """An event stream up to that text; then the reader goes."""
        wire = Wire(scope_of("GET", path, [cookie_of(http), *headers.items()]))
        async with anyio.create_task_group() as group:
            group.start_soon(wire.run, self.judge)
            await wire.until(until.encode())
            wire.gone.set()
        return wire.body

    async def run(self, http: httpx2.AsyncClient, path: str, body: Any) -> bytes:
        """A stream that ends by itself."""
        answer = await http.post(path, json=body)
        assert answer.status_code == 200, answer.text
        return answer.content

    async def customers(self) -> None:
        http = self.john
        assert (await http.post("/api/session")).status_code == 200
        await http.get("/api/session")
        await http.get("/api/conversations")
        name = (await http.post("/api/conversations")).json()["id"]
        assert (await self.say(name, "Верните деньги", "k1"))["status"] == "queued"
        await self.stream(http, f"/api/conversations/{name}/events", '"type":"waiting"')
        assert (await self.say(name, "Верните деньги", "k1"))["status"] == "duplicate"
        await self.decide(name)
        body = await self.stream(http, f"/api/conversations/{name}/events", '"type":"ended"', **{"last-event-id": "2"})
        assert "已退款".encode() not in body
        for path in ("", "/export", "/export?format=markdown"):
            assert (await http.get(f"/api/conversations/{name}{path}")).status_code == 200
        await http.post(f"/api/conversations/{name}/stop")
        await http.get("/api/conversations")
        await self.takeover(name)

    async def decide(self, name: str) -> None:
        """An approval in the inbox: refused arguments, then approved, then decided already."""
        card = (await self.ana.get("/api/console/inbox", params={"conversation": name})).json()["approvals"][0]
        given = {"id": card["id"], "digest": card["digest"]}
        bad = await self.ana.post("/api/console/approvals", json={**given, "decision": "edit", "text": "{"})
        assert bad.status_code == 422
        done = await self.ana.post("/api/console/approvals", json={**given, "decision": "approve"})
        assert done.status_code == 200, done.text

    async def takeover(self, name: str) -> None:
        one = f"/api/console/conversations/{name}"
        assert (await self.ana.post(f"{one}/take-over")).status_code == 200
        assert (await self.ana.post(f"{one}/messages", json={"text": "Здравствуйте"})).status_code == 201
        await self.say(name, "Наконец-то", "k2")
        await self.stream(self.john, f"/api/conversations/{name}/events", "Наконец-то")
        assert (await self.ana.post(f"{one}/hand-back")).status_code == 200
        assert (await self.ana.post(f"{one}/stop")).status_code == 202
        items = (await self.ana.get(one)).json()["items"]
        assert (await self.ana.get(f"{one}/events/{items[-1]['seq']}")).status_code == 200
        await self.stream(self.ana, f"{one}/events", '"caught_up"')
        await self.stream(self.ana, "/api/console/changes", "changed")

    async def standard(self) -> None:
        user = {"id": "m1", "role": "user"}
        run = {"threadId": "t-1", "runId": "r", "messages": [{**user, "content": "hi"}]}
        await self.run(self.john, "/api/agui", run)
        await self.run(self.ana, "/api/console/agui", {**run, "messages": []})
        sent = {"id": "c-1", "messages": [{**user, "parts": [{"type": "text", "text": "hi"}]}]}
        assert b"[DONE]" in await self.run(self.john, "/api/chat", sent)
        await self.run(self.ana, "/api/console/chat", {"id": "c-1", "messages": []})
        for http, where in ((self.john, "/api"), (self.ana, "/api/console")):
            one = f"{where}/chat/c-1"
            assert (await http.get(f"{one}/stream")).status_code == 204
            assert (await http.get(f"{one}/stream", params={"again": "1"})).status_code == 200
            assert (await http.get(f"{one}/messages")).status_code == 200
            assert (await http.post(f"{one}/stop")).status_code == 202

    async def staff(self) -> None:
        http = self.ana
        for path in ("session", "conversations", "usage", "usage.csv", "audit", "audit.csv", "inbox"):
            assert (await http.get(f"/api/console/{path}")).status_code == 200, path
        assert (await http.get("/api/console/conversations", params={"show": "waiting"})).status_code == 200
        for place in ("names", "messages"):
            found = await http.get("/api/console/search", params={"q": "деньги", "in": place})
            assert found.json()["conversations"], place
        for path in ("/healthz", "/metrics", "/openapi.json"):
            assert (await http.get(path)).status_code == 200, path
        assert (await http.delete("/api/console/session")).status_code == 200

    async def outcome(self) -> None:
        await self.stream(self.ana, "/api/console/conversations/p-1/events", "call_unresolved")
        (card,) = (await self.ana.get("/api/console/inbox")).json()["outcomes"]
        said = {"conversation": card["conversation"], "call": card["call"], "happened": True, "result": "чек 7"}
        assert (await self.ana.post("/api/console/outcomes", json=said)).status_code == 200


async def test_every_answer_of_a_long_story_is_what_the_document_says(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/journal.db"
    asks = [
        reply("Сейчас.", call("status", {"order": "24601"}, id="toolu_1")),
        reply(call("refund", {"order": "24601", "amount": 5}, id="toolu_2")),
    ]
    api = MessagesAPI(
        script(
            reply(call("pay", {"amount": 5}, id="toolu_p")),
            "Оплачено.",
            faults.cut(reply("Half a sen", chunk=2), after=6),
            *asks,
            "Готово.",
            "AG-UI.",
            "AI SDK.",
        )
    )
    john = tk.Principal("customer", "1213210")
    async with shop(api).open(url) as keeper:
        async for update in (await keeper.conversation("p-1", principal=john)).send("Pay", key="m1"):
            if update.type == "call_started":
                break
    judge = Judge(door(shop(api), journal=url))
    with anyio.fail_after(60):
        async with running(judge.web), client_of(judge) as customer, client_of(judge) as staff:
            signed = await staff.post("/api/console/session", json={"name": "ana", "password": "пароль ana"})
            assert signed.status_code == 200, signed.text
            story = Story(judge, customer, staff)
            await story.outcome()
            await story.customers()
            await story.standard()
            await story.staff()
    assert judge.wrong == []
    missing = {answer for answer in judge.documented - judge.seen if answer[0] not in PROOFS}
    assert missing == set(), "answers that the story has not had"


async def test_refusals_are_what_the_document_says() -> None:
    judge = Judge(door(shop(MessagesAPI(script()))))
    async with running(judge.web), client_of(judge) as http:
        for one in OPERATIONS:
            path = one.path.replace("{conversation}", "c-1").replace("{seq}", "1")
            if one.session is None or one.path in PROOFS:
                continue
            nobody = await http.request(
                one.method.upper(), path, json={} if one.body else None, headers={"idempotency-key": "k"}
            )
            assert nobody.status_code == 401, path
            assert nobody.json()["error"]["code"] == ("sign_in" if one.session == "staff" else "no_session")
    assert judge.wrong == []
    assert all(status == "401" for _, _, status, _ in judge.seen)
    assert len(judge.seen) == sum(one.session is not None and one.path not in PROOFS for one in OPERATIONS)


def test_what_is_proven_beside_the_chat_is_answered_as_the_document_says(tmp_path: Path) -> None:
    import jwt

    asks = reply(call("send_code", {"key": "email", "value": "john@gmail.com"}))
    change = reply(call("update_my_contact", {"email": "john@new.example"}))
    secret = "a shared secret of 32 bytes or more"
    rules = desk.TokenRules(issuer="https://id.test", audience="desk", algorithm="HS256", keys={"1": secret})
    with HelpDesk(tmp_path) as helpdesk:
        judge = Judge(helpdesk.app(asks, "Sent.", "Hello.", change, "Withdrawn.", tokens=rules, rates=RATES))
        with serving(judge) as base, Visitor(base) as john:
            c = john.new()
            john.turn(c, "I am john@gmail.com", "k1")
            assert john.prove(c, "contact", contact="john@gmail.com")["refused"] is None
            assert john.say(c, f"{(int(helpdesk.code) + 1) % 10**6:06}", "k2").json()["status"] == "kept_back"
            john.prove(c, "again")
            seen = john.last(c)
            assert john.prove(c, "code", code=helpdesk.code)["outcome"] == "right"
            john.rest(c, seen)
            assert john.prove(c, "new-contact")["refused"] is not None
            john.turn(c, "my new mail is john@new.example", "k3")
            (card,) = john.proof(c)["cards"]
            john.prove(c, "card", id=card["id"], digest=card["digest"], decision="withdraw")
            claims = {
                "iss": "https://id.test",
                "aud": "desk",
                "sub": "1213210",
                "exp": helpdesk.time().timestamp() + 60,
            }
            token = jwt.encode(claims, secret, algorithm="HS256", headers={"kid": "1"})
            assert john.http.post("/api/session/sign-in", json={"token": token}).status_code == 200
            assert john.http.post("/api/session/leave", json={}).status_code == 200
    assert judge.wrong == []
    assert {answer for answer in judge.documented - judge.seen if answer[0] in PROOFS} == set()
