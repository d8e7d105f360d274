"""Attack 36: webhooks twice, at once, late and out of order. Each message is answered once, each phone in order.

A webhook holds no number and no time that would tell the order in which a phone wrote, so the order is the one in which
messages were first taken at the door; what comes again moves nothing.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Mapping
from typing import Any

import anyio
import pytest

from tests.sms.conftest import PHONE, sends
from tests.sms.test_webhook import Door, open_door
from turnkeeper import sms

__all__ = ("open_door",)

pytestmark = pytest.mark.anyio

OTHER = "+4915199999999"


def echo(request: Mapping[str, Any]) -> Any:
    """A model that texts back what it was asked, and is done after that."""
    last = request["messages"][-1]["content"][-1]
    return "OK" if last["type"] == "tool_result" else sends(f"re: {last['text']}")


def answers(door: Door, number: str) -> list[str]:
    return [str(one["body"]) for one in door.stage.twilio.messages if one["to"] == number]


def asked(door: Door) -> list[tuple[str, str]]:
    """What the models were asked, each with the question before it in the same conversation."""
    found = []
    for request in door.stage.api.requests:
        body = request.body or {}
        texts = [
            part["text"]
            for one in body["messages"]
            for part in one["content"]
            if one["role"] == "user" and "text" in part
        ]
        if body["messages"][-1]["content"][-1]["type"] == "text":
            found.append((texts[-2] if len(texts) > 1 else "", texts[-1]))
    return found


@pytest.mark.parametrize("seed", range(4))
async def test_each_message_is_answered_once_and_each_phone_in_the_order_of_arrival(open_door: Any, seed: int) -> None:
    dice = random.Random(seed)
    async with open_door(*[echo] * 40) as door:
        forms = [door.stage.twilio.form(number, f"{n}") for n, number in enumerate([PHONE, OTHER] * 4)]
        dice.shuffle(forms)
        deliveries = forms + [dice.choice(forms) for _ in range(12)]
        first, rest = deliveries[:1], deliveries[1:]
        dice.shuffle(rest)
        deliveries = first + rest
        for form in deliveries:
            assert (await door.post(form)).status_code == 200
        await door.stage.bot.quiet()
        for form in dice.sample(forms, len(forms)):  # once more, after all is answered
            assert (await door.post(form)).status_code == 200
        await door.stage.bot.quiet()
        arrived = list({form["MessageSid"]: form for form in deliveries}.values())
        for number in (PHONE, OTHER):
            texts = [form["Body"] for form in arrived if form["From"] == number]
            assert answers(door, number) == [f"re: {text}" for text in texts]
            pairs = [pair for pair in asked(door) if pair[1] in texts]
            assert pairs == list(itertools.pairwise(["", *texts])), "the turns of a phone follow each other"
        assert len(door.stage.api.requests) == 16


async def test_deliveries_at_the_same_moment_are_one(open_door: Any) -> None:
    async with open_door(*[echo] * 10) as door:
        form = door.stage.twilio.form(PHONE, "now")
        async with anyio.create_task_group() as group:
            for _ in range(6):
                group.start_soon(door.post, form)
        await door.stage.bot.quiet()
        assert answers(door, PHONE) == ["re: now"]
        assert len(door.stage.api.requests) == 2


async def test_a_message_that_the_stop_overtook_is_dropped_and_a_late_copy_of_the_stop_undoes_no_start(
    open_door: Any,
) -> None:
    """Written as hello, STOP, START, thanks; it comes as STOP, hello, START, STOP again, thanks, hello again."""
    async with open_door(*[echo] * 10) as door:
        hello, stop, start, thanks = (
            door.stage.twilio.form(PHONE, text) for text in ("hello", "STOP", "START", "thanks")
        )
        for form in (stop, hello, start, stop, thanks, hello):
            await door.post(form)
            await door.stage.bot.quiet()
        assert not door.stage.bot.store.is_opted_out(PHONE)
        assert answers(door, PHONE) == ["re: thanks"]
        assert [one.principal.id for one in await door.stage.bot.keeper.list()] == [PHONE]


async def test_a_copy_under_another_number_is_no_message_of_that_number(open_door: Any) -> None:
    async with open_door(*[echo] * 10) as door:
        form = door.stage.twilio.form(PHONE, "mine")
        for one in (form, {**form, "From": OTHER}):
            await door.post(one)
            await door.stage.bot.quiet()
        assert (answers(door, PHONE), answers(door, OTHER)) == (["re: mine"], [])
        assert [one.id for one in await door.stage.bot.keeper.list()] == [sms.conversation_of(PHONE)]
