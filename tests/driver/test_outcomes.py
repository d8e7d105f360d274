"""Calls whose outcome nobody knows, and messages that come twice or while another turn runs."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

import turnkeeper as tk
from tests.driver.conftest import Make
from tests.driver.test_people import ANA, JOHN, Shop, results, url
from turnkeeper.errors import ApprovalRefusedError, ConversationBusyError, InputError
from turnkeeper.testing import MessagesAPI, call, reply, script

__all__ = ("url",)

pytestmark = pytest.mark.anyio


class Mail:
    """A tool of effect `once` whose first call is interrupted."""

    def __init__(self) -> None:
        self.sent: list[str] = []
        self.began = anyio.Event()

    def tools(self) -> list[tk.Tool]:
        @tk.tool
        async def send_mail(to: str) -> str:
            """Send a mail."""
            self.sent.append(to)
            if len(self.sent) == 1:
                self.began.set()
                await anyio.sleep_forever()
            return "sent"

        return [send_mail]


async def lost(make: Make, url: str, mail: Mail, *replies: Any) -> MessagesAPI:
    """A conversation whose process stopped in the middle of a mail, taken up again: it asks for a person."""
    api = MessagesAPI(script(reply(call("send_mail", {"to": "ana@пример.рф"}, id="toolu_m")), *replies))
    async with make(api, tools=mail.tools()).open(url) as keeper, anyio.create_task_group() as group:
        conversation = await keeper.conversation("c")

        async def run() -> None:
            await conversation.send("mail ana")

        group.start_soon(run)
        await mail.began.wait()
        group.cancel_scope.cancel()
    async with make(api, tools=mail.tools()).open(url) as keeper:
        (found,) = await keeper.recover()
        assert found.status is tk.TurnStatus.AWAITING_RESOLUTION
        assert await keeper.recover() == ()
    assert len(api.requests) == 1
    return api


async def test_an_outcome_that_nobody_knows_is_asked_for_and_what_a_person_says_becomes_the_result(
    make: Make, url: str
) -> None:
    mail = Mail()
    api = await lost(make, url, mail, "It went out.")
    async with make(api, tools=mail.tools()).open(url) as keeper:
        (unknown,) = await keeper.outcomes.list()
        assert (unknown.tool, unknown.call_id, unknown.key) == ("send_mail", "toolu_m", "c:toolu_m")
        with pytest.raises(ApprovalRefusedError):
            await keeper.outcomes.happened("c", "toolu_m", by=JOHN)
        await keeper.outcomes.happened("c", "toolu_m", by=ANA, result={"id": "письмо-7"})
        with pytest.raises(InputError, match="is not asked for"):
            await keeper.outcomes.happened("c", "toolu_m", by=ANA)
        assert (await (await keeper.conversation("c")).resume()).text == "It went out."
    assert mail.sent == ["ana@пример.рф"]
    assert results(api, 1)["toolu_m"] == (False, '{"id":"письмо-7"}')


async def test_what_did_not_happen_runs_once_more(make: Make, url: str) -> None:
    mail = Mail()
    api = await lost(make, url, mail, "Sent now.")
    async with make(api, tools=mail.tools()).open(url) as keeper:
        await keeper.outcomes.did_not_happen("c", "toolu_m", by=ANA, reason="not in the outbox")
        assert (await (await keeper.conversation("c")).resume()).text == "Sent now."
        assert await keeper.outcomes.list() == []
    assert mail.sent == ["ana@пример.рф"] * 2
    assert results(api, 1)["toolu_m"] == (False, "sent")


async def test_going_on_without_an_answer_tells_the_model_that_the_outcome_is_unknown(make: Make, url: str) -> None:
    mail = Mail()
    api = await lost(make, url, mail, "I don't know.")
    async with make(api, tools=mail.tools()).open(url) as keeper:
        await (await keeper.conversation("c")).send("well?", when_busy="interrupt")
    assert results(api, 1)["toolu_m"][1].startswith("Outcome unknown: ")
    assert mail.sent == ["ana@пример.рф"]
    api.assert_all_accepted()


async def test_the_same_message_sent_twice_starts_one_turn(make: Make, url: str) -> None:
    shop = Shop()
    api = MessagesAPI(script("Hello.", "More."))
    async with make(api, tools=shop.tools()).open(url) as keeper:
        conversation = await keeper.conversation("c")
        first = await conversation.send("hi", key="sms-1")
        again = await conversation.send("hi", key="sms-1")
        assert (first.text, again.text, len(api.requests)) == ("Hello.", "Hello.", 1)
        assert (await conversation.send("more", key="sms-2")).text == "More."
        with pytest.raises(InputError, match="answered in an earlier turn"):
            await conversation.send("hi", key="sms-1")


async def test_a_second_driver_can_wait_for_the_first(make: Make, url: str) -> None:
    mail = Mail()
    api = MessagesAPI(script(reply(call("send_mail", {"to": "x"})), "first done", "second done"))
    async with make(api, tools=mail.tools()).open(url) as keeper:
        one, two = await keeper.conversation("c"), await keeper.conversation("c")
        texts: list[str] = []

        async def wait() -> None:
            texts.append((await two.send("two", when_busy="wait")).text)

        async with anyio.create_task_group() as group:

            async def run() -> None:
                await one.send("one")

            group.start_soon(run)
            await mail.began.wait()
            with pytest.raises(ConversationBusyError) as busy:
                await two.send("two")
            assert busy.value.holder is not None
            assert busy.value.since is not None
            group.start_soon(wait)
            await one.cancel()
        assert texts == ["first done"]
    api.assert_all_accepted()
