"""An assistant that speaks by SMS alone: it looks things up, sends one text, and is silent after a STOP."""

from __future__ import annotations

import tempfile
from pathlib import Path

import anyio

from turnkeeper import sms, testing

JENNY = "+15550100"
SENDER = "+15005550006"


def directory(number: str) -> dict[str, object] | None:
    """What the shop knows of a phone number; the model can't ask for another than the one that writes."""
    return {"name": "Jenny", "orders": [{"id": "24601", "status": "Shipped"}]} if number == JENNY else None


# What the model says. The second reply is plain text: it reaches nobody, and the model is told to send.
script = testing.script(
    testing.reply(testing.call("get_my_orders", {})),
    "Order 24601 has shipped.",
    testing.reply(testing.call("send_text_to_user", {"text": "Jenny, order **24601** has shipped."})),
    "OK",
)


async def main() -> None:
    """A question, its second delivery, a STOP, and another question."""
    twilio = testing.TwilioAPI()  # stands in for Twilio, and is as strict
    carrier = sms.Twilio(
        account_sid=twilio.account_sid, auth_token=twilio.auth_token, sender=SENDER, transport=twilio.transport()
    )
    api = testing.MessagesAPI(script)
    with tempfile.TemporaryDirectory() as folder:
        journal = f"sqlite:///{Path(folder) / 'sms.db'}"
        async with sms.open_bot(journal, carrier, directory=directory, model="claude-opus-4-8", client=api) as bot:
            got = []
            for name, text in (
                ("SM1", "Where is my order?"),
                ("SM1", "Where is my order?"),
                ("SM2", "STOP"),
                ("SM3", "?"),
            ):
                got.append(await bot.receive(sms.Incoming(id=name, number=JENNY, text=text)))
                await bot.quiet()

    print(got)
    assert got == ["queued", "duplicate", "stopped", "ignored"]
    for message in twilio.messages:
        print(message["to"], message["body"])
    assert [message["body"] for message in twilio.messages] == ["Jenny, order 24601 has shipped."]

    first, _, insisting, _ = (request.body or {} for request in api.requests)
    assert first["tool_choice"] == {"type": "any"}
    assert insisting["tool_choice"] == {"type": "tool", "name": "send_text_to_user"}
    assert twilio.complaints == []
    api.assert_all_accepted()


if __name__ == "__main__":
    anyio.run(main)
