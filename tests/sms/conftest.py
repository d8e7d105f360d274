"""A bot over an imitated Twilio and an imitated model; time stands still."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from turnkeeper import sms
from turnkeeper.testing import FixedClock, MessagesAPI, TwilioAPI, call, reply, script

PHONE = "+4915112345678"
SENDER = "+15005550006"
MODEL = "claude-opus-4-8"
"""A model that takes a forced tool choice."""


def sends(text: str, **fields: Any) -> dict[str, Any]:
    """A reply that sends a text."""
    return reply(call("send_text_to_user", {"text": text}, **fields))


def channel(twilio: TwilioAPI, **settings: Any) -> sms.Twilio:
    """Twilio, as the imitation knows it."""
    given = {"account_sid": twilio.account_sid, "auth_token": twilio.auth_token, "sender": SENDER}
    return sms.Twilio(**{**given, "transport": twilio.transport(), **settings})


@dataclass
class Stage:
    """A bot, whom it talks to, and what came of it."""

    bot: sms.Bot
    twilio: TwilioAPI
    api: MessagesAPI
    clock: FixedClock

    async def text(self, text: str, *, number: str = PHONE, id: str | None = None) -> str:  # noqa: A002
        """A message from a phone, answered."""
        form = self.twilio.form(number, text)
        got = await self.bot.receive(sms.Incoming(id=id or form["MessageSid"], number=number, text=text))
        await self.bot.quiet()
        return got

    @property
    def sent(self) -> list[str]:
        """The texts that went out."""
        return [str(one["body"]) for one in self.twilio.messages]


Open = Callable[..., AbstractAsyncContextManager[Stage]]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/sms.db"
    found: str = request.getfixturevalue("postgres_database")
    return found


@pytest.fixture
def open_stage(tmp_path: Path) -> Open:
    """`async with open_stage(*replies, **settings) as stage:` over a file that stays."""
    clock = FixedClock()
    twilio = TwilioAPI(clock=clock)

    @asynccontextmanager
    async def opened(*replies: Any, url: str = f"sqlite:///{tmp_path}/sms.db", **settings: Any) -> AsyncIterator[Stage]:
        api = MessagesAPI(script(*replies))
        given = {"model": MODEL, "client": api, "clock": clock, "sleep": clock.sleep, "look_again": 1e9, **settings}
        carrier = given.pop("channel", None) or channel(twilio, sleep=clock.sleep)
        async with sms.open_bot(url, carrier, **given) as bot:
            yield Stage(bot, twilio, api, clock)

    return opened
