"""`turnkeeper sms`."""

from __future__ import annotations

from typing import Any

import click

from turnkeeper.cli.options import Talk, serving

__all__ = ("sms_command",)


@click.command("sms", short_help="An assistant that texts: a phone at the console, or Twilio's webhook.")
@click.option(
    "--number",
    default="+15550100",
    show_default=True,
    metavar="NUMBER",
    help="The phone that the console is, in E.164.",
)
@click.option("--serve", is_flag=True, help="Take messages from Twilio's webhook, and answer by its API.")
@click.option("--public-url", metavar="URL", help="With --serve: the webhook's address exactly as Twilio has it.")
@click.option("--host", default="127.0.0.1", show_default=True, help="With --serve: the address to listen on.")
@click.option(
    "--port",
    type=click.IntRange(0, 65_535),
    default=8300,
    show_default=True,
    help="With --serve: the port; 0 finds one.",
)
@serving
def sms_command(number: str, serve: bool, public_url: str | None, host: str, port: int, **options: Any) -> int:
    """An assistant that texts. What its model writes reaches nobody; it speaks by sending an SMS, and by that alone.

    By itself the console is the phone: each line is a message, and what is sent to the phone is printed. STOP, START
    and HELP do what they do on a phone.

    With --serve it is Twilio's webhook. TWILIO_ACCOUNT_SID, TWILIO_AUTH_TOKEN and TWILIO_FROM (a number, or a messaging
    service MG…) say which account; TWILIO_API_KEY and TWILIO_API_SECRET send with an API key instead.
    """
    from turnkeeper.cli.texting import at_the_console, by_webhook  # noqa: PLC0415 - loads the SDK and the journal

    talk = Talk(**options)
    if serve:
        return by_webhook(talk, public_url=public_url, host=host, port=port)
    return at_the_console(talk, number=number)
