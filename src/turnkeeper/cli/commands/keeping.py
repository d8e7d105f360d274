"""`turnkeeper list`, `show`, `export`."""

from __future__ import annotations

import click

from turnkeeper.cli.options import color_option, format_option, journal_option

__all__ = ("export_command", "list_command", "show_command")


@click.command("list", short_help="List the conversations.")
@journal_option
@click.option("-n", "--limit", type=click.IntRange(min=1), default=20, show_default=True, help="How many, at most.")
@format_option("text", "json")
@color_option
def list_command(journal: str | None, limit: int, output_format: str, no_color: bool) -> int:
    """List the conversations of the journal, the newest change first."""
    from turnkeeper.cli.looking import list_conversations  # noqa: PLC0415 - loads the journal

    return list_conversations(journal, limit=limit, output_format=output_format, color=not no_color)


@click.command("show", short_help="Show a conversation.")
@click.argument("conversation_id", metavar="ID")
@journal_option
@format_option("text", "json")
@color_option
def show_command(conversation_id: str, journal: str | None, output_format: str, no_color: bool) -> int:
    """Show conversation ID: what was said, each call with its result, what it cost."""
    from turnkeeper.cli.looking import show  # noqa: PLC0415 - loads the journal

    return show(journal, conversation_id, output_format=output_format, color=not no_color)


@click.command("export", short_help="Write a conversation out as JSON or Markdown.")
@click.argument("conversation_id", metavar="ID")
@journal_option
@click.option(
    "-f",
    "--format",
    "file_format",
    type=click.Choice(("json", "markdown", "journal")),
    help="What to write; journal is every event, for another journal or a test. [default: markdown for a FILE.md,"
    " else json]",
)
@click.option("-o", "--output", metavar="FILE", help="Write it there, to a file that doesn't exist yet, not to stdout.")
@click.option("--redact", is_flag=True, help="Without card numbers, e-mail addresses and phone numbers.")
def export_command(
    conversation_id: str, journal: str | None, file_format: str | None, output: str | None, redact: bool
) -> int:
    """Write conversation ID out as a whole, as JSON, Markdown, or the journal's own lines.

    The JSON holds `messages` in the API's own format; `turnkeeper verify` takes it.
    """
    from turnkeeper.cli.looking import export  # noqa: PLC0415 - loads the journal

    return export(journal, conversation_id, file_format=file_format, output=output, redact=redact)
