"""The work of `desk`: TechNova Desk for a customer, who proves who they are, or for its staff."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import os
import tempfile
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import click

from turnkeeper import desk as technova
from turnkeeper.cli.admitting import Form, at_the_door
from turnkeeper.cli.asking import is_interactive, one_turn, prompt_from
from turnkeeper.cli.chatting import talk_at_terminal
from turnkeeper.cli.conversing import Session, opened, this_person
from turnkeeper.cli.exits import Exit
from turnkeeper.cli.interrupts import in_loop
from turnkeeper.cli.options import Talk
from turnkeeper.cli.places import desk_url, file_url
from turnkeeper.cli.problems import CommandError
from turnkeeper.cli.terminal import Terminal, prints_aside
from turnkeeper.cli.turns import run_turn
from turnkeeper.cli.visiting import GO_ON, Cards
from turnkeeper.desk.domain import money
from turnkeeper.types import Principal

__all__ = ("DEMO", "desk", "limit_of", "policy_of", "records_of")

DEMO = (
    "Can you look up my orders? My email is john@gmail.com",
    "Please cancel order 24601",
    "Then please cancel order 13579",
)
"""What the demo says where nobody types: an order that can't be cancelled any more, and one that can."""
_DEMO_ORDER = "13579"
_HINTS = (
    "Try: Can you look up my orders? My email is john@gmail.com",
    "     Cancel order 47652",
    "     Отмените заказ 28164, пожалуйста",
)
_STAFF_ONLY = "--four-eyes and --approve-above are for the staff's door: add --as staff"


def desk(
    role: str | None, talk: Talk, *, database: str | None, demo: bool, four_eyes: bool, approve_above: str | None
) -> int:
    """Chat, one message from stdin, or the demo."""
    if role is None and (four_eyes or approve_above is not None):
        raise click.UsageError(_STAFF_ONLY)
    if demo and database is not None:
        raise click.UsageError("--demo makes a database of its own; leave --database out")
    policy = policy_of(four_eyes, approve_above)
    interactive = is_interactive()
    terminal = Terminal(color=not talk.no_color, one_stream=demo and not interactive)
    if talk.journal is not None:
        raise click.UsageError("the desk keeps its conversations in its own database; leave --journal out")
    if demo:
        talk = dataclasses.replace(talk, conversation=None, go_on=False)
    prompt = None if interactive or demo else prompt_from("-", example="it at a terminal")
    if interactive and talk.output_format != "text":
        raise click.UsageError("--output-format is for one message; at a terminal, the desk prints text")

    async def work(records: technova.Desk) -> int:
        if role is None:
            return await at_the_door(
                records, talk, terminal, prompt=prompt, interactive=interactive, demo=demo, play=_play
            )
        staff = Principal("staff", "demo" if demo else this_person())
        build = functools.partial(technova.agent, records, **policy)
        # a change of an order and the note that the call is done are one transaction, so they need one database
        kept = dataclasses.replace(talk, journal=records.journal_url)
        async with opened(
            kept, terminal, build=build, principal=staff, practice=demo, make_filter=technova.ReplyFilter
        ) as session:
            session.database = database
            if interactive:
                session.visit = Cards(staff, terminal)
                title = "TechNova Desk, as staff" + (" (demo)" if demo else "")
                return await talk_at_terminal(session, terminal, title=title, hints=_HINTS if demo else ())
            if prompt is None:
                return await _play(session, terminal, records)
            return await one_turn(session, talk, terminal, prompt)

    with records_of(database, demo=demo) as records, contextlib.nullcontext() if interactive else prints_aside():
        return in_loop(lambda: work(records))


def policy_of(four_eyes: bool, approve_above: str | None) -> dict[str, Any]:
    """What the staff's agent is told of approvals."""
    return {"four_eyes": four_eyes or approve_above is not None, **limit_of(approve_above)}


def limit_of(approve_above: str | None) -> dict[str, Decimal]:
    """The option `approve_above` of either agent, where the command was given one."""
    if approve_above is None:
        return {}
    try:
        return {"approve_above": money(approve_above)}
    except ValueError as error:
        raise click.UsageError(f"--approve-above: {error}") from None


@contextlib.contextmanager
def records_of(database: str | None, *, demo: bool) -> Iterator[technova.Desk]:
    """The desk's records, open: those that are named, or fresh ones that go with the demo."""
    with contextlib.ExitStack() as stack:
        if demo:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="technova-desk-"))
            url = file_url(Path(folder) / "desk.db")
        else:
            url = _with_scheme(desk_url(database))
        yield stack.enter_context(technova.open_database(url))


def _with_scheme(url: str) -> str:
    if "://" not in url:
        raise CommandError(
            f"--database: the desk's records have a URL: sqlite:///{os.path.basename(url) or 'desk.db'} for a file,"
            " postgresql://USER@HOST/NAME for a server",
            exit_code=Exit.USAGE,
        )
    return url


async def _play(session: Session, terminal: Terminal, records: technova.Desk, form: Form | None = None) -> int:
    """Play the demo: user lines, calls and answers, and the order's row before and after."""
    terminal.answer(f"order {_DEMO_ORDER} in the database: {_row(records)}\n")
    for line in DEMO:
        terminal.answer(f"\n> {line}\n")
        code = await run_turn(session.conversation.send(line), session, session.printer("text", terminal))
        if code is not Exit.DONE:
            return code
        said = form.fill(session.conversation.id) if form is not None else None
        if said is not None:
            terminal.answer(f"\n(the code, in the form: {said})\n\n> {GO_ON}\n")
            await run_turn(session.conversation.send(GO_ON), session, session.printer("text", terminal))
    terminal.answer(f"\norder {_DEMO_ORDER} in the database: {_row(records)}\n")
    return Exit.DONE


def _row(records: technova.Desk) -> str:
    order = records.order(_DEMO_ORDER)
    if order is None:
        return "not there"
    return f"{order.quantity} x {order.product}, {order.price} each, {order.status.value}"
