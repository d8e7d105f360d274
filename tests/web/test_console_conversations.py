"""The console's list, search and transcripts."""

from __future__ import annotations

import re
from typing import Any

import anyio
import pytest

from tests.journal.samples import one_turn, started
from tests.web.operators import Shop, opened, refusal
from tests.web.test_pages import PAYLOADS
from turnkeeper.core.events import Event, TurnWarned
from turnkeeper.journal import MemoryJournal
from turnkeeper.journal.errors import JournalDamagedError
from turnkeeper.testing import call, reply, thinking
from turnkeeper.types import Principal


class Counted(MemoryJournal):
    """A journal that notes which conversations are read, and how often its list is."""

    def __init__(self) -> None:
        super().__init__()
        self.reads: list[tuple[str, int]] = []
        self.listed: list[int] = []
        self.broken: set[str] = set()

    async def read(self, conversation_id: str, *, after: int = 0) -> list[Event]:
        if not conversation_id.startswith("staff log"):
            self.reads.append((conversation_id, after))
        if conversation_id in self.broken:
            raise JournalDamagedError("changed by hand")
        return await super().read(conversation_id, after=after)

    async def conversations(self, *, principal: Any = None, limit: int = 50, offset: int = 0) -> list[Any]:
        self.listed.append(limit)
        return await super().conversations(principal=principal, limit=limit, offset=offset)


def filled(count: int, at: float = 1_796_000_000.0) -> Counted:
    """A journal with so many conversations of one turn, the one with the highest number the newest."""
    journal = Counted()

    async def fill() -> None:
        for number in range(count):
            who = Principal("customer", f"№ {number}", "confirmed")
            events = one_turn(f"Question {number}, Straße", at=at + 10 * number, principal=who)
            await journal.append(f"c-{number}", events, after=0)

    anyio.run(fill)
    journal.reads.clear()
    return journal


def test_a_line_of_the_list_says_who_what_and_how_much() -> None:
    shop = Shop()
    with opened(shop.app(journal=filled(1))) as (_, _, ana):
        found = ana.get("conversations")
        assert found == {
            "conversations": [
                {
                    "id": "c-0",
                    "title": "Question 0, Straße",
                    "principal": {"kind": "customer", "id": "№ 0", "level": "confirmed"},
                    "status": "completed",
                    "taken_over": None,
                    "waiting": None,
                    "turns": 1,
                    "events": 9,
                    # 0.001234 as it was written down, and 56 and 7 tokens of claude-opus-4-8 that were not
                    "cost": "0.001689",
                    "priced": True,
                    "readable": True,
                    "created_at": 1_796_000_000.0,
                    "updated_at": 1_796_000_008.0,
                }
            ],
            "next": None,
            "now": shop.clock.now,
        }


def test_a_list_of_ten_thousand_is_read_page_by_page_and_only_once() -> None:
    journal = filled(10_000)
    with opened(Shop().app(journal=journal)) as (_, _, ana):
        first = ana.get("conversations")
        assert [one["id"] for one in first["conversations"]] == [f"c-{n}" for n in range(9_999, 9_949, -1)]
        assert first["next"] == 50
        assert sorted(journal.reads) == sorted((f"c-{n}", 0) for n in range(9_950, 10_000))
        assert ana.get("conversations") == first
        assert len(journal.reads) == 50, "what did not change is not read again"
        last = ana.get("conversations", offset=9_970)
        assert ([one["id"] for one in last["conversations"]][-1], last["next"]) == ("c-0", None)
        assert len(journal.reads) == 81
        assert ana.get("conversations", limit=5_000)["next"] == 100
        assert max(journal.listed) <= 200


def test_the_list_of_those_that_wait_begins_with_the_longest_wait() -> None:
    asks = [reply(call("refund", {"order": str(n), "amount": n}, id=f"toolu_{n}")) for n in range(2)]
    shop = Shop()
    with opened(shop.app(*asks)) as (_, customer, ana):
        begun = []
        for _ in range(2):
            begun.append(customer.new())
            customer.say(begun[-1], "refund!")
            with customer.stream(begun[-1]) as stream:
                stream.until("waiting")
            shop.clock.now += 60
        rows = ana.get("conversations", show="waiting")["conversations"]
        assert [one["id"] for one in rows] == begun
        since = [{"for": "awaiting_approval", "since": shop.clock.now - 60 * n} for n in (2, 1)]
        assert [one["waiting"] for one in rows] == since
        assert [one["status"] for one in rows] == ["awaiting_approval"] * 2
        with ana.stream("changes") as changes:
            assert changes.next()[1]["type"] == "changed"
            (card, _) = ana.get("inbox")["approvals"]
            ana.decide(card, "deny")
            assert changes.next()[1]["type"] == "changed"


