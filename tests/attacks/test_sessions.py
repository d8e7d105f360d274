"""Attack 6: sessions planted in somebody's browser, cookies that were stolen or made, decisions forged by other pages.

| attack | test |
|---|---|
| a cookie that this service did not sign, or of another kind | `test_a_cookie_that_was_not_signed_here_is_no_session` |
| a good cookie of the attacker's, planted before sign-in | `test_a_planted_session_learns_nothing_of_who_signs_in` |
| an id known from before the login | `test_each_login_has_an_id_that_nobody_has_seen` |
| a cookie after logout or its time | `test_a_session_that_is_over_stays_over` |
| a decision that another site sends in the name of staff | `test_another_site_decides_nothing_for_staff` |
| a visitor planted at the desk's door | `test_a_visitor_of_before_is_nobody_after_the_door_gave_a_new_one` |
"""

from __future__ import annotations

import base64
import json
from contextlib import ExitStack, closing
from typing import Any

import httpx2
import pytest
from starlette.requests import Request

import turnkeeper as tk
from tests.attacks.conftest import Stage
from tests.web.served import Customer, serving
from tests.web.standard.fronts import Shop, opened, user
from turnkeeper.testing import MessagesAPI, call, reply, script
from turnkeeper.web import Staff, app
from turnkeeper.web.sessions import CUSTOMER_SECONDS, STAFF_SECONDS, Sessions, cookie_name

ANA = tk.Principal("staff", "ana", "signed_in")
MEGAN = tk.Principal("customer", "8259147", "signed_in")
VISITOR = tk.Principal("customer", "web-attacker", "anonymous")


def with_cookie(**cookies: str) -> Request:
    line = "; ".join(f"{name}={value}" for name, value in cookies.items()).encode()
    return Request({"type": "http", "scheme": "http", "headers": [(b"cookie", line)], "server": ("h", 80), "path": "/"})


def coded(fields: dict[str, Any] | str | list[Any]) -> str:
    text = fields if isinstance(fields, str) else json.dumps(fields)
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def test_a_cookie_that_was_not_signed_here_is_no_session() -> None:
    sessions, others = Sessions(b"k" * 32, lambda: 0.0), Sessions(b"o" * 32, lambda: 0.0)
    good = sessions.value(sessions.start(VISITOR))
    body, _, mark = good.partition(".")
    staff = {"k": "staff", "i": "ana", "l": "signed_in", "s": "x", "e": 9e9}
    bad = [
        others.value(others.start(ANA)),
        f"{coded(staff)}.{mark}",
        f"{coded(staff)}.",
        coded(staff),
        f"{body}.{mark[:-2]}AA",
        f"{body}.{mark}.{mark}",
        f"{body}.{coded('x' * 32)}",
        f".{mark}",
        ".",
        "",
        "x" * 5_000,
        f"{body}é.{mark}",
    ]
    for value in bad:
        assert sessions.opened(value) is None, value
    # signed, and yet nothing: none of ours has this form
    for fields in ("[]", "null", '{"k": "staff"}', json.dumps(staff | {"e": "soon"}), json.dumps(staff | {"i": ""})):
        part = coded(fields)
        assert sessions.opened(f"{part}.{base64.urlsafe_b64encode(sessions._mark(part)).decode().rstrip('=')}") is None
    # a good one under the other kind's name is not of that kind
    name = {kind: cookie_name(kind, with_cookie()) for kind in ("staff", "customer")}
    assert sessions.read(with_cookie(**{name["customer"]: good}), "customer") is not None
    assert sessions.read(with_cookie(**{name["staff"]: good}), "staff") is None
    assert sessions.read(with_cookie(**{name["customer"]: sessions.value(sessions.start(ANA))}), "customer") is None
    assert Staff(passwords={"ana": "x"}).session(with_cookie(**{name["staff"]: good}), sessions) is None


def test_each_login_has_an_id_that_nobody_has_seen() -> None:
    sessions = Sessions(b"k" * 32, lambda: 0.0)
    ids = {sessions.start(ANA).id for _ in range(100)} | {sessions.start(VISITOR).id for _ in range(100)}
    assert len(ids) == 200
    assert min(map(len, ids)) == 22, "128 bits"
    with serving(app(tk.Agent(client=MessagesAPI(script())), secret="s" * 32)) as base:
        asked = {"origin": base}
        planted = {"cookie": "turnkeeper_customer=planted.by-the-attacker"}
        got = [httpx2.post(f"{base}/api/session", headers=asked | more) for more in ({}, planted, planted)]
    values = [one.headers["set-cookie"].partition(";")[0].partition("=")[2] for one in got]
    assert len(set(values)) == 3
    assert not any("planted" in one for one in values)


def test_a_session_that_is_over_stays_over() -> None:
    now = [1_000.0]
    sessions = Sessions(b"k" * 32, lambda: now[0])
    left, staff, customer = sessions.start(ANA), sessions.start(ANA), sessions.start(VISITOR)
    values = [sessions.value(one) for one in (left, staff, customer)]
    sessions.end(left)
    assert [sessions.opened(one) is not None for one in values] == [False, True, True]
    now[0] += STAFF_SECONDS
    assert [sessions.opened(one) is not None for one in values] == [False, False, True]
    now[0] += CUSTOMER_SECONDS - STAFF_SECONDS
    assert [sessions.opened(one) is not None for one in values] == [False, False, False]


