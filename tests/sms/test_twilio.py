"""Twilio's Messages API: what is sent, what its errors mean, and finding what was sent."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest

from tests.sms.conftest import PHONE, SENDER, channel
from turnkeeper import sms
from turnkeeper.errors import ConfigurationError
from turnkeeper.testing import FixedClock, TwilioAPI
from turnkeeper.testing.services import Answer

pytestmark = pytest.mark.anyio


@pytest.fixture
def twilio() -> TwilioAPI:
    return TwilioAPI()


async def test_a_message_is_created_as_the_api_wants_it(twilio: TwilioAPI) -> None:
    sid = await channel(twilio).send(PHONE, "Привет 😀 & = +")
    [made] = twilio.messages
    assert (made["sid"], made["to"], made["from"], made["body"]) == (sid, PHONE, SENDER, "Привет 😀 & = +")
    service = "MG" + "a" * 32
    await channel(twilio, sender=service).send(PHONE, "x")
    assert (twilio.messages[1]["messaging_service_sid"], twilio.messages[1]["from"]) == (service, None)
    assert twilio.complaints == []


async def test_over_a_real_socket_the_same(twilio: TwilioAPI) -> None:
    with twilio.listen() as url:
        sid = await channel(twilio, transport=None, base_url=url).send(PHONE, "hi")
        assert await channel(twilio, transport=None, base_url=url).find(PHONE, "hi", since=0) == [sid]
    assert twilio.complaints == []


@pytest.mark.parametrize(
    ("faults", "error", "slept", "requests"),
    [
        ([(400, 21610)], 21610, [], 1),
        ([(400, 21617)], 21617, [], 1),
        ([(400, 21211)], 21211, [], 1),
        ([(401, 20003)], 20003, [], 1),
        ([(403, 21408)], 21408, [], 1),
        ([(429, 20429)] * 4, 20429, [0.5, 1.0, 2.0], 4),
        ([httpx2.ConnectError("no route")] * 4, None, [0.5, 1.0, 2.0], 4),
        ([Answer(status=404, body=b"<html>")], None, [], 1),
    ],
)
async def test_what_was_surely_not_sent_is_said_so(
    twilio: TwilioAPI, faults: list[Any], error: int | None, slept: list[float], requests: int
) -> None:
    clock = FixedClock()
    twilio.faults = [twilio.refusal(one[0], one[1], "said") if isinstance(one, tuple) else one for one in faults]
    with pytest.raises(sms.NotSentError) as caught:
        await channel(twilio, sleep=clock.sleep).send(PHONE, "x")
    assert (caught.value.error, list(clock.slept), len(twilio.asked)) == (error, slept, requests)
    assert twilio.messages == []
    assert "token" not in str(caught.value)


async def test_too_many_requests_are_waited_for_as_long_as_it_says(twilio: TwilioAPI) -> None:
    clock = FixedClock()
    twilio.faults = [twilio.refusal(429, 20429, **{"Retry-After": "7"}), httpx2.ConnectTimeout("x"), None]
    await channel(twilio, sleep=clock.sleep).send(PHONE, "x")
    assert (list(clock.slept), len(twilio.messages)) == ([7.0, 1.0], 1)
    twilio.faults = [twilio.refusal(429, 20429, **{"Retry-After": "3600"})]
    with pytest.raises(sms.NotSentError):
        await channel(twilio, sleep=clock.sleep).send(PHONE, "x")


@pytest.mark.parametrize(
    "fault",
    [
        Answer(status=500, body=b"oops"),
        Answer(status=503, body={"code": 20503}),
        httpx2.ReadTimeout("slow"),
        httpx2.ReadError("reset"),
        httpx2.RemoteProtocolError("cut"),
        Answer(status=201, body=b"{}"),
        Answer(status=201, body=b"not json"),
        Answer(status=302, headers={"Location": "https://evil.example/"}),
    ],
)
@pytest.mark.parametrize("when", ["before", "after"])
async def test_what_may_have_been_sent_is_said_so_and_never_sent_again(
    twilio: TwilioAPI, fault: Any, when: str
) -> None:
    (twilio.faults if when == "before" else twilio.after).append(fault)
    with pytest.raises(sms.OutcomeUnknownError):
        await channel(twilio).send(PHONE, "x")
    assert len(twilio.asked) == 1
    assert await channel(twilio).find(PHONE, "x", since=0) == [one["sid"] for one in twilio.messages]


async def test_a_message_that_failed_at_once_was_not_sent(twilio: TwilioAPI) -> None:
    twilio.faults = [Answer(status=201, body={"sid": "SM1", "status": "failed", "error_code": 30007})]
    with pytest.raises(sms.NotSentError) as caught:
        await channel(twilio).send(PHONE, "x")
    assert caught.value.error == 30007


async def test_a_message_is_found_by_number_text_and_time_on_any_page() -> None:
    clock = FixedClock()
    twilio = TwilioAPI(clock=clock)
    carrier = channel(twilio)
    await carrier.send(PHONE, "wanted")  # too old
    clock.advance(100)
    since = clock()
    wanted = await carrier.send(PHONE, "wanted")
    trial = await carrier.send(PHONE, "Sent from your Twilio trial account - wanted")
    await carrier.send("+4915100000000", "wanted")
    for _ in range(150):
        await carrier.send(PHONE, "other")
    twilio.asked.clear()
    assert await carrier.find(PHONE, "wanted", since=since) == [trial, wanted]
    assert len(twilio.asked) == 2
    assert await carrier.find(PHONE, "never", since=since) == []
    assert twilio.complaints == []
    twilio.faults = [twilio.refusal(500, 20500)]
    with pytest.raises(sms.OutcomeUnknownError):
        await carrier.find(PHONE, "wanted", since=since)
    twilio.faults = [Answer(body={"no": "messages"})]
    with pytest.raises(sms.OutcomeUnknownError):
        await carrier.find(PHONE, "wanted", since=since)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"account_sid": "AC1"}, "account SID is AC"),
        ({"auth_token": " "}, "auth token is missing"),
        ({"sender": "Shop"}, "sender is a phone number"),
        ({"sender": ""}, "TWILIO_FROM"),
    ],
)
def test_settings_that_can_not_work_are_refused_without_a_secret(settings: dict[str, str], said: str) -> None:
    given = {"account_sid": "AC" + "0" * 32, "auth_token": "s3cret-token", "sender": SENDER, **settings}
    with pytest.raises(ConfigurationError, match=said) as caught:
        sms.Twilio(**given)  # type: ignore[arg-type]
    assert "s3cret" not in str(caught.value)


def test_the_environment_holds_the_settings() -> None:
    environ = {"TWILIO_ACCOUNT_SID": "AC" + "0" * 32, "TWILIO_AUTH_TOKEN": "t", "TWILIO_FROM": SENDER}
    assert sms.Twilio.from_environment(environ).account_sid == "AC" + "0" * 32
    with pytest.raises(ConfigurationError, match="auth token is missing"):
        sms.Twilio.from_environment({**environ, "TWILIO_API_KEY": "SK1"})
    assert sms.Twilio.from_environment({**environ, "TWILIO_API_KEY": "SK1", "TWILIO_API_SECRET": "x"})
