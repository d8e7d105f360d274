"""`turnkeeper replay`, `fork`."""

from __future__ import annotations

import click

from turnkeeper.cli.options import color_option, format_option, journal_option

__all__ = ("fork_command", "replay_command")


@click.command("replay", short_help="Run a recorded conversation again, offline.")
@click.argument("what", metavar="ID|FILE")
@click.option("-s", "--system", metavar="TEXT", help="Another system prompt. [default: the recorded one]")
@click.option(
    "-T",
    "--tools",
    metavar="MODULE[:NAME]",
    multiple=True,
    help="The tools as they are now. [default: the recorded definitions]",
)
@click.option(
    "-m", "--model", metavar="ID", help="Another model, for its rules; it is not asked. [default: the recorded]"
)
@click.option(
    "--run",
    "run",
    metavar="NAME|*",
    multiple=True,
    help="Run this tool for real instead of giving its recorded results; * means all of effect read. Needs -T.",
)
@click.option("--ignore-setup", is_flag=True, help="Go on where only the prompt or the tools' definitions differ.")
@journal_option
@format_option("text", "json")
@color_option
def replay_command(  # noqa: PLR0913, PLR0917 - one for each option
    what: str,
    system: str | None,
    tools: tuple[str, ...],
    model: str | None,
    run: tuple[str, ...],
    ignore_setup: bool,
    journal: str | None,
    output_format: str,
    no_color: bool,
) -> int:
    """Run conversation ID (or one exported to FILE) again, turn by turn, and show where it first differs.

    No network and no key: the recorded replies answer, and tools give their recorded results. Exit code 1 if it
    differs.
    """
    from turnkeeper.cli.replaying import replay_conversation  # noqa: PLC0415 - loads the journal

    return replay_conversation(
        what,
        system=system,
        tools=tools,
        model=model,
        run=run,
        setup=not ignore_setup,
        journal=journal,
        output_format=output_format,
        color=not no_color,
    )


@click.command("fork", short_help="Begin a new conversation from a point of another.")
@click.argument("conversation_id", metavar="ID")
@click.option("--at", "seq", type=click.IntRange(min=1), metavar="SEQ", help="The last event that is taken over.")
@click.option("--to", "new_id", metavar="ID", help="The new conversation's id. [default: made up]")
@journal_option
@color_option
def fork_command(conversation_id: str, seq: int | None, new_id: str | None, journal: str | None, no_color: bool) -> int:
    """Begin a new conversation with the events of conversation ID up to number SEQ; prints its id.

    Without --at the events are listed, to choose from. Nothing is run again: calls keep their results, and those that
    had none get one that says so.
    """
    from turnkeeper.cli.replaying import fork_conversation  # noqa: PLC0415 - loads the journal

    return fork_conversation(conversation_id, seq=seq, new_id=new_id, journal=journal, color=not no_color)
