"""The console's door: who gets in, how often one may try, and that nothing behind it answers anybody else."""

from __future__ import annotations

import json

import httpx2
import pytest
from starlette.routing import Route

from tests.web.operators import PASSWORDS, Operator, Shop, opened, refusal
from tests.web.served import Customer, serving
from turnkeeper.errors import ConfigurationError
from turnkeeper.web import Staff
from turnkeeper.web.console import console_routes
from turnkeeper.web.guards import CSP
from turnkeeper.web.rates import Rates


def console_paths() -> list[tuple[str, str]]:
    """Every method and path below api/console."""
    found = []
    for route in console_routes():
        assert isinstance(route, Route)
        path = route.path.replace("{conversation:path}", "c").replace("{seq:int}", "1")
        found += [(method, path) for method in sorted(route.methods or ()) if path.startswith("/api/console/")]
    return found


def test_every_path_of_the_console_refuses_whoever_is_not_signed_in_as_staff() -> None:
    """All of them, whatever is added: with no cookie, with a customer's, and with one that was made up."""
    behind = [one for one in console_paths() if one != ("POST", "/api/console/session")]
    assert len(behind) > 18
    with serving(Shop().app()) as base, Customer(base) as customer:
        anybody = httpx2.Client(base_url=base, headers={"origin": base}, timeout=20)
        made_up = {"cookie": "turnkeeper_staff=eyJrIjoic3RhZmYifQ.AAAA; turnkeeper_demo=ana"}
        borrowed = {"cookie": f"turnkeeper_staff={customer.http.cookies['turnkeeper_customer']}"}
        for method, path in behind:
            asked = [
                anybody.request(method, path),
                anybody.request(method, path, headers={"x-user": "ana"}),
                anybody.request(method, path, headers=made_up),
                anybody.request(method, path, headers=borrowed),
                customer.http.request(method, path),
            ]
            for answer in asked:
                assert answer.status_code == 401, (method, path)
                if method != "HEAD":
                    assert answer.json()["error"]["code"] == "sign_in"
        page = anybody.get("/console")
        assert page.status_code == 200
        assert page.headers["content-security-policy"] == CSP
        assert page.headers["cache-control"] == "no-store"
        assert "set-cookie" not in page.headers
        assert "{{" not in page.text
        anybody.close()


def test_the_right_password_begins_a_session_that_is_for_staff_only() -> None:
    with serving(Shop().app()) as base, Operator(base, sign_in=False) as ana:
        assert refusal(ana.sign_in("ana", "wrong")) == (401, "sign_in")
        answer = ana.sign_in("ana", "пароль ana")
        assert answer.status_code == 200
        assert answer.json() == {
            "name": "ana",
            "way": "password",
            "expires_at": 1_796_040_000.0 + 8 * 3600,
            "now": 1_796_040_000.0,
            "title": "Turnkeeper",
        }
        cookie = answer.headers["set-cookie"]
        assert cookie.startswith("turnkeeper_staff=")
        assert "HttpOnly" in cookie
        assert "SameSite=strict" in cookie
        assert ana.get("session")["name"] == "ana"
        assert ana.http.get("/api/conversations").status_code == 401, "staff are no customers"


def test_a_page_of_another_site_signs_nobody_in_and_decides_nothing() -> None:
    with opened(Shop().app()) as (_, _, ana):
        for path in ("session", "approvals", "outcomes", "conversations/c/take-over"):
            answer = ana.http.post(f"/api/console/{path}", json={}, headers={"origin": "https://evil.test"})
            assert refusal(answer) == (403, "foreign_origin")


def test_signing_out_ends_the_session_also_for_a_cookie_that_was_kept() -> None:
    with opened(Shop().app()) as (base, _, ana):
        stolen = str(ana.http.cookies["turnkeeper_staff"])
        assert ana.http.delete("/api/console/session").json() == {"signed_out": True}
        assert "turnkeeper_staff" not in ana.http.cookies
        again = httpx2.get(f"{base}/api/console/session", headers={"cookie": f"turnkeeper_staff={stolen}"})
        assert refusal(again) == (401, "sign_in")


def test_tries_are_counted_for_the_address_and_for_the_name() -> None:
    shop = Shop()
    web = shop.app(rates=Rates(logins=8), proxies=["127.0.0.1"])
    with serving(web) as base, Operator(base, sign_in=False) as one:
        assert [one.sign_in(name, "?").status_code for name in ("x", "y", "z")] == [401, 401, 429]
        refused = one.sign_in("ana", "пароль ana")
        assert refusal(refused) == (429, "too_many_requests")
        assert refused.headers["retry-after"] == "8"
        # from elsewhere, and for a name that was tried too often, wherever that was
        assert one.sign_in("x", "?", **{"x-forwarded-for": "192.0.2.1"}).status_code == 401
        assert one.sign_in("x", "?", **{"x-forwarded-for": "192.0.2.2"}).status_code == 429
        assert one.sign_in("ben", "пароль ben", **{"x-forwarded-for": "192.0.2.3"}).status_code == 200
        shop.clock.now += 7.5
        assert one.sign_in("ana", "пароль ana").status_code == 200


