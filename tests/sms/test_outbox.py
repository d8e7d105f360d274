"""What goes out: checked, once as far as can be known, and nothing that nobody asked for."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import anyio
import anyio.to_thread
import httpx2
import pytest

from tests.sms.conftest import PHONE, Open, channel, sends
from turnkeeper import sms
from turnkeeper.testing import TwilioAPI
from turnkeeper.testing.services import Answer

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("\u200b \u2060", "The text is empty"),
        ("a" * 613, "613 characters in 5 parts, and 4 are allowed"),
        ("я" * 269, "269 characters in 5 parts, and 4 are allowed"),
    ],
)
async def test_a_text_that_can_not_be_sent_is_refused_with_the_reason(open_stage: Open, text: str, said: str) -> None:
    async with open_stage(sends(text), sends("Short."), "OK") as stage:
        await stage.text("Hello")
        refused = (stage.api.requests[1].body or {})["messages"][-1]["content"][0]
        assert said in refused["content"]
        assert refused["is_error"]
        assert stage.sent == ["Short."]


async def test_twilios_own_limit_holds_whatever_is_allowed(open_stage: Open) -> None:
    async with open_stage(sends("a" * 1601), sends("a" * 1600), "OK", most_segments=99) as stage:
        await stage.text("Hello")
        assert [len(one) for one in stage.sent] == [1600]
        assert stage.twilio.complaints == []


async def test_a_model_that_can_not_stop_is_stopped(open_stage: Open) -> None:
    async with open_stage(*(sends(f"No. {n}") for n in range(1, 6)), "OK", most_in_turn=3) as stage:
        await stage.text("Hello")
        assert stage.sent == ["No. 1", "No. 2", "No. 3"]
        await stage.text("More")  # the count is of each message by itself
        assert stage.sent == ["No. 1", "No. 2", "No. 3", sms.Said().sorry]


async def test_a_send_whose_answer_was_lost_is_found_and_not_repeated(open_stage: Open) -> None:
    async with open_stage(sends("Once."), "OK") as stage:
        stage.twilio.after = [httpx2.ReadTimeout("lost")]
        await stage.text("Hello")
        assert stage.sent == ["Once."]
        result = (stage.api.requests[1].body or {})["messages"][-1]["content"][0]
        assert result["content"].startswith("Sent, in 1 part.")


async def test_a_send_that_did_not_happen_is_said_so_and_may_be_tried_again(open_stage: Open) -> None:
    async with open_stage(sends("Once."), sends("Once."), "OK") as stage:
        stage.twilio.faults = [Answer(status=500, body=b"")]
        await stage.text("Hello")
        assert stage.sent == ["Once."]
        assert stage.clock.slept == (10.0,)  # that long it could have been missing from the list
        first = (stage.api.requests[1].body or {})["messages"][-1]["content"][0]
        assert "was not sent" in first["content"]


async def test_a_send_of_which_nobody_can_tell_is_not_repeated_by_the_bot(open_stage: Open) -> None:
    async with open_stage(sends("Once."), "OK") as stage:
        stage.twilio.faults = [httpx2.ReadError("cut"), stage.twilio.refusal(500, 20500)]
        await stage.text("Hello")
        result = (stage.api.requests[1].body or {})["messages"][-1]["content"][0]
        assert "isn't known whether" in result["content"]
        assert stage.sent == []
        assert stage.bot.store.waiting() == []


class Stuck(sms.Console):
    """Sends, and the answer never comes; afterwards it can't be asked while `deaf`."""

    deaf = True

    async def send(self, number: str, text: str) -> str:
        await super().send(number, text)
        await anyio.sleep_forever()
        raise AssertionError

    async def find(self, number: str, text: str, *, since: float) -> list[str]:
        if self.deaf:
            raise sms.OutcomeUnknownError("no route")
        return await super().find(number, text, since=since)


async def stopped_in_the_middle(open_stage: Open, carrier: Stuck) -> None:
    """A program that ends while it sends."""
    async with open_stage(sends("Once.", id="toolu_1"), channel=carrier) as stage:
        await stage.bot.receive(sms.Incoming(id="SM1", number=PHONE, text="Hello"))
        while not carrier.sent:
            await anyio.lowlevel.checkpoint()


async def test_a_program_that_stops_while_it_sends_leaves_one_text(open_stage: Open) -> None:
    carrier = Stuck(lambda number, text: None)
    await stopped_in_the_middle(open_stage, carrier)
    carrier.deaf = False
    async with open_stage("OK", channel=carrier) as stage:
        await stage.bot.recover()
        assert [text for _, _, text, _ in carrier.sent] == ["Once."]
        assert stage.bot.store.waiting() == []
        [request] = stage.api.requests
        assert "Sent, in 1 part." in str((request.body or {})["messages"][-1])


async def test_what_nobody_can_find_out_waits_for_a_person_and_the_phone_may_go_on(open_stage: Open) -> None:
    carrier = Stuck(lambda number, text: None)
    await stopped_in_the_middle(open_stage, carrier)
    async with open_stage(channel=carrier) as stage:
        await stage.bot.recover()
        assert stage.bot.store.waiting() == []  # no apology: the answer may be there
        assert [text for _, _, text, _ in carrier.sent] == ["Once."]
        [unknown] = await stage.bot.keeper.outcomes.list()
        assert (unknown.tool, unknown.input) == ("send_text_to_user", {"text": "Once."})
    twilio = TwilioAPI()
    async with open_stage(sends("Still here."), "OK", channel=channel(twilio)) as stage:
        await stage.text("Hello?")
        assert [one["body"] for one in twilio.messages] == ["Still here."]
        told = str((stage.api.requests[0].body or {})["messages"][2])
        assert "unknown" in told


async def test_two_programs_that_get_the_same_message_answer_it_once(open_stage: Open, url: str) -> None:
    shown: list[str] = []
    console = sms.Console(lambda number, text: shown.append(text))
    settings = {"url": url, "channel": console}
    async with open_stage(sends("One."), "OK", **settings) as one, open_stage(sends("One."), "OK", **settings) as two:
        message = sms.Incoming(id="SM1", number=PHONE, text="Hello")
        got = {await one.bot.receive(message), await two.bot.receive(message)}
        await one.bot.quiet()
        await two.bot.quiet()
        assert got == {"queued", "duplicate"}
        assert shown == ["One."]
        assert one.bot.store.waiting() == []


async def test_looking_something_up_waits_for_no_writer(open_stage: Open, tmp_path: Path) -> None:
    async with open_stage() as stage:
        writer = sqlite3.connect(tmp_path / "sms.db", isolation_level=None)
        writer.execute("BEGIN IMMEDIATE")  # a tool that changes something in the same database
        try:
            with anyio.fail_after(10):
                assert await anyio.to_thread.run_sync(stage.bot.store.is_opted_out, PHONE) is False
                assert await anyio.to_thread.run_sync(stage.bot.store.waiting) == []
        finally:
            writer.close()