def test_a_planted_session_learns_nothing_of_who_signs_in() -> None:
    """The attacker's own good cookie in the victim's browser; then the victim signs in with the shop around."""

    def signed_in(request: Request) -> tk.Principal | None:
        return MEGAN if request.headers.get("authorization") == "Bearer megan" else None

    api = MessagesAPI(script("Secret of Megan.", "Hi."))
    with ExitStack() as stack:
        base = stack.enter_context(serving(app(tk.Agent(client=api), secret="s" * 32, customer=signed_in)))
        attacker = stack.enter_context(Customer(base))
        victim = stack.enter_context(Customer(base, authorization="Bearer megan"))
        victim.http.cookies.update(attacker.http.cookies)
        before = dict(attacker.http.cookies)
        session = victim.http.post("/api/session")
        assert session.json()["level"] == "signed_in"
        assert "set-cookie" not in session.headers, "what she is now is in no cookie"
        name = victim.new()
        assert victim.say(name, "hello").status_code == 202
        with victim.stream(name) as stream:
            stream.until("ended")
        assert [one["id"] for one in victim.http.get("/api/conversations").json()["conversations"]] == [name]
        assert dict(attacker.http.cookies) == before
        assert attacker.http.get("/api/session").json()["level"] == "anonymous"
        assert attacker.http.get("/api/conversations").json() == {"conversations": []}
        for path in ("", "/export"):
            refused = attacker.http.get(f"/api/conversations/{name}{path}")
            assert (refused.status_code, "Secret" in refused.text) == (404, False)
        # and the attacker's conversation, begun before, is not hers
        trap = attacker.new()
        assert attacker.say(trap, "hello").status_code == 202
        with attacker.stream(trap) as stream:
            stream.until("ended")
        assert victim.http.get(f"/api/conversations/{trap}").status_code == 404


def test_a_visitor_of_before_is_nobody_after_the_door_gave_a_new_one(stage: Stage) -> None:
    """What is proven is the visitor's session, so an application gives a new one when somebody begins to prove it."""
    planted, fresh = stage.door.enter(), stage.door.enter()
    assert planted.id != fresh.id
    stage.door.start_confirmation(fresh, "c-1", "email", "megana@gmail.com")
    assert not stage.door.confirm(planted, "c-1", stage.mail.code).accepted
    assert stage.door.confirm(fresh, "c-1", stage.mail.code).principal.level == "confirmed"
    assert stage.door.who(planted, "c-1", stage.time()).level == "anonymous"
    assert stage.door.seen(planted).id == planted.id


REFUND = call("refund", {"order": "24601", "amount": 500}, id="toolu_r")
APPROVED = [{"interruptId": "toolu_r@t-1", "status": "resolved", "payload": {"approved": True}}]
FOREIGN: list[dict[str, str]] = [
    {"origin": "https://evil.example"},
    {"origin": "null"},
    {"origin": "{base}.evil.example"},
    {"origin": "https://{host}"},
    {"origin": "http://user@{host}"},
    {},
    {"sec-fetch-site": "cross-site"},
    {"sec-fetch-site": "same-site"},
    {"origin": "https://evil.example", "sec-fetch-site": "same-origin"},
    {"referer": "{base}/"},
]


@pytest.mark.parametrize("content", ["application/json", "text/plain"])
def test_another_site_decides_nothing_for_staff(content: str) -> None:
    """The browser of staff who are signed in sends their cookie along; the decision is refused, and the call waits."""
    shop, api = Shop(), MessagesAPI(script(reply(REFUND), "Done."))
    door = shop.app(api, staff=Staff(passwords={"ana": "x"}))
    with opened(door) as front:
        john = front()
        assert john.run("t-1", [user("m1", "Деньги назад")])[-1]["outcome"]["type"] == "interrupt"
        sessions: Sessions = door.state.door.sessions
        cookie = f"turnkeeper_staff={sessions.value(sessions.start(ANA))}"
        bodies = {
            "agui": {"threadId": "t-1", "runId": "r", "protocolVersion": "1.0", "messages": [], "resume": APPROVED},
            "chat": {"id": "t-1", "messages": []},
        }
        with closing(httpx2.Client(base_url=john.base, headers={"cookie": cookie, "content-type": content})) as ana:
            for sent in FOREIGN:
                host = john.base.removeprefix("http://")
                headers = {name: value.format(base=john.base, host=host) for name, value in sent.items()}
                for path, body in bodies.items():
                    refused = ana.post(f"/api/console/{path}", content=json.dumps(body), headers=headers)
                    code = refused.json()["error"]["code"]
                    assert (refused.status_code, code) == (403, "foreign_origin"), (sent, path)
            assert shop.refunds == []
            assert len(api.requests) == 1
            own = {"origin": john.base, "content-type": "application/json"}
            nobody = httpx2.post(f"{john.base}/api/console/agui", json=bodies["agui"], headers=own)
            assert (nobody.status_code, nobody.json()["error"]["code"]) == (401, "sign_in")
            done = ana.post("/api/console/agui", content=json.dumps(bodies["agui"]), headers=own)
            assert done.status_code == 200, "the same from the console itself counts"
        assert shop.refunds == [("24601", 500)]
