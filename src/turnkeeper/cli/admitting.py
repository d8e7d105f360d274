"""The desk's door for customers in the terminal: chat, one message from stdin, or the demo."""

from __future__ import annotations

import dataclasses
import functools
import os
from collections.abc import Awaitable, Callable
from typing import Any, Literal

from turnkeeper import desk as technova
from turnkeeper.cli.asking import one_turn
from turnkeeper.cli.chatting import talk_at_terminal
from turnkeeper.cli.conversing import Session, opened
from turnkeeper.cli.escapes import clean_line
from turnkeeper.cli.exits import Exit
from turnkeeper.cli.options import Talk
from turnkeeper.cli.terminal import Terminal
from turnkeeper.cli.visiting import Visit
from turnkeeper.driver.agent import Agent
from turnkeeper.driver.settings import Settings
from turnkeeper.types import Limits, Principal

__all__ = ("Form", "at_the_door", "couriers", "customers")

_SMTP = "TURNKEEPER_SMTP"
_HINTS = (
    "Try: Can you look up my orders? My email is john@gmail.com",
    "     Cancel order 13579",
    "     Change my email to john@new.example",
)


class Mail:
    """Shows what would be sent, since a terminal has no other way to the customer; for the demo, it remembers."""

    def __init__(self, terminal: Terminal) -> None:
        self._terminal = terminal
        self.last = ""

    def send(self, notice: technova.Notice) -> None:
        self.last = notice.text
        technova.ConsoleCourier(lambda line: self._terminal.note(clean_line(line.rstrip()))).send(notice)


@dataclasses.dataclass(frozen=True)
class Form:
    """The demo's customer, who reads the code in the message and enters it in the form."""

    door: technova.Door
    visitor: Principal
    mail: Mail

    def fill(self, conversation_id: str) -> str | None:
        """What the form answers; None where it asks for nothing."""
        if self.door.waiting(self.visitor, conversation_id) is None:
            return None
        return self.door.confirm(self.visitor, conversation_id, self.mail.last[: technova.DIGITS]).text


Couriers = dict[Literal["email", "phone"], technova.Courier]


def couriers(mail: Mail, *, demo: bool) -> Couriers:
    """What carries messages to customers: the mail server of TURNKEEPER_SMTP; else, and for a demo, they are shown."""
    if not demo and (url := os.environ.get(_SMTP, "").strip()):
        return {"email": technova.smtp_courier(url)}
    return {"email": mail, "phone": mail}


def customers(talk: Talk, records: technova.Desk, door: technova.Door, **options: Any) -> Agent:
    """The customers' agent by the command's options: a message may use what the desk says, if nothing else is said."""
    given: Limits = options.pop("limits")
    asked = Settings().find("max_requests", talk.max_requests)
    limits = dataclasses.replace(
        given, **{name: getattr(technova.CUSTOMER_LIMITS, name) for name in ("calls", "tokens", "seconds")}
    )
    if asked is None:
        limits = dataclasses.replace(limits, requests=technova.CUSTOMER_LIMITS.requests)
    own = {name: value for name, value in options.items() if name != "max_tokens" or value is not None}
    return technova.customer_agent(records, door, limits=limits, **own)


Play = Callable[[Session, Terminal, technova.Desk, Form], Awaitable[int]]


async def at_the_door(
    records: technova.Desk,
    talk: Talk,
    terminal: Terminal,
    *,
    prompt: str | None,
    interactive: bool,
    demo: bool,
    play: Play,
) -> int:
    """Let a new visitor in, and talk; without a prompt and without a person, `play` the demo."""
    mail = Mail(terminal)
    carried = couriers(mail, demo=demo)
    with technova.Door(records, carried, at_once="phone" in carried) as door:
        visitor = door.enter()
        build = functools.partial(customers, talk, records, door)
        kept = dataclasses.replace(talk, journal=records.journal_url)
        async with opened(
            kept, terminal, build=build, principal=visitor, practice=demo, make_filter=technova.ReplyFilter
        ) as session:
            session.visit = Visit(door, visitor, terminal)
            if interactive:
                title = "TechNova Desk" + (" (demo)" if demo else "")
                return await talk_at_terminal(session, terminal, title=title, hints=_HINTS if demo else ())
            if prompt is None:
                return await play(session, terminal, records, Form(door, visitor, mail))
            if not await session.visit.admits(session, prompt):
                return Exit.ERROR
            code = await one_turn(session, talk, terminal, prompt)
            if door.waiting(visitor, session.conversation.id) is not None:
                terminal.note("turnkeeper: the code is entered at a terminal: turnkeeper desk")
            return code
