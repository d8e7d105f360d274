"""`turnkeeper desk`."""

from __future__ import annotations

from typing import Any

import click

from turnkeeper.cli.options import Talk, database_option, talking

__all__ = ("desk_command",)


@click.command("desk", short_help="TechNova Desk, customer support on a real database.")
@click.option(
    "--as",
    "role",
    type=click.Choice(("staff",)),
    help="Who is talking: staff, who may see every customer. Without it a customer.",
)
@database_option
@click.option(
    "--demo",
    is_flag=True,
    help="A fresh database and the practice model: at a terminal to talk with, elsewhere a short conversation that is"
    " played.",
)
@click.option(
    "--four-eyes",
    is_flag=True,
    help="Another member of staff must approve before an expensive order is cancelled or a contact changed. The turn"
    " then ends with exit code 3, and says how to decide.",
)
@click.option(
    "--approve-above",
    metavar="AMOUNT",
    help="The total above which an order is expensive; implies --four-eyes. [default: 100.00]",
)
@talking
def desk_command(
    role: str | None, database: str | None, demo: bool, four_eyes: bool, approve_above: str | None, **options: Any
) -> int:
    """TechNova Desk: customer support on a real database.

    A customer sees their own account and orders once they have entered a code that is sent to the contact on file (and
    shown here, where no mail is sent). They have orders cancelled that are still being processed, and contacts changed.
    Staff do so for every customer. At a terminal it is a chat as `turnkeeper chat` is; elsewhere stdin is one message:

    \b
      printf 'Where is order 24601?' | turnkeeper desk --as staff

    Conversations are kept in the same database: `turnkeeper list --journal URL` shows them.
    """
    from turnkeeper.cli.desk import desk  # noqa: PLC0415 - loads the desk

    return desk(role, Talk(**options), database=database, demo=demo, four_eyes=four_eyes, approve_above=approve_above)
