"""Event streams: the journal's numbers as ids, text that is neither lost nor repeated, readers that come back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import pytest
from starlette.applications import Starlette

import turnkeeper as tk
from tests.web.served import Customer, Stream, serving
from turnkeeper.testing import MessagesAPI, call, reply, script
from turnkeeper.web import app, projection
from turnkeeper.web.rates import Rates

TEXT = "Ваш заказ 24601 отправлен. 您的订单已发货。 👩‍👩‍👧 done."


class Tap:
    """Lets a streamed reply through piece by piece: each wait of the simulator takes one step."""

    def __init__(self) -> None:
        self.steps = 0

    async def sleep(self, seconds: float) -> None:
        while self.steps <= 0:  # noqa: ASYNC110 - the test's thread has no way to set an event of this loop
            await anyio.sleep(0.005)
        self.steps -= 1


def answering(*replies: Any) -> Starlette:
    return app(tk.Agent(client=MessagesAPI(script(*replies))), secret="s" * 32)


def slow(text: str, chunk: int = 4) -> Any:
    return tk.testing.faults.slow(reply(text, chunk=chunk), between=1.0)


def texts(items: list[dict[str, Any]]) -> str:
    """The text that a page would show of the deltas, checking that each begins where the last one ended."""
    shown = ""
    for item in items:
        if item["type"] == "delta":
            if item["offset"] == 0:
                shown = ""
            assert item["offset"] == len(shown)
            shown += item["text"]
    return shown


def test_a_turn_from_the_message_to_its_end() -> None:
    api = MessagesAPI(script(reply(TEXT, chunk=5)))
    with serving(app(tk.Agent(client=api), secret="s" * 32)) as base, Customer(base) as customer:
        conversation = customer.new()
        answer = customer.say(conversation, "Где мой заказ?")
        assert answer.status_code == 202
        assert answer.json() == {"conversation": conversation, "key": "k1", "status": "queued"}
        with customer.stream(conversation) as stream:
            items = stream.until("ended")
        kinds = [item["type"] for item in items if item["type"] not in ("delta", "caught_up")]
        assert kinds == ["message", "reply_started", "reply", "ended"]
        said = next(item for item in items if item["type"] == "message")
        assert (said["from"], said["text"], said["seq"]) == ("customer", "Где мой заказ?", 2)
        answered = next(item for item in items if item["type"] == "reply")
        assert (answered["text"], answered["html"]) == (TEXT, f"<p>{TEXT}</p>\n")
        assert items[-1]["status"] == "completed"
    api.assert_all_accepted()


def test_whoever_comes_in_the_middle_of_a_reply_has_the_text_whole_and_once() -> None:
    tap = Tap()
    api = MessagesAPI(script(slow(TEXT)), sleep=tap.sleep)
    with serving(app(tk.Agent(client=api), secret="s" * 32)) as base, Customer(base) as customer:
        conversation = customer.new()
        customer.say(conversation, "hi")
        with customer.stream(conversation) as first:
            tap.steps += 6
            before = first.until("delta")
            seen, last = texts(before), first.last
            assert 0 < len(seen) < len(TEXT)
        assert last is not None
        # the connection is lost; it comes back with the last number, as a browser does, and another tab opens
        with customer.stream(conversation, **{"last-event-id": last}) as again, customer.stream(conversation) as tab:
            mine, theirs = again.until("delta"), tab.until("delta")
            assert [item["type"] for item in mine if item["type"] != "delta"] == []
            tap.steps += 1_000
            mine += again.until("ended")
            theirs += tab.until("ended")
            assert texts(mine) == texts(theirs) == TEXT
            assert [item["text"] for item in mine if item["type"] == "reply"] == [TEXT]
            assert mine[-1]["seq"] == theirs[-1]["seq"]


def test_a_reply_that_broke_off_is_dropped_and_told_again() -> None:
    broken = tk.testing.faults.cut(reply("Half a sen", chunk=2), after=6)
    api = MessagesAPI(script(broken, "Half a sentence."))
    agent = tk.Agent(client=api, retry=tk.RetryPolicy(first_wait=0.0))
    with serving(app(agent, secret="s" * 32)) as base, Customer(base) as customer:
        conversation = customer.new()
        customer.say(conversation, "hi")
        with customer.stream(conversation) as stream:
            items = stream.until("ended")
        durable = [item["type"] for item in items if "seq" in item]
        assert durable == ["message", "reply_started", "reply_discarded", "reply_started", "reply", "ended"]
        assert [item["text"] for item in items if item["type"] == "reply"] == ["Half a sentence."]


@pytest.mark.parametrize("given", ["-1", "99999999999999999999", "1e3", "0x2", "١", "abc", "7000", "", "2; DROP"])
def test_an_id_that_is_no_place_in_the_conversation_gives_everything_again(given: str) -> None:
    with (
        serving(app(tk.Agent(client=MessagesAPI(script("Yes."))), secret="s" * 32)) as base,
        Customer(base) as customer,
    ):
        conversation = customer.new()
        customer.say(conversation, "hi")
        with customer.stream(conversation) as stream:
            whole = [item for item in stream.until("ended") if "seq" in item]
        header = {"last-event-id": given} if given.isascii() else {}
        path = f"/api/conversations/{conversation}/events"
        with customer.http.stream("GET", path, headers=header, params={} if header else {"after": given}) as response:
            assert [item for item in Stream(response).until("ended") if "seq" in item] == whole


def test_the_header_wins_over_the_address() -> None:
    with (
        serving(app(tk.Agent(client=MessagesAPI(script("Yes."))), secret="s" * 32)) as base,
        Customer(base) as customer,
    ):
        conversation = customer.new()
        customer.say(conversation, "hi")
        with customer.stream(conversation) as stream:
            whole = stream.until("ended")
        last = whole[-1]["seq"]
        path = f"/api/conversations/{conversation}/events?after=0"
        with customer.http.stream("GET", path, headers={"last-event-id": str(last - 1)}) as response:
            assert Stream(response).next()[1]["type"] == "ended"


def test_the_stream_says_how_to_come_back_and_is_not_kept_by_anyone() -> None:
    with (
        serving(app(tk.Agent(client=MessagesAPI(script("Yes."))), secret="s" * 32)) as base,
        Customer(base) as customer,
    ):
        conversation = customer.new()
        customer.say(conversation, "hi")
        path = f"/api/conversations/{conversation}/events"
        with customer.http.stream("GET", path) as response:
            lines = response.iter_lines()
            begin = [next(lines) for _ in range(2)]
            assert begin == [": turnkeeper", "retry: 1000"]
            headers = response.headers
            assert headers["content-type"] == "text/event-stream; charset=utf-8"
            assert headers["cache-control"] == "no-store"
            assert headers["x-accel-buffering"] == "no"


@pytest.mark.parametrize("rates", [Rates(streams_per_principal=1), Rates(streams_per_address=1)])
def test_more_streams_than_one_may_have_are_refused_before_the_answer_begins(rates: Rates) -> None:
    web = app(tk.Agent(client=MessagesAPI(script("Yes."))), secret="s" * 32, rates=rates)
    with serving(web) as base, Customer(base) as customer:
        conversation = customer.new()
        customer.say(conversation, "привет")
        with customer.stream(conversation) as stream:
            stream.until("ended")
            refused = customer.http.get(f"/api/conversations/{conversation}/events")
            assert (refused.status_code, refused.json()["error"]["code"]) == (429, "too_many_streams")
            assert refused.headers["retry-after"] == "6"


def test_coming_back_makes_nothing_of_what_is_known_and_counts_the_calls_on(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    @tk.tool(effect="read")
    def where(order: str) -> str:
        """Where an order is."""
        return f"{order}: 在路上"

    made: list[str] = []

    def to_html(text: str) -> str:
        made.append(text)
        return f"<p>{text}</p>"

    monkeypatch.setattr(projection, "to_html", to_html)
    first = reply(call("where", {"order": "1"}, id="toolu_1"), call("where", {"order": "2"}, id="toolu_2"))
    replies = [first, "Оба в пути.", reply(call("where", {"order": "3"}, id="toolu_3")), "И этот."]
    agent = tk.Agent(tools=[where], client=MessagesAPI(script(*replies)))
    journal = f"sqlite:///{tmp_path}/journal.db"
    with serving(app(agent, journal=journal, secret="s" * 32)) as base, Customer(base) as customer:
        name = customer.new()
        customer.say(name, "Где заказы?", key="k1")
        with customer.stream(name) as stream:
            before = stream.until("ended")
        assert {item["call"] for item in before if item["type"] == "call"} == {1, 2}
        made.clear()
        with customer.stream(name, **{"last-event-id": str(before[-1]["seq"])}) as again:
            assert again.next() == (None, {"type": "caught_up", "last": before[-1]["seq"]})
            assert made == []
            customer.say(name, "А третий?", key="k2")
            after = again.until("ended")
        assert {item["call"] for item in after if item["type"] == "call"} == {3}
        assert made == ["", "И этот."]
        cookies = dict(customer.http.cookies)
    # in a process that drives nothing, only the reader reads
    web = app(agent, journal=journal, secret="s" * 32, drive=False)
    with serving(web) as base, Customer(base) as customer:
        customer.http.cookies.clear()
        customer.http.cookies.update(cookies)
        running = web.state.door.running.journal
        read, whole = running.read, []

        async def noted(conversation: str, *, after: int = 0) -> Any:
            whole.append(after == 0)
            return await read(conversation, after=after)

        monkeypatch.setattr(running, "read", noted)
        with customer.stream(name, **{"last-event-id": str(after[-1]["seq"])}) as again:
            assert again.next()[1]["type"] == "caught_up"
        assert sum(whole) == 2, "to let the reader in, and to tell; not once more to count"
    assert made == ["", "И этот."]