@pytest.mark.parametrize("asked", ["show=open", "offset=-1", "offset=x", "limit=1e3", "offset=" + "9" * 30])
def test_a_page_that_is_none_is_refused(asked: str) -> None:
    with opened(Shop().app()) as (_, _, ana):
        assert refusal(ana.http.get(f"/api/console/conversations?{asked}")) == (422, "input")


def test_titles_ids_and_people_are_searched_through_all_of_them_part_by_part() -> None:
    journal = filled(2_500)
    with opened(Shop().app(journal=journal)) as (_, _, ana):
        found = ana.get("search", q="№ 7")
        assert (found["next"], len(found["conversations"])) == (1_801, 100)
        assert found["conversations"][0]["found"] == "customer № 799"
        rest = [found]
        while rest[-1]["next"] is not None:
            rest.append(ana.get("search", q="№ 7", offset=rest[-1]["next"]))
        ids = [one["id"] for page in rest for one in page["conversations"]]
        numbers = [n for n in range(2_499, -1, -1) if str(n).startswith("7")]
        assert ids == [f"c-{n}" for n in numbers]
        assert ana.get("search", q="STRASSE")["conversations"][0]["id"] == "c-2499", "ß is ss, whatever the case"
        assert ana.get("search", q="c-2498")["conversations"][0]["found"] == "c-2498"


def test_what_was_said_is_searched_too_and_shown_with_the_words_around_it() -> None:
    journal = filled(250)
    with opened(Shop().app(journal=journal)) as (_, _, ana):
        journal.reads.clear()
        page = ana.get("search", q="question 149,", **{"in": "messages"})
        assert (page["conversations"], page["next"]) == ([], 100)
        assert len(journal.reads) == 99, "one request reads a hundred and no more, and the log of staff is none"
        page = ana.get("search", q="question 149,", offset=100, **{"in": "messages"})
        assert [(one["id"], one["found"]) for one in page["conversations"]] == [("c-149", "Question 149, Straße")]
        assert page["next"] == 200
        assert ana.get("search", q="в пути", offset=200, **{"in": "messages"})["next"] is None
        assert ana.get("search", q="ПУТИ. שלום", **{"in": "messages"})["conversations"][0]["found"] == (
            "Заказ в пути. שלום"
        )


@pytest.mark.parametrize("asked", ["q=", "q=%20", "q=" + "x" * 201, "q=x&in=all", ""])
def test_a_search_for_nothing_is_refused(asked: str) -> None:
    with opened(Shop().app()) as (_, _, ana):
        assert refusal(ana.http.get(f"/api/console/search?{asked}")) == (422, "input")


def test_a_conversation_that_can_not_be_read_is_listed_and_hides_no_other() -> None:
    journal = filled(3)
    with opened(Shop().app(journal=journal)) as (_, _, ana):
        journal.broken.add("c-1")
        rows = ana.get("conversations")["conversations"]
        assert [(one["id"], one["readable"]) for one in rows] == [("c-2", True), ("c-1", False), ("c-0", True)]
        assert len(ana.get("search", q="заказ", **{"in": "messages"})["conversations"]) == 2
        usage = ana.get("usage", days=400)
        assert (usage["complete"], usage["conversations"]) == (True, 2)


def test_an_erased_conversation_leaves_the_lists_and_a_new_one_of_its_id_is_read_anew() -> None:
    journal = filled(1)
    with opened(Shop().app(journal=journal)) as (_, _, ana):
        assert ana.get("conversations")["conversations"][0]["cost"] == "0.001689"
        anyio.run(lambda: journal.erase("c-0", by=Principal("staff", "ana"), now=1.0))
        assert ana.get("conversations")["conversations"] == []
        assert ana.get("usage", days=400)["total"]["cost"] == "0"
        anyio.run(lambda: journal.append("c-0", [started(at=5.0), TurnWarned(at=6.0, code="x", message="y")], after=0))
        assert ana.get("conversations")["conversations"][0]["cost"] == "0"


def transcript(ana: Any, conversation: str) -> dict[str, list[dict[str, Any]]]:
    """The transcript's items by type."""
    found: dict[str, list[dict[str, Any]]] = {}
    for item in ana.get(f"conversations/{conversation}")["items"]:
        found.setdefault(item["type"], []).append(item)
    return found


