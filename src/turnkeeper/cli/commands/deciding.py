"""`turnkeeper approvals`: what waits for a person, and what the person says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from turnkeeper.cli.options import color_option, format_option, journal_option

__all__ = ("approvals_command",)

F = TypeVar("F", bound=Callable[..., Any])

_by = click.option(
    "--by", metavar="NAME", help="Who decides, of the staff. [default: the name this session is logged in with]"
)
_reason = click.option("--reason", metavar="TEXT", default="", help="Why; the model is told.")


@click.group("approvals", short_help="List and decide what waits for a person.", invoke_without_command=True)
@journal_option
@format_option("text", "json")
@color_option
@click.pass_context
def approvals_command(context: click.Context, journal: str | None, output_format: str, no_color: bool) -> int:
    """List what waits for a person: calls that need approval, and calls whose outcome nobody knows.

    A decision is written into the journal and counts once. The turn then goes on with `turnkeeper resume`.
    """
    context.obj = journal
    if context.invoked_subcommand is not None:
        return 0
    from turnkeeper.cli.deciding import list_waiting  # noqa: PLC0415 - loads the journal

    return list_waiting(journal, output_format=output_format, color=not no_color)


def _journal(function: F) -> F:
    """`--journal` of a subcommand; what stands before its name counts too."""
    return journal_option(function)


@approvals_command.command("approve", short_help="Let a call run as it is.")
@click.argument("approval_id", metavar="ID")
@click.option("--digest", metavar="HEX", help="Approve only if the arguments still have this digest.")
@_by
@_journal
@click.pass_obj
def approve(outer: str | None, approval_id: str, digest: str | None, by: str | None, journal: str | None) -> int:
    """Let call ID run with exactly the arguments that the list shows."""
    from turnkeeper.cli.deciding import approve as decide  # noqa: PLC0415

    return decide(journal or outer, approval_id, by=by, digest=digest)


@approvals_command.command("deny", short_help="Refuse a call.")
@click.argument("approval_id", metavar="ID")
@_reason
@_by
@_journal
@click.pass_obj
def deny(outer: str | None, approval_id: str, reason: str, by: str | None, journal: str | None) -> int:
    """Refuse call ID; the model reads the reason."""
    from turnkeeper.cli.deciding import deny as decide  # noqa: PLC0415

    return decide(journal or outer, approval_id, by=by, reason=reason)


@approvals_command.command("edit", short_help="Let a call run with other arguments.")
@click.argument("approval_id", metavar="ID")
@click.option("--input", "given", metavar="JSON", required=True, help="The arguments, as a JSON object.")
@click.option(
    "-T", "--tools", metavar="MODULE[:NAME]", multiple=True, required=True, help="The tools, to check the arguments."
)
@_reason
@_by
@_journal
@click.pass_obj
def edit(
    outer: str | None,
    approval_id: str,
    given: str,
    tools: tuple[str, ...],
    reason: str,
    by: str | None,
    journal: str | None,
) -> int:
    """Let call ID run with other arguments; they are checked now and again when it runs, and the model is told."""
    from turnkeeper.cli.deciding import edit as decide  # noqa: PLC0415

    return decide(journal or outer, approval_id, given=given, tools=tools, by=by, reason=reason)


@approvals_command.command("happened", short_help="Say that an unknown call took effect.")
@click.argument("conversation_id", metavar="CONVERSATION")
@click.argument("call_id", metavar="CALL")
@click.option("--result", metavar="TEXT", default="done", show_default=True, help="What the model reads as its result.")
@_by
@_journal
@click.pass_obj
def happened(
    outer: str | None, conversation_id: str, call_id: str, result: str, by: str | None, journal: str | None
) -> int:
    """Say that CALL of CONVERSATION took effect; it is not run again."""
    from turnkeeper.cli.deciding import resolve  # noqa: PLC0415

    return resolve(journal or outer, conversation_id, call_id, by=by, result=result)


@approvals_command.command("did-not-happen", short_help="Say that an unknown call had no effect.")
@click.argument("conversation_id", metavar="CONVERSATION")
@click.argument("call_id", metavar="CALL")
@_by
@_journal
@click.pass_obj
def did_not_happen(outer: str | None, conversation_id: str, call_id: str, by: str | None, journal: str | None) -> int:
    """Say that CALL of CONVERSATION had no effect; it runs when the turn goes on."""
    from turnkeeper.cli.deciding import resolve  # noqa: PLC0415

    return resolve(journal or outer, conversation_id, call_id, by=by, result=None)
