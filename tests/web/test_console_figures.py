"""What the console counts and who did what, on the page's API and as CSV."""

from __future__ import annotations

import csv
import io
import json

import anyio
import pytest

from tests.journal.samples import one_turn
from tests.web.operators import Operator, Shop, Till, opened, refusal
from tests.web.served import serving
from tests.web.test_console_conversations import Counted, filled
from turnkeeper.errors import JournalError
from turnkeeper.testing import call, reply
from turnkeeper.web.spreadsheets import csv_bytes
from turnkeeper.web.stafflog import StaffLog

DAY = 86_400.0


def test_what_was_spent_is_summed_by_day_model_tool_and_conversation() -> None:
    """Three conversations, one a day (UTC): 0.001234 as written down, 0.000455 by the catalogue's price."""
    journal = Counted()

    async def fill() -> None:
        for number in range(3):  # the first at 2026-11-30, 00:53:20
            await journal.append(f"c-{number}", one_turn("?", at=1_796_000_000.0 - number * DAY), after=0)

    anyio.run(fill)
    with opened(Shop().app(journal=journal)) as (_, _, ana):
        found = ana.get("usage", days=2)
        assert (found["since"], found["until"], found["complete"]) == ("2026-11-29", "2026-11-30", True)
        each = {
            "requests": 2.0,
            "input_tokens": 68,
            "cached_tokens": 0,
            "written_tokens": 0,
            "output_tokens": 41,
            "cost": "0.001689",
            "priced": True,
        }
        assert found["days"] == [{"day": "2026-11-29", **each}, {"day": "2026-11-30", **each}]
        assert found["total"] == each | {
            "requests": 4.0,
            "input_tokens": 136,
            "output_tokens": 82,
            "cost": "0.003378",
        }
        assert [(one["model"], one["cost"]) for one in found["models"]] == [("claude-opus-4-8", "0.003378")]
        assert [(one["tool"], one["cost"]) for one in found["tools"]] == [
            ("(messages)", "0.002468"),
            ("get_order", "0.00091"),
        ]
        assert [one["id"] for one in found["dearest"]] == ["c-0", "c-1"]
        assert found["conversations"] == 2
        assert ana.get("usage", days=30)["total"]["cost"] == "0.005067"
        assert refusal(ana.http.get("/api/console/usage?days=soon")) == (422, "input")


def test_figures_of_many_conversations_grow_from_request_to_request_and_nothing_is_read_twice() -> None:
    journal = filled(1_000)
    with opened(Shop().app(journal=journal)) as (_, _, ana):
        seen = [ana.get("usage") for _ in range(4)]
        assert [one["complete"] for one in seen] == [False, False, True, True]
        assert [one["conversations"] for one in seen] == [400, 800, 1_000, 1_000]
        assert len(journal.reads) == 1_000
        assert max(journal.listed) <= 1_000


def test_a_spreadsheet_takes_no_text_for_a_formula_and_reads_every_name() -> None:
    """Attack 34."""
    texts = ["=1+1", "+1", "-1", "@SUM(A1)", "\tx", "\r=1", "\n=1", "＝1", 'say "hi", ok', "a\r\nb", "Ана 安", "", "'x"]
    table = csv_bytes(["name", "amount"], [(one, -1.5) for one in texts])
    assert table.startswith(b"\xef\xbb\xbfname,amount\r\n")
    rows = list(csv.reader(io.StringIO(table.decode("utf-8-sig"), newline="")))[1:]
    kept = ["'" + one if one[:1] in tuple("=+-@\t\r\n＝") and one else one for one in texts]
    assert [row[0] for row in rows] == kept
    assert {row[1] for row in rows} == {"-1.5"}, "numbers stay numbers"
    assert b'"say ""hi"", ok",-1.5\r\n' in table
    assert csv_bytes(["a"], [(None,), (7,)]) == b'\xef\xbb\xbfa\r\n""\r\n7\r\n'


