"""Readers that do as they like: ones that take nothing, ones that name places that are none, many at once."""

from __future__ import annotations

import json
import socket
from urllib.parse import urlsplit

import pytest

from tests.web.standard.fronts import Front, Shop, kinds, opened, user
from turnkeeper.testing import reply
from turnkeeper.web import Rates

LONG = "Ваш заказ отправлен. " * 40_000  # about 1.4 MB of UTF-8: more than the sockets between the two hold


def silent(front: Front, thread: str) -> socket.socket:
    """A connection that asks for a run and never reads what comes."""
    address = urlsplit(front.base)
    assert address.hostname is not None
    assert address.port is not None
    connection = socket.create_connection((address.hostname, address.port), 20)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    body = json.dumps({"threadId": thread, "runId": "r", "messages": [user("m1", "hi")]}).encode()
    head = [
        "POST /api/agui HTTP/1.1",
        f"host: {address.netloc}",
        f"origin: {front.base}",
        f"cookie: {front.headers['cookie']}",
        "content-type: application/json",
        f"content-length: {len(body)}",
    ]
    connection.sendall("\r\n".join(head).encode() + b"\r\n\r\n" + body)
    return connection


def test_a_reader_that_takes_nothing_holds_up_neither_its_turn_nor_anybody_else() -> None:
    """Attack 35: a slow reader."""
    with opened(Shop().app(reply(LONG, chunk=2_000), reply("Hello, Ann.", chunk=100))) as front:
        john, ann = front(), front()
        with silent(john, "t-1"):
            told = john.run("t-1", [user("m1", "hi")])  # a second reader has all of it meanwhile
            assert "".join(event.get("delta", "") for event in told) == LONG
            events = ann.run("t-2", [user("m1", "hi")])
            assert [event["delta"] for event in events if "delta" in event] == ["Hello, Ann."]


@pytest.mark.parametrize("place", ["-1", "99999999999999999999", "7", "t-2", "0\x00"])
def test_a_place_that_a_client_names_means_nothing_here(place: str) -> None:
    """Attack 35: Last-Event-ID. Runs are told from their beginning, whatever is asked for."""
    with opened(Shop().app(reply("Yes.", chunk=100))) as front:
        john = front()
        whole = john.run("t-1", [user("m1", "hi")])
        header = {"last-event-id": place} if place.isprintable() else {}
        for path in ("/api/agui", f"/api/agui?after={json.dumps(place)}"):
            body = {"threadId": "t-1", "runId": "run-1", "protocolVersion": "1.0", "messages": [user("m1", "hi")]}
            answer = john.http.post(path, json=body, headers=header)
            lines = [json.loads(line[6:]) for line in answer.text.splitlines() if line.startswith("data: ")]
            assert lines == whole


def test_more_streams_than_one_may_have_are_refused_within_the_protocol() -> None:
    with opened(Shop().app("never", drive=False, rates=Rates(streams_per_principal=1))) as front:
        john = front()
        with john.streaming("t-1", [user("m1", "hi")]) as events:
            assert next(events)["type"] == "RUN_STARTED"
            refused = john.run("t-1", [user("m1", "hi")])
            assert (kinds(refused), refused[-1]["code"]) == (["RUN_ERROR"], "too_many_streams")
            parts = john.chat("t-1", [{"id": "m1", "role": "user", "parts": [{"type": "text", "text": "hi"}]}])
            assert parts == [
                {"type": "error", "errorText": "too many event streams are open; close one"},
                "[DONE]",
            ]
