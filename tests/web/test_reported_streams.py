"""Faults of other event streams, as their users reported them, tried on ours."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx2
from starlette.applications import Starlette

import turnkeeper as tk
from tests.web.served import Customer, serving
from tests.web.test_streams import Tap, slow
from turnkeeper.testing import MessagesAPI, call, reply, script
from turnkeeper.web import app

WORDS = [f"w{number}" for number in range(40)]
FIRST, SECOND = " ".join(WORDS[:20]) + " ", " ".join(WORDS[20:])


class Page:
    """A reader that keeps only whole events, by the rules that a page keeps to."""

    def __init__(self) -> None:
        self.last = ""
        self.seen: list[int] = []
        self.replies: dict[int, str] = {}
        self.ended = False

    def read(self, customer: Customer, conversation: str, *, until: str) -> None:
        """Read up to the first text that holds `until`; then the connection is cut, and half an event is lost."""
        path = f"/api/conversations/{conversation}/events"
        headers = {"last-event-id": self.last} if self.last else {}
        with customer.http.stream("GET", path, headers=headers) as response:
            buffer = b""
            for piece in response.iter_raw():
                buffer = (buffer + piece).replace(b"\r\n", b"\n")
                while b"\n\n" in buffer:
                    event, buffer = buffer.split(b"\n\n", 1)
                    if self.take(event.decode(), until):
                        return
            raise AssertionError("the stream ended")

    def take(self, event: str, until: str) -> bool:
        """One whole event; whether that is all that is wanted."""
        fields = dict(line.split(": ", 1) for line in event.splitlines() if ": " in line and not line.startswith(":"))
        if "data" not in fields:
            return False
        item: dict[str, Any] = json.loads(fields["data"])
        if "id" in fields:
            self.last = fields["id"]
            assert item["seq"] == int(self.last)
            self.seen.append(item["seq"])
        else:
            assert item["type"] in ("delta", "caught_up"), "only what can be come back to has an id"
        if item["type"] == "delta":
            before = self.replies.get(item["reply"], "") if item["offset"] else ""
            assert item["offset"] == len(before)
            self.replies[item["reply"]] = before + item["text"]
        if item["type"] == "reply":
            self.replies[item["reply"]] = item["text"]
        self.ended = item["type"] == "ended"
        return self.ended or (item["type"] == "delta" and until in self.replies[item["reply"]])

    @property
    def text(self) -> str:
        return " ".join(text.strip() for text in self.replies.values())


def test_a_stream_that_is_cut_twice_gives_each_word_once_and_runs_the_tool_once(tmp_path: Path) -> None:
    """Report B14-sse-reconnect-replays-all.

    https://github.com/feder-cr/invisible_playwright_mcp/pull/1263
    """
    ran: list[str] = []

    @tk.tool(effect="once")
    def note(text: str) -> str:
        """Note it."""
        ran.append(text)
        return "noted"

    tap = Tap()
    journal = f"sqlite:///{tmp_path}/journal.db"

    def made(*replies: Any) -> Starlette:
        agent = tk.Agent(tools=[note], client=MessagesAPI(script(*replies), sleep=tap.sleep))
        return app(agent, journal=journal, secret="s" * 32)

    page = Page()
    noting = tk.testing.faults.slow(reply(FIRST, call("note", {"text": "x"}), chunk=4), between=1.0)
    with serving(made(noting, slow(SECOND))) as base, Customer(base) as customer:
        conversation = customer.new()
        customer.say(conversation, "tell me")
        tap.steps += 20
        page.read(customer, conversation, until="w15")
        cut_at = page.last
        page.read(customer, conversation, until="w15")
        assert page.last == cut_at, "nothing new has happened"
        tap.steps += 1_000
        page.read(customer, conversation, until="nothing more")
        assert page.ended
        cookies = dict(customer.http.cookies)
    assert page.text == " ".join(WORDS)
    assert page.seen == sorted(set(page.seen))
    assert ran == ["x"]
    with (
        serving(made("Never asked.")) as base,
        httpx2.Client(base_url=base, cookies=cookies, timeout=20) as http,
    ):
        for given, expected in ((page.seen[1], page.seen[2:]), (page.seen[-1] + 999, page.seen)):
            again = Page()
            again.last = str(given)
            path = f"/api/conversations/{conversation}/events"
            with http.stream("GET", path, headers={"last-event-id": again.last}) as response:
                buffer = ""
                for piece in response.iter_text():
                    buffer = (buffer + piece).replace("\r\n", "\n")
                    *events, buffer = buffer.split("\n\n")
                    if any(again.take(event, "nothing more") for event in events):
                        break
            assert again.seen == expected
            assert again.text == " ".join(WORDS)
