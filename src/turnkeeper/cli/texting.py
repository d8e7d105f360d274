"""The work of `sms`: a phone at the console, or a server for Twilio."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import AsyncIterator, Mapping
from typing import Any

import anyio.to_thread
import click

from turnkeeper import sms
from turnkeeper.cli.asking import is_interactive
from turnkeeper.cli.conversing import build_agent
from turnkeeper.cli.escapes import clean
from turnkeeper.cli.exits import Exit
from turnkeeper.cli.interrupts import in_loop
from turnkeeper.cli.options import Talk
from turnkeeper.cli.places import journal_url
from turnkeeper.cli.problems import told
from turnkeeper.cli.terminal import Terminal, prints_aside
from turnkeeper.driver.agent import Agent
from turnkeeper.sms.channel import checked_number

__all__ = ("at_the_console", "by_webhook")

_DEMO: Mapping[str, Any] = {
    "name": "Jenny",
    "orders": [
        {"id": "24601", "product": "Wireless Headphones", "status": "Shipped"},
        {"id": "13579", "product": "Smartphone Case", "status": "Processing"},
    ],
}
_HINT = (
    "Each line is a text to the assistant. Try: Where are my orders? STOP ends it, START begins again; Ctrl-D leaves."
)


def at_the_console(talk: Talk, *, number: str) -> int:
    """Be a phone: lines in, texts out."""
    checked_number(number)
    terminal = Terminal(color=not talk.no_color)
    interactive = is_interactive()
    console = sms.Console(lambda _, text: terminal.answer(f"{clean(text)}\n"))
    came: list[str] = []

    async def work() -> int:
        settings = _settings(talk, terminal)
        async with sms.open_bot(journal_url(talk.journal), console, directory=_sample, **settings) as bot:
            if interactive:
                terminal.note(f"SMS: you are {number}. {_HINT}")
            async for line in _lines(interactive=interactive):
                if not line.strip():
                    continue
                came.append(line)
                got = await bot.receive(sms.Incoming(id=_fresh(), number=number, text=line))
                await bot.quiet()
                if got == "ignored":
                    terminal.note("turnkeeper: no answer: this number has opted out, or writes too much")
        return Exit.DONE

    with contextlib.nullcontext() if interactive else prints_aside():
        ended = in_loop(work)
    if not interactive and not came:
        raise click.UsageError("stdin is empty; pipe the phone's texts to it, one a line")
    return ended


def by_webhook(talk: Talk, *, public_url: str | None, host: str, port: int) -> int:
    """Serve until somebody stops it."""
    if public_url is None:
        raise click.UsageError(
            "--serve needs --public-url, the webhook's address as Twilio has it: signatures are of that"
        )
    from turnkeeper.simulator.serving import serve_app  # noqa: PLC0415 - loads the server

    terminal = Terminal(color=not talk.no_color)
    carrier = sms.Twilio.from_environment(base_url=os.environ.get("TWILIO_BASE_URL") or "https://api.twilio.com")
    kept = journal_url(talk.journal)
    if kept == "memory:":
        raise click.UsageError("--journal memory: forgets who said STOP; name a database")
    settings = _settings(talk, terminal)
    app = sms.webhook(
        lambda: sms.open_bot(kept, carrier, **settings),
        public_url=public_url,
        account_sid=carrier.account_sid,
        auth_token=os.environ.get("TWILIO_AUTH_TOKEN", ""),
    )
    with told():
        serve_app(app, host, port, lifespan=True)
    return Exit.DONE


def _settings(talk: Talk, terminal: Terminal) -> dict[str, Any]:
    """What `open_bot` passes on to its agents, by the command's options."""
    found: dict[str, Any] = {}

    def keep(**settings: Any) -> Agent:
        found.update(settings)
        return Agent(**{**settings, "tool_choice": "auto"})

    build_agent(talk, terminal, build=keep)
    found.pop("tool_choice", None)
    return found


def _sample(number: str) -> Mapping[str, Any]:
    """The console's phone is a customer with two orders."""
    del number
    return _DEMO


def _fresh() -> str:
    return f"console-{os.urandom(12).hex()}"


async def _lines(*, interactive: bool) -> AsyncIterator[str]:
    if not interactive:
        stream = sys.stdin.buffer if sys.stdin is not None else None
        while stream is not None and (line := await anyio.to_thread.run_sync(stream.readline, abandon_on_cancel=True)):
            yield line.decode("utf-8", "replace").rstrip("\r\n")
        return
    from turnkeeper.cli.prompting import Prompter  # noqa: PLC0415 - loads prompt-toolkit

    prompter = Prompter()
    while True:
        try:
            yield await prompter.message()
        except (EOFError, KeyboardInterrupt):
            return
