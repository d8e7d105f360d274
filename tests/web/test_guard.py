"""What every request passes, and what every answer carries: headers, hosts, sizes, rates; errors among them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import anyio
import httpx2
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

import turnkeeper as tk
from tests.web.inside import BASE, Wire, client_of, cookie_of, error_of, running, scope_of
from turnkeeper.testing import FixedClock, MessagesAPI, script
from turnkeeper.web import Rates, Staff, app, guards
from turnkeeper.web.standard import standard_streams

pytestmark = pytest.mark.anyio

CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; font-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; "
    "trusted-types turnkeeper"
)
ALWAYS = {
    "content-security-policy": CSP,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "x-frame-options": "DENY",
}


async def broken(request: Request) -> Response:
    """Breaks, with a secret in its text."""
    raise RuntimeError("postgresql://user:hunter2@db")


def door(**options: Any) -> Starlette:
    def more(made: Any) -> Iterator[Route]:
        yield from standard_streams(made)
        yield Route("/broken", broken, methods=["GET", "POST"])

    given: dict[str, Any] = {"secret": "s" * 32, "more": more, "staff": Staff(passwords={"ana": "x"}), **options}
    return app(tk.Agent(client=MessagesAPI(script("Да.", "Да.")), clock=FixedClock()), **given)


async def test_every_answer_has_the_headers_the_errors_too(caplog: pytest.LogCaptureFixture) -> None:
    async with running(door(rates=Rates(sessions=4, body=1_000))) as web, client_of(web) as http:
        asked: dict[tuple[str, str], tuple[int, dict[str, Any]]] = {
            ("GET", "/"): (200, {}),
            ("POST", "/api/session"): (200, {}),
            ("GET", "/assets/chat.js"): (200, {}),
            ("GET", "/assets/none.js"): (404, {}),
            ("GET", "/healthz"): (200, {}),
            ("GET", "/metrics"): (401, {}),
            ("GET", "/no/such/path"): (404, {}),
            ("GET", "/api/session/"): (404, {}),
            ("DELETE", "/api/session"): (405, {}),
            ("GET", "/api/conversations/unknown"): (404, {}),
            ("GET", "/api/conversations/unknown/events"): (404, {}),
            ("POST", "/api/conversations/c/messages"): (400, {"json": {"text": "hi"}}),
            ("GET", "/api/console/chat/x/messages"): (401, {}),
            ("GET", "/broken"): (500, {}),
            ("POST", "/api/agui"): (422, {"json": {"threadId": "t"}}),
            ("POST", "/api/chat"): (415, {"content": "{}"}),
            ("PUT", "/api/session"): (413, {"content": b"x" * 1_001}),
            ("PATCH", "/api/session"): (403, {"headers": {"origin": "https://evil.test"}}),
            ("OPTIONS", "/"): (421, {"headers": {"host": "evil.test"}}),
        }
        for (method, path), (status, more) in asked.items():
            answer = await http.request(method, path, **more)
            assert answer.status_code == status, (method, path, answer.text)
            assert {name: answer.headers.get(name) for name in ALWAYS} == ALWAYS, (method, path)
            kept = "no-cache" if path == "/assets/chat.js" else "no-store"
            assert answer.headers["cache-control"] == kept, (method, path)
            assert "location" not in answer.headers
            assert "server" not in answer.headers
            if status >= 400:
                assert set(answer.json()) == {"error"}, (method, path)
                assert set(answer.json()["error"]) == {"code", "message"}
        last = await http.get("/broken")
    assert last.json()["error"]["code"] == "internal"
    assert "hunter2" not in last.text
    assert "hunter2" in caplog.text, "the log tells"


async def test_where_an_answer_has_begun_when_something_breaks_the_server_cuts_it() -> None:
    async def halfway(request: Request) -> Response:
        async def body() -> Any:
            yield b"half"
            raise RuntimeError("broke")

        from starlette.responses import StreamingResponse

        return StreamingResponse(body())

    web = door(more=lambda _: [Route("/half", halfway)])
    async with running(web):
        wire = Wire(scope_of("GET", "/half"))
        with pytest.raises(Exception, match="broke"):
            await wire.run(web)
    assert (wire.status, wire.body, wire.is_over()) == (200, b"half", False)


@pytest.mark.parametrize(
    ("host", "is_ours"),
    [
        ("127.0.0.1", True),
        ("127.0.0.1:8000", True),
        ("LOCALHOST.", True),
        ("[::1]:80", True),
        ("evil.test", False),
        ("127.0.0.1.evil.test", False),
        ("evil.test:127.0.0.1", False),
        ("127.0.0.1@evil.test", False),
        ("", False),
        ("[::1", False),
        ("localhost evil.test", False),
    ],
)
async def test_only_hosts_that_are_ours_are_answered(host: str, is_ours: bool) -> None:
    async with running(door()) as web, client_of(web) as http:
        answer = await http.get("/healthz", headers={"host": host})
        assert (answer.status_code == 200) is is_ours
        if not is_ours:
            assert error_of(answer) == (421, "unknown_host")


@pytest.mark.parametrize("announced", [None, "10", "1000"])
async def test_a_body_that_is_too_large_is_refused_while_it_comes_whatever_was_announced(announced: str | None) -> None:
    web = door(rates=Rates(body=1_000))
    async with running(web):
        headers = [("origin", BASE), *([("content-length", announced)] if announced else [])]
        wire = Wire(scope_of("POST", "/api/session", headers), [b"x" * 400] * 100)
        await wire.run(web)
        assert (wire.status, b"too_large" in wire.body) == (413, True)
        assert wire.headers["connection"] == "close"
        assert len(wire._pieces) == 97, "no more of it was read than shows that it is too large"


@pytest.mark.parametrize("announced", ["1001", "9" * 30, "-1", "1e3", "0x10", "١"])
async def test_a_length_that_is_too_much_or_none_is_refused_before_anything_is_read(announced: str) -> None:
    web = door(rates=Rates(body=1_000))
    async with running(web):
        scope = scope_of("POST", "/api/session", [("origin", BASE)])
        scope["headers"].append((b"content-length", announced.encode()))
        wire = Wire(scope, [b"x"] * 10)
        await wire.run(web)
        assert (wire.status, len(wire._pieces)) == (413, 10)


async def test_a_body_that_does_not_come_is_not_waited_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guards, "_BODY_SECONDS", 0.0)
    web = door()
    async with running(web):
        wire = Wire(scope_of("POST", "/api/session", [("origin", BASE)]), [])
        await wire.run(web)
    assert (wire.status, b"timeout" in wire.body, wire.headers["connection"]) == (408, True, "close")


async def test_rates_are_counted_by_address_and_by_principal() -> None:
    """A burst of a quarter of what a minute has; after that one waits as long as the answer says."""
    now = FixedClock()
    agent = tk.Agent(client=MessagesAPI(script()), clock=now)
    rates = Rates(posts=40, reads=80, sessions=4_000, messages=8)
    async with running(app(agent, secret="s" * 32, rates=rates, drive=False)) as web:

        async def ask(method: str, path: str, address: str, cookie: tuple[str, str] | None = None) -> Wire:
            headers = [("origin", BASE), ("content-type", "application/json"), *([cookie] if cookie else [])]
            headers += [("idempotency-key", f"k{now()}")]
            scope = scope_of(method, path, headers)
            scope["client"] = (address, 1)
            wire = Wire(scope, [b'{"text": "hi"}'])
            await wire.run(web)
            return wire

        reads = [(await ask("GET", "/healthz", "192.0.2.1")).status for _ in range(21)]
        assert reads == [200] * 20 + [429]
        posts = [(await ask("POST", "/api/session", "192.0.2.1")).status for _ in range(11)]
        assert posts == [200] * 10 + [429], "changes are counted apart"
        assert (await ask("GET", "/healthz", "192.0.2.2")).status == 200, "another address is not held up"
        refused = await ask("GET", "/healthz", "192.0.2.1")
        assert refused.headers["retry-after"] == "1"
        now.advance(1)
        assert (await ask("GET", "/healthz", "192.0.2.1")).status == 200

        # a principal's messages count together, from whatever address they come
        session = await ask("POST", "/api/session", "192.0.2.3")
        cookie = ("cookie", session.headers["set-cookie"].partition(";")[0])
        path = "/api/conversations/c-1/messages"
        said = [(await ask("POST", path, f"192.0.2.1{number}", cookie)).status for number in range(3)]
        assert said == [202, 202, 429]
        other = await ask("POST", "/api/session", "192.0.2.3")
        theirs = ("cookie", other.headers["set-cookie"].partition(";")[0])
        assert (await ask("POST", "/api/conversations/c-2/messages", "192.0.2.10", theirs)).status == 202


async def test_an_address_behind_a_proxy_is_the_one_that_the_proxy_names_and_no_other_is_believed() -> None:
    for peer, named, expected in (
        ("10.0.0.1", "203.0.113.9", 429),  # the trusted proxy's word: one and the same customer
        ("198.51.100.7", "203.0.113.9", 200),  # anybody else's is not taken
    ):
        web = app(tk.Agent(client=MessagesAPI(script())), secret="s" * 32, rates=Rates(reads=4), proxies=["10.0.0.0/8"])
        async with running(web):
            statuses = []
            for number, forwarded in enumerate(("203.0.113.9", named)):
                scope = scope_of("GET", "/healthz", [("x-forwarded-for", forwarded)])
                scope["client"] = ("10.0.0.2", 1) if number == 0 else (peer, 1)
                wire = Wire(scope)
                await wire.run(web)
                statuses.append(wire.status)
            assert statuses == [200, expected]


async def test_cookies_are_for_this_host_out_of_reach_of_scripts_and_only_sent_from_here() -> None:
    passwords = {"ana": "x"}
    async with running(door(hosts=["shop.test"], staff=Staff(passwords=passwords))) as web:
        async with client_of(web, "https://shop.test") as http:
            cookie = (await http.post("/api/session")).headers["set-cookie"]
            name, *attributes = [part.strip() for part in cookie.split(";")]
            assert name.startswith("__Host-turnkeeper_customer=")
            assert {one.lower() for one in attributes} == {
                "httponly",
                "max-age=2592000",
                "path=/",
                "samesite=lax",
                "secure",
            }
        async with client_of(web, "http://shop.test") as http:
            cookie = (await http.post("/api/session")).headers["set-cookie"]
            assert cookie.startswith("turnkeeper_customer=")
            assert "secure" not in cookie.lower()
            # one that was set over plain http is none over https
            async with client_of(web, "https://shop.test", cookie=cookie_of(http)[1]) as safe:
                assert error_of(await safe.get("/api/session")) == (401, "no_session")


async def test_a_proxy_that_ends_https_makes_cookies_secure() -> None:
    web = app(tk.Agent(client=MessagesAPI(script())), secret="s" * 32, hosts=["shop.test"], proxies=["10.0.0.1"])
    async with running(web):
        for client, origin, expected in (
            ("10.0.0.1", "https://shop.test", True),
            ("10.0.0.9", "http://shop.test", False),
        ):
            headers = [("x-forwarded-proto", "https"), ("origin", origin)]
            scope = scope_of("POST", "/api/session", headers)
            scope["headers"][0] = (b"host", b"shop.test")
            scope["client"] = (client, 1)
            wire = Wire(scope)
            await wire.run(web)
            assert wire.status == 200
            assert ("; Secure" in wire.headers["set-cookie"]) is expected
            assert wire.headers["set-cookie"].startswith("__Host-") is expected


async def test_a_mounted_door_works_under_its_prefix() -> None:
    from starlette.routing import Mount

    inner = door()
    site = Starlette(routes=[Mount("/help", inner)])
    async with running(inner), client_of(site) as http:
        page = await http.get("/help/")
        assert page.status_code == 200
        references = [part.split('"')[0] for part in page.text.replace("src=", "href=").split('href="')[1:]]
        own = [one for one in references if not one.startswith("#")]
        assert own, "the page has parts"
        for one in own:
            assert not one.startswith(("/", "http")), f"{one} leads out of the prefix"
            assert (await http.get(f"/help/{one}")).status_code == 200
        name = (await http.post("/help/api/conversations")).json()["id"]
        key = {"idempotency-key": "k1"}
        said = await http.post(f"/help/api/conversations/{name}/messages", json={"text": "hi"}, headers=key)
        assert said.status_code == 202
        wire = Wire({**scope_of("GET", f"/help/api/conversations/{name}/events", [cookie_of(http)])})
        async with anyio.create_task_group() as group:
            group.start_soon(wire.run, site)
            await wire.until(b'"type":"ended"')
            wire.gone.set()
        assert (await http.get("/help/no/such")).json()["error"]["code"] == "not_found"
        outside: httpx2.Response = await http.get("/api/session")
        assert (outside.status_code, "content-security-policy" in outside.headers) == (404, False)