def test_usage_comes_as_csv_and_whoever_took_it_is_written_down() -> None:
    async def fill(journal: Counted) -> None:
        await journal.append('=HYPERLINK("//evil")', one_turn("?", at=1_796_000_000.0), after=0)

    journal = Counted()
    anyio.run(fill, journal)
    with opened(Shop().app(journal=journal)) as (_, _, ana):
        answer = ana.http.get("/api/console/usage.csv")
        assert answer.headers["content-type"] == "text/csv; charset=utf-8"
        assert answer.headers["content-disposition"] == 'attachment; filename="usage.csv"'
        lines = answer.content.decode("utf-8-sig").split("\r\n")
        assert lines == [
            "day,conversation,model,tool,requests,input_tokens,cached_tokens,written_tokens,output_tokens,cost,priced",
            '2026-11-30,"\'=HYPERLINK(""//evil"")",claude-opus-4-8,(messages),1.0,12,0,0,34,0.001234,yes',
            '2026-11-30,"\'=HYPERLINK(""//evil"")",claude-opus-4-8,get_order,1.0,56,0,0,7,0.000455,yes',
            "",
        ]
        (entry,) = [one for one in ana.get("audit")["entries"] if one["what"] == "exported"]
        assert (entry["who"]["id"], entry["about"]) == ("ana", "usage.csv to 127.0.0.1")


def test_the_record_comes_page_by_page_month_by_month_and_as_csv() -> None:
    shop = Shop()
    asks = reply(call("refund", {"order": "1", "amount": 1}, id="toolu_1"))
    with opened(shop.app(asks, "Sorry.")) as (_, customer, ana):
        conversation = customer.new()
        customer.say(conversation, "?")
        with customer.stream(conversation) as stream:
            stream.until("waiting")
            shop.clock.now += 60
            (card,) = ana.get("inbox")["approvals"]
            ana.decide(card, "deny", reason="=1+1")
            stream.until("ended")
        page = ana.get("audit", limit=1)
        assert (page["month"], page["before"], page["next"], page["complete"]) == ("2026-11", "2026-10", 1, True)
        assert [one["what"] for one in page["entries"]] == ["denied"]
        rest = ana.get("audit", offset=1)
        assert ([one["what"] for one in rest["entries"]], rest["next"]) == (["signed_in"], None)
        assert ana.get("audit", month="2026-10")["entries"] == []
        for month in ("2026-13", "2026", "x", "1969-12", "2026-11-01"):
            assert refusal(ana.http.get("/api/console/audit", params={"month": month})) == (422, "input")
        lines = ana.http.get("/api/console/audit.csv?month=2026-11").content.decode("utf-8-sig").split("\r\n")
        assert lines[:3] == [
            "time,what,who,conversation,event,tool,about",
            f"2026-11-30T12:01:00+00:00,denied,staff ana,{conversation},7,refund,'=1+1",
            "2026-11-30T12:00:00+00:00,signed_in,staff ana,,,,127.0.0.1",
        ]


def test_the_log_of_staff_is_part_of_the_journal_and_its_changes_are_found() -> None:
    journal = Counted()
    with opened(Shop().app(journal=journal)) as (_, _, ana):
        assert ana.sign_in("eve", "x").status_code == 401
    name = "staff log 2026-11"
    lines = anyio.run(journal.export, name).splitlines()
    assert [json.loads(line)["type"] for line in lines[1:]] == [
        "conversation_started",
        "turn_warned",
        "turn_warned",
    ]
    assert anyio.run(journal.verify, name) == []


def test_two_processes_write_one_log() -> None:
    journal, shop = Counted(), Shop()
    with (
        serving(shop.app(journal=journal)) as one,
        serving(shop.app(journal=journal)) as other,
        Operator(one) as ana,
        Operator(other, "ben") as ben,
    ):
        assert ana.sign_in("eve", "x").status_code == 401
        for operator in (ana, ben):
            names = [entry["who"]["id"] for entry in operator.get("audit")["entries"]]
            assert sorted(names) == ["ana", "ben", "eve"]


def test_a_customer_can_not_begin_a_conversation_in_the_logs_place() -> None:
    with opened(Shop().app()) as (_, customer, _):
        path = "/api/conversations/staff%20log%202026-12/messages"
        answer = customer.http.post(path, json={"text": "mine"}, headers={"idempotency-key": "k"})
        assert refusal(answer) == (404, "unknown_conversation")


@pytest.mark.anyio
async def test_a_conversation_in_the_logs_place_is_not_taken_for_the_log() -> None:
    journal = Counted()
    await journal.append("staff log 2026-11", one_turn(), after=0)
    log = StaffLog(journal, Till())
    with pytest.raises(JournalError, match="not the staff log"):
        await log.write("signed_in", "ana")
    with pytest.raises(JournalError, match="not the staff log"):
        await log.visits("2026-11")
