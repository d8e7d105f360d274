"""Twilio's webhook: what is let in, what is answered, and what is kept before it is acknowledged."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

import httpx2
import pytest

from tests.sms.conftest import PHONE, Open, Stage, sends
from turnkeeper import sms
from turnkeeper.errors import ConfigurationError

pytestmark = pytest.mark.anyio
URL = "https://bot.example/sms/in?tenant=7"
TWIML = b'<?xml version="1.0" encoding="UTF-8"?><Response/>'


@dataclass
class Door:
    """The application, and the bot behind it."""

    stage: Stage
    client: httpx2.AsyncClient

    async def post(self, form: Mapping[str, str], *, url: str = URL, **headers: str) -> httpx2.Response:
        """A request as Twilio makes it."""
        return await self.client.post(
            "/sms/in",
            content=urlencode(form),
            headers={
                "Content-Type": "application/x-www-form-urlencoded; charset=UTF-8",
                **self.stage.twilio.signed(url, form),
                **headers,
            },
        )


@pytest.fixture
def open_door(open_stage: Open) -> Any:
    @asynccontextmanager
    async def opened(*replies: Any, **settings: Any) -> AsyncIterator[Door]:
        stages: list[Stage] = []

        @asynccontextmanager
        async def opening() -> AsyncIterator[sms.Bot]:
            async with open_stage(*replies) as stage:
                stages.append(stage)
                yield stage.bot

        account = "AC" + "0" * 32
        app = sms.webhook(opening, **{"public_url": URL, "account_sid": account, "auth_token": "token", **settings})
        async with app.router.lifespan_context(app):
            transport = httpx2.ASGITransport(app=app)
            async with httpx2.AsyncClient(transport=transport, base_url="http://10.0.0.7:8080") as client:
                yield Door(stages[0], client)

    return opened


async def test_a_signed_message_is_acknowledged_at_once_and_answered_by_the_api(open_door: Any) -> None:
    async with open_door(sends("Привет!"), "OK") as door:
        said = await door.post(door.stage.twilio.form(PHONE, "Здравствуйте 😀"))
        assert (said.status_code, said.content) == (200, TWIML)
        assert said.headers["content-type"].startswith("text/xml")
        assert [one.text for one in door.stage.bot.store.waiting()] == ["Здравствуйте 😀"]  # kept, not yet answered
        assert door.stage.sent == []
        await door.stage.bot.quiet()
        assert door.stage.sent == ["Привет!"]
        assert door.stage.twilio.messages[0]["to"] == PHONE


async def test_a_delivery_that_comes_again_changes_nothing(open_door: Any) -> None:
    async with open_door(sends("Once."), "OK") as door:
        form = door.stage.twilio.form(PHONE, "Hi")
        for _ in range(3):
            assert (await door.post(form)).status_code == 200
            await door.stage.bot.quiet()
        assert door.stage.sent == ["Once."]


async def test_what_is_not_signed_for_this_address_is_refused(open_door: Any) -> None:
    async with open_door() as door:
        twilio = door.stage.twilio
        form = twilio.form(PHONE, "Hi")
        refused = [
            await door.post(form, url="https://bot.example/sms/in"),
            await door.post(form, url="http://10.0.0.7:8080/sms/in?tenant=7"),
            await door.post(form, **{"X-Twilio-Signature": ""}),
            await door.post(form, **{"X-Twilio-Webhooks-Signature-Settings": "key=K1,algorithm=HMAC_SHA256"}),
            await door.post({**form, "AccountSid": "AC" + "1" * 32}),
            await door.client.post(
                "/sms/in",
                content=urlencode({**form, "Body": "changed"}),
                headers={"Content-Type": "application/x-www-form-urlencoded", **twilio.signed(URL, form)},
            ),
        ]
        assert [said.status_code for said in refused] == [403] * 6
        assert {said.content for said in refused} == {b""}
        assert door.stage.bot.store.waiting() == []


@pytest.mark.parametrize("header", ["Host", "X-Forwarded-Host", "X-Forwarded-Proto", "Forwarded", "X-Original-URL"])
async def test_no_header_moves_the_address_that_is_checked(open_door: Any, header: str) -> None:
    async with open_door(sends("Hi."), "OK") as door:
        form = door.stage.twilio.form(PHONE, "Hi")
        evil = await door.post(form, url="https://evil.example/sms/in?tenant=7", **{header: "evil.example"})
        assert evil.status_code == 403
        assert (await door.post(form, **{header: "evil.example"})).status_code == 200


async def test_a_shared_key_may_sign(open_door: Any) -> None:
    async with open_door(sends("Hi."), "OK", shared_keys={"K1": "s3cret"}) as door:
        form = door.stage.twilio.form(PHONE, "Hi")
        headers = door.stage.twilio.signed(URL, form, shared_key=("K1", "s3cret"))
        assert (await door.post(form, **headers)).status_code == 200


@pytest.mark.parametrize(
    ("content", "kind", "status"),
    [
        (b"x" * 65_537, "application/x-www-form-urlencoded", 413),
        (b"{}", "application/json", 415),
        (b"Body=hi", "", 415),
        (b"Body=\xff", "application/x-www-form-urlencoded", 400),
        (b"Body=%FF", "application/x-www-form-urlencoded", 400),
        (b"&".join(b"a%d=1" % n for n in range(300)), "application/x-www-form-urlencoded", 400),
        (b"", "application/x-www-form-urlencoded", 403),
    ],
)
async def test_what_is_no_form_of_a_message_is_refused(open_door: Any, content: bytes, kind: str, status: int) -> None:
    async with open_door() as door:
        said = await door.client.post("/sms/in", content=content, headers={"Content-Type": kind} if kind else {})
        assert said.status_code == status


async def test_a_body_that_does_not_say_its_length_is_cut_off_at_the_limit(open_door: Any) -> None:
    async def endless() -> AsyncIterator[bytes]:
        for _ in range(100):
            yield b"x" * 1024

    async with open_door() as door:
        headers = {"Content-Type": "application/x-www-form-urlencoded"}
        said = await door.client.post("/sms/in", content=endless(), headers=headers)
        assert said.status_code == 413
        assert (await door.client.get("/sms/in")).status_code == 405
        assert (await door.client.post("/other")).status_code == 404


@pytest.mark.parametrize(
    ("more", "seen"),
    [
        ({"NumMedia": "2"}, "Look\n[The user also sent 2 picture(s) or file(s), which can't be seen here.]"),
        ({"Body": "", "NumMedia": "1"}, "[The user also sent 1 picture(s) or file(s), which can't be seen here.]"),
        ({"Body": "  "}, "[The message was empty.]"),
        ({"NumMedia": ""}, "Look"),
    ],
)
async def test_pictures_and_blanks_are_told_to_the_model(open_door: Any, more: dict[str, str], seen: str) -> None:
    async with open_door(sends("Hm."), "OK") as door:
        await door.post(door.stage.twilio.form(PHONE, "Look", **more))
        assert [one.text for one in door.stage.bot.store.waiting()] == [seen]


@pytest.mark.parametrize(
    "more", [{"From": "whatsapp:+491"}, {"From": "32665"}, {"MessageSid": "x"}, {"MessageSid": ""}]
)
async def test_what_is_no_message_of_a_phone_is_acknowledged_and_dropped(open_door: Any, more: dict[str, str]) -> None:
    async with open_door() as door:
        said = await door.post(door.stage.twilio.form(PHONE, "Hi", **more))
        assert (said.status_code, door.stage.bot.store.waiting()) == (200, [])


async def test_an_opt_out_that_twilio_has_handled_is_kept(open_door: Any) -> None:
    async with open_door() as door:
        await door.post(door.stage.twilio.form(PHONE, "BASTA", OptOutType="STOP"))
        assert door.stage.bot.store.is_opted_out(PHONE)
        await door.post(door.stage.twilio.form(PHONE, "OK DANN", OptOutType="START"))
        assert not door.stage.bot.store.is_opted_out(PHONE)
        assert door.stage.sent == []


async def test_a_message_that_can_not_be_kept_is_not_acknowledged(
    open_door: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_door() as door:

        def full(*given: Any, **options: Any) -> str:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(door.stage.bot.store, "receive", full)
        with pytest.raises(OSError, match="No space"):  # the server makes a 500 of it, and Twilio tries again
            await door.post(door.stage.twilio.form(PHONE, "Hi"))


@pytest.mark.parametrize(
    "given",
    [
        {"public_url": "http://bot.example/sms"},
        {"public_url": "bot.example/sms"},
        {"public_url": "https://me:pw@bot.example/sms"},
        {"auth_token": ""},
    ],
)
def test_an_address_that_can_not_be_checked_is_refused(given: dict[str, str]) -> None:
    settings = {"public_url": URL, "account_sid": "AC", "auth_token": "t", **given}
    with pytest.raises(ConfigurationError):
        sms.webhook(lambda: (_ for _ in ()).throw(AssertionError), **settings)  # type: ignore[arg-type]


@pytest.mark.parametrize("body", ["STOP", "“Стоп” ✋"])
async def test_a_stop_that_comes_with_a_picture_is_a_stop(open_door: Any, body: str) -> None:
    async with open_door() as door:
        said = await door.post(door.stage.twilio.form(PHONE, body) | {"NumMedia": "1"})
        await door.stage.bot.quiet()
        assert (said.status_code, door.stage.bot.store.is_opted_out(PHONE)) == (200, True)
        assert door.stage.bot.store.waiting() == []
