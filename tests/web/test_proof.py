"""A conversation that was held with proof of who somebody is: shown, and taken up, only while they have it."""

from __future__ import annotations

import json
from typing import Any

import pytest

import turnkeeper as tk
from tests.web.served import Customer, serving
from tests.web.standard.fronts import Shop, frames, opened, user
from turnkeeper.errors import UnconfirmedError
from turnkeeper.testing import MessagesAPI, call, reply, script
from turnkeeper.web import Service, app
from turnkeeper.web.takeover import take_over

SECRET = "Ваш заказ 24601 给 Megan 📦"
MEGAN = tk.Principal("customer", "8259147", "confirmed")
OTHER = tk.Principal("customer", "1213210", "confirmed")


class Sessions:
    """Who the visitor is, as a session store would say."""

    def __init__(self) -> None:
        self.who: tk.Principal | None = MEGAN

    def identity(self, given: tk.Principal, conversation_id: str, at: float) -> tk.Principal:
        return self.who or given


def answers_of(customer: Customer, name: str) -> dict[str, tuple[int, str | None]]:
    """Status and code of the error of each way to a conversation."""
    path = f"/api/conversations/{name}"
    found = {
        "show": customer.http.get(path),
        "json": customer.http.get(f"{path}/export"),
        "markdown": customer.http.get(f"{path}/export", params={"format": "markdown"}),
        "stop": customer.http.post(f"{path}/stop"),
        "say": customer.say(name, "и ещё раз", key="k2"),
    }
    with customer.http.stream("GET", f"{path}/events") as answer:
        assert answer.status_code != 200, "the stream is open"
        answer.read()
        found["events"] = answer
    assert not any(SECRET in answer.text for answer in found.values())
    return {key: (answer.status_code, answer.json()["error"]["code"]) for key, answer in found.items()}


@pytest.mark.parametrize("later", [None, OTHER])
def test_without_the_proof_every_way_is_refused_and_with_it_open_again(later: tk.Principal | None) -> None:
    @tk.tool(effect="read", requires="confirmed")
    def my_order() -> str:
        """The order of whoever is talking."""
        return SECRET

    sessions = Sessions()
    api = MessagesAPI(script(reply(call("my_order", {})), SECRET, "Again."))
    agent = tk.Agent(tools=[my_order], client=api, identity=sessions.identity)
    with serving(app(agent, secret="s" * 32)) as base, Customer(base) as customer:
        name = customer.new()
        assert customer.say(name, "Where is it?").status_code == 202
        with customer.stream(name) as stream:
            stream.until("ended")
        sessions.who = later
        every: dict[str, Any] = answers_of(customer, name)
        assert every == dict.fromkeys(every, (403, "unconfirmed"))
        assert len(api.requests) == 2

        sessions.who = MEGAN
        shown = customer.http.get(f"/api/conversations/{name}")
        assert (shown.status_code, SECRET in shown.text) == (200, True)
        assert "и ещё раз" not in shown.text
        assert customer.say(name, "Once more", key="k3").status_code == 202
        with customer.stream(name) as stream:
            stream.until("ended")
            stream.until("ended")
    assert len(api.requests) == 3


def test_what_was_never_held_with_proof_stays_open() -> None:
    sessions = Sessions()
    sessions.who = None
    api = MessagesAPI(script("Hello."))
    web = app(tk.Agent(client=api, identity=sessions.identity), secret="s" * 32)
    with serving(web) as base, Customer(base) as customer:
        name = customer.new()
        assert customer.say(name, "hi").status_code == 202
        with customer.stream(name) as stream:
            stream.until("ended")
        assert customer.http.get(f"/api/conversations/{name}").status_code == 200


def test_front_ends_of_standard_protocols_are_refused_alike_and_staff_still_looks() -> None:
    sessions = Sessions()
    api = MessagesAPI(script(SECRET))
    said = {"id": "m1", "role": "user", "parts": [{"type": "text", "text": "Где?"}]}
    with opened(Shop().app(api, agent={"identity": sessions.identity})) as front:
        one = front()
        one.chat("c-1", [said])
        sessions.who = None
        refused = [
            one.http.get("/api/chat/c-1/messages"),
            one.http.get("/api/chat/c-1/stream", params={"again": "1"}),
            one.http.post("/api/chat", json={"id": "c-1", "messages": [{**said, "id": "m2"}]}),
            one.post("c-1", [user("m2", "again")]),
            one.post("c-1"),
        ]
        assert [(answer.status_code, answer.json()["error"]["code"]) for answer in refused] == [
            (403, "unconfirmed")
        ] * len(refused)
        assert SECRET in json.dumps(list(frames(front(console=True).post("c-1"))), ensure_ascii=False)
    assert len(api.requests) == 1


@pytest.mark.anyio
async def test_staff_takes_a_conversation_over_whose_owner_has_no_proof_any_more() -> None:
    @tk.tool(approval="always")
    def refund() -> str:
        """Refund."""
        return "done"

    sessions = Sessions()
    visitor = tk.Principal("customer", "v-1")
    api = MessagesAPI(script(reply(call("refund", {}))))
    async with tk.Agent(tools=[refund], client=api, identity=sessions.identity).open() as keeper:
        await (await keeper.conversation("c", principal=visitor)).send("refund me")
        sessions.who = None
        service = Service(keeper)
        with pytest.raises(UnconfirmedError):
            await service.stop("c", principal=visitor)
        await take_over(service, "c", by=tk.Principal("staff", "ana"))
        assert (await service.ledger.line("c")).taken_over == "ana"