def test_a_transcript_has_every_call_with_its_arguments_result_effect_and_taint() -> None:
    first = reply(call("review", {"product": "🎧"}, id="toolu_1"))
    second = reply(
        call("status", {"order": "24601"}, id="toolu_2"), call("refund", {"order": "1", "amount": 2}, id="t3")
    )
    shop = Shop()
    with opened(shop.app(first, second, reply(thinking("hm"), "Готово."))) as (_, customer, ana):
        conversation = customer.new()
        customer.say(conversation, "look \u202e")
        with customer.stream(conversation) as stream:
            stream.until("waiting")
            (card,) = ana.get("inbox")["approvals"]
            ana.decide(card, "edit", text='{"order": "1", "amount": 1}', reason="half")
            stream.until("ended")
        items = transcript(ana, conversation)
        assert items["turn_started"][0]["text"] == "look ⟨U+202E⟩"
        assert items["reply_received"][0]["calls"] == [
            {
                "id": "toolu_1",
                "name": "review",
                "index": 0,
                "text": '{\n  "product": "🎧"\n}',
                "invalid": None,
                "effect": "read",
                "untrusted": None,
            }
        ]
        calls = items["reply_received"][1]["calls"]
        assert [(one["name"], one["effect"], one["untrusted"]) for one in calls] == [
            ("status", "read", "review"),
            ("refund", "once", "review"),
        ]
        review = next(one for one in items["call_finished"] if one["call_id"] == "toolu_1")
        assert review["untrusted"] == "review"
        assert "🎧: <img src=x onerror=alert(1)> ⟨U+202E⟩good" in review["result"]
        assert items["approval_requested"][0]["text"] == '{\n  "order": "1",\n  "amount": 2\n}'
        (decided,) = items["approval_decided"]
        assert (decided["decision"], decided["by"]["id"], decided["reason"]) == ("edited", "ana", "half")
        assert decided["text"] == '{\n  "order": "1",\n  "amount": 1\n}'
        assert items["reply_received"][2]["html"] == "<p>Готово.</p>\n"
        assert "setup" not in items["request_started"][0]
        number = items["request_started"][0]["seq"]
        whole = ana.get(f"conversations/{conversation}/events/{number}")
        assert len(items["request_started"]) == 3
        assert [one["name"] for one in whole["setup"]["tools"]] == ["status", "review", "refund"]
        assert ana.http.get(f"/api/console/conversations/{conversation}/events/999").status_code == 404


def test_the_stream_of_staff_gives_the_same_items_and_goes_on_from_any_of_them() -> None:
    with opened(Shop().app("Yes.")) as (_, customer, ana):
        conversation = customer.new()
        customer.say(conversation, "hi")
        with ana.stream(f"conversations/{conversation}/events") as stream:
            given = [item for item in stream.until("turn_ended") if "seq" in item]
        assert given == ana.get(f"conversations/{conversation}")["items"]
        with ana.stream(f"conversations/{conversation}/events?after={len(given) - 1}") as stream:
            assert stream.next()[1] == given[-1]


def test_a_conversation_whose_first_message_still_waits_is_there_and_others_are_not() -> None:
    with opened(Shop().app("Yes.", drive=False)) as (_, customer, ana):
        conversation = customer.new()
        customer.say(conversation, "hi")
        assert ana.get(f"conversations/{conversation}")["items"] == []
        for name in ("nobody", "x" * 300, "a%00b"):
            for path in (name, f"{name}/events"):
                assert ana.http.get(f"/api/console/conversations/{path}").status_code == 404


@pytest.mark.parametrize("payload", PAYLOADS)
def test_nothing_that_a_customer_a_tool_or_the_model_writes_is_html_to_the_operator(payload: str) -> None:
    """Attack 32: all three write it; as HTML there is only what the sanitiser let through."""
    shop = Shop()
    asks = reply(call("status", {"order": payload}, id="toolu_1"))
    with opened(shop.app(asks, payload)) as (_, customer, ana):
        conversation = customer.new()
        customer.say(conversation, payload)
        with customer.stream(conversation) as stream:
            stream.until("ended")
        found: list[str] = []

        def gather(value: Any) -> None:
            if isinstance(value, dict):
                found.extend(inner for name, inner in value.items() if name == "html")
                for inner in value.values():
                    gather(inner)
            elif isinstance(value, list):
                for inner in value:
                    gather(inner)

        gather(ana.get(f"conversations/{conversation}"))
        assert len(found) == 2, "two replies, and nothing else has HTML"
        tags = re.compile("<(script|img|iframe|svg|details|a [^>]*href)", re.IGNORECASE)
        assert [html for html in found if tags.search(html)] == []
