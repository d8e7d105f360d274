"""Operators of the console for tests: plain HTTP clients with a staff session, and a shop for them to look after."""

from __future__ import annotations

import base64
import contextlib
import hashlib
from collections.abc import Iterator
from typing import Any

import httpx2
from starlette.applications import Starlette

import turnkeeper as tk
from tests.web.served import Customer, Stream, serving
from turnkeeper.testing import MessagesAPI, script
from turnkeeper.web import Staff, app

__all__ = ("MODEL", "PASSWORDS", "Operator", "Shop", "Till", "kept", "opened", "refusal")

MODEL = "claude-opus-4-8"


def kept(password: str) -> str:
    """A hash at the least cost that is taken."""
    salt = b"sixteen bytes .."
    digest = hashlib.scrypt(password.encode(), salt=salt, n=2**14, r=8, p=1, maxmem=2**28, dklen=32)
    return f"scrypt$16384$8$1${base64.b64encode(salt).decode()}${base64.b64encode(digest).decode()}"


PASSWORDS = {"ana": kept("пароль ana"), "ben": kept("пароль ben")}


class Till:
    """The time that everything goes by."""

    def __init__(self, now: float = 1_796_040_000.0) -> None:  # 2026-11-30, noon, UTC
        self.now = now

    def __call__(self) -> float:
        return self.now


class Shop:
    """An order's status, which anybody may read, a review from outside, and a refund that a person approves."""

    def __init__(self) -> None:
        self.refunds: list[tuple[str, int]] = []
        self.clock = Till()

    def tools(self) -> list[tk.Tool]:
        @tk.tool(effect="read")
        def status(order: str) -> str:
            """Where an order is."""
            return f"{order}: отправлен"

        @tk.tool(effect="read", untrusted=True)
        def review(product: str) -> str:
            """What a stranger wrote."""
            return f"{product}: <img src=x onerror=alert(1)> \u202egood"

        @tk.tool(approval="always")
        def refund(order: str, amount: int) -> str:
            """Refund an order."""
            self.refunds.append((order, amount))
            return f"{amount} 已退款"

        return [status, review, refund]

    def agent(self, *replies: Any, **settings: Any) -> tk.Agent:
        """The shop's agent over a scripted model."""
        api = replies[0] if replies and isinstance(replies[0], MessagesAPI) else MessagesAPI(script(*replies))
        given = {"model": MODEL, "tools": self.tools(), "client": api, "clock": self.clock, **settings}
        return tk.Agent(**given)

    def app(self, *replies: Any, agent: dict[str, Any] | None = None, **options: Any) -> Starlette:
        """The web door of it; staff are ana and ben."""
        given: dict[str, Any] = {"secret": "s" * 32, "staff": Staff(passwords=PASSWORDS), **options}
        return app(self.agent(*replies, **(agent or {})), **given)


class Operator:
    """A member of staff, signed in by password."""

    def __init__(self, base: str, name: str = "ana", *, sign_in: bool = True) -> None:
        self.http = httpx2.Client(base_url=base, headers={"origin": base}, timeout=20)
        if sign_in:
            answer = self.sign_in(name, f"пароль {name}")
            assert answer.status_code == 200, answer.text

    def sign_in(self, name: str, password: str, **headers: str) -> httpx2.Response:
        return self.http.post("/api/console/session", json={"name": name, "password": password}, headers=headers)

    def get(self, path: str, **params: Any) -> Any:
        """What `GET api/console/PATH` answers."""
        answer = self.http.get(f"/api/console/{path}", params=params)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def post(self, path: str, **body: Any) -> httpx2.Response:
        """Send JSON to `api/console/PATH`."""
        return self.http.post(f"/api/console/{path}", json=body)

    def decide(self, waiting: dict[str, Any], decision: str, **more: Any) -> httpx2.Response:
        """Decide on an approval as the inbox gave it."""
        given = {"id": waiting["id"], "digest": waiting["digest"], "decision": decision, **more}
        return self.post("approvals", **given)

    @contextlib.contextmanager
    def stream(self, path: str) -> Iterator[Stream]:
        """An event stream of the console."""
        with self.http.stream("GET", f"/api/console/{path}") as response:
            assert response.status_code == 200, response.read()
            yield Stream(response)

    def __enter__(self) -> Operator:
        return self

    def __exit__(self, *_: object) -> None:
        self.http.close()


@contextlib.contextmanager
def opened(web: Starlette, name: str = "ana") -> Iterator[tuple[str, Customer, Operator]]:
    """The application served, a customer, an operator."""
    with serving(web) as base, Customer(base) as customer, Operator(base, name) as operator:
        yield base, customer, operator


def refusal(answer: httpx2.Response) -> tuple[int, str]:
    """The status and code of a refusal."""
    return answer.status_code, answer.json()["error"]["code"]