def test_every_sign_in_and_every_refusal_is_written_down() -> None:
    with opened(Shop().app()) as (_, _, ana):
        assert ana.sign_in("ben\u202e", "x").status_code == 401
        ana.http.delete("/api/console/session")
        ana.sign_in("ana", "пароль ana")
        entries = ana.get("audit")["entries"]
        assert sorted((one["what"], one["who"]["id"], one["about"]) for one in entries) == [
            ("sign_in_refused", "ben⟨U+202E⟩", "127.0.0.1"),
            ("signed_in", "ana", "127.0.0.1"),
            ("signed_in", "ana", "127.0.0.1"),
            ("signed_out", "ana", "127.0.0.1"),
        ]
        assert ana.get("conversations")["conversations"] == [], "the log of staff is no conversation"


def test_whoever_is_taken_out_of_the_file_is_out_whatever_cookie_they_have() -> None:
    with opened(Shop().app(), "ben") as (_, _, ben):
        cookie = str(ben.http.cookies["turnkeeper_staff"])
    later = Shop().app(staff=Staff(passwords={"ana": PASSWORDS["ana"]}))
    with serving(later) as base:
        answer = httpx2.get(f"{base}/api/console/session", headers={"cookie": f"turnkeeper_staff={cookie}"})
        assert refusal(answer) == (401, "sign_in")


def test_the_demo_is_for_whoever_sits_at_the_machine_and_for_nobody_behind_a_proxy() -> None:
    with serving(Shop().app(staff=Staff.on_loopback())) as base, Operator(base, sign_in=False) as one:
        assert one.get("session") | {"now": 0} == {
            "name": "demo",
            "way": "demo",
            "expires_at": None,
            "now": 0,
            "title": "Turnkeeper",
        }
        for header in ("x-forwarded-for", "forwarded", "via", "x-real-ip", "x-forwarded-host"):
            assert one.http.get("/api/console/session", headers={header: "192.0.2.1"}).status_code == 401
            assert one.sign_in("eve", "", **{header: "192.0.2.1"}).status_code == 401


def test_the_demos_user_can_go_on_under_another_name() -> None:
    with serving(Shop().app(staff=Staff.on_loopback())) as base, Operator(base, sign_in=False) as one:
        assert one.sign_in("ben", "").json()["name"] == "ben"
        assert one.get("session")["name"] == "ben"
        assert refusal(one.sign_in("be n", "")) == (401, "sign_in")
        one.http.delete("/api/console/session")
        assert one.get("session")["name"] == "demo"


def test_a_proxy_names_staff_and_nobody_else_does() -> None:
    staff = Staff.behind_proxy("x-user", "127.0.0.0/8")
    with serving(Shop().app(staff=staff)) as base, Operator(base, sign_in=False) as one:
        named = {"x-user": "ana"}
        assert one.http.get("/api/console/session", headers=named).json()["name"] == "ana"
        assert one.http.get("/api/console/session").status_code == 401
        assert refusal(one.sign_in("ana", "")) == (401, "sign_in")
    elsewhere = Staff.behind_proxy("x-user", "10.0.0.0/8")
    with serving(Shop().app(staff=elsewhere)) as base, Operator(base, sign_in=False) as one:
        assert one.http.get("/api/console/session", headers={"x-user": "ana"}).status_code == 401


def test_a_way_to_sign_in_says_what_it_is() -> None:
    ways = [Staff(), Staff(passwords=PASSWORDS), Staff.behind_proxy("x-user", "10.0.0.1"), Staff.on_loopback("ana")]
    assert [one.way for one in ways] == ["none", "password", "proxy", "demo"]
    assert [one.is_real for one in ways] == [False, True, True, False]
    assert [Staff.on_loopback(name).demo for name in ("Ana María", "", "x" * 70)] == ["Ana-María", "demo", "x" * 64]
    with pytest.raises(ConfigurationError, match="1 to 64 characters"):
        Staff(demo="a b")
    with pytest.raises(ConfigurationError, match="address or a network"):
        Staff.behind_proxy("x-user", "the proxy")


def test_without_staff_the_console_lets_nobody_in() -> None:
    with serving(Shop().app(staff=None)) as base, Operator(base, sign_in=False) as one:
        assert refusal(one.sign_in("ana", "пароль ana")) == (401, "sign_in")
        page = one.http.get("/console").text
        assert 'data-way="none"' in page
        assert json.loads(one.http.get("/api/console/session").text)["error"]["code"] == "sign_in"
