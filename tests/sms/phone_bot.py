"""A bot in a process of its own: answers what waits and the one message that it is given, then ends.

python -m tests.sms.phone_bot JOURNAL TWILIO MODEL [TEXT]
"""

from __future__ import annotations

import sys
from typing import Any

import anyio

from turnkeeper import sms

PHONE, SENDER, MODEL = "+4915112345678", "+15005550006", "claude-opus-4-8"


async def main(*given: str) -> None:
    """Answer, and end."""
    journal, twilio, api, text = (*given, "")[:4]
    carrier = sms.Twilio(account_sid="AC" + "0" * 32, auth_token="token", sender=SENDER, base_url=twilio)
    settings: dict[str, Any] = {"model": MODEL, "base_url": api, "api_key": "sk-ant-test", "lease_seconds": 2.0}
    async with sms.open_bot(journal, carrier, settle=0.5, look_again=1e9, **settings) as bot:
        if text:
            await bot.receive(sms.Incoming(id="SM1", number=PHONE, text=text))
        await bot.recover()


if __name__ == "__main__":
    anyio.run(main, *sys.argv[1:])
