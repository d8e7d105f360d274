"""`turnkeeper cost`."""

from __future__ import annotations

import datetime

import click

from turnkeeper.cli.options import color_option, format_option, journal_option

__all__ = ("cost_command",)


@click.command("cost", short_help="Show what conversations have cost.")
@click.argument("conversation_id", metavar="[ID]", required=False)
@click.option(
    "--by",
    type=click.Choice(("conversation", "model", "tool", "day")),
    help="One table of these only.",
)
@click.option("--since", type=click.DateTime(("%Y-%m-%d",)), metavar="DATE", help="Only from this day on (UTC).")
@click.option("-n", "--limit", type=click.IntRange(min=1), default=10, show_default=True, help="Rows of a table.")
@click.option("--json", "as_json", is_flag=True, help="The same as --output-format json.")
@journal_option
@format_option("text", "json")
@color_option
def cost_command(
    conversation_id: str | None,
    by: str | None,
    since: datetime.datetime | None,
    limit: int,
    as_json: bool,
    journal: str | None,
    output_format: str,
    no_color: bool,
) -> int:
    """Show what the journal's conversations have cost, by day, model, tool and conversation; or conversation ID alone.

    A request's cost goes to the tools whose results it brought to the model, or to "(messages)" if it brought what the
    user wrote. Costs are in USD, at the prices of the day; the JSON has all rows.
    """
    from turnkeeper.cli.costing import show_cost  # noqa: PLC0415 - loads the journal

    return show_cost(
        journal,
        conversation_id,
        by=by,
        since=None if since is None else since.date().isoformat(),
        limit=limit,
        output_format="json" if as_json else output_format,
        color=not no_color,
    )
