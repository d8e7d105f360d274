"""`turnkeeper verify`, `doctor`, `models`."""

from __future__ import annotations

import click

from turnkeeper.cli.options import color_option, format_option, journal_option

__all__ = ("doctor_command", "models_command", "verify_command")


@click.command("verify", short_help="Check messages against the API's rules.")
@click.argument("what", metavar="FILE|-|ID")
@click.option("-m", "--model", metavar="ID", help="The model whose rules count. [default: the one that FILE names]")
@journal_option
@format_option("text", "json")
@color_option
def verify_command(
    what: str,
    model: str | None,
    journal: str | None,
    output_format: str,
    no_color: bool,
) -> int:
    """Check messages against the rules of the API, without sending them.

    FILE (or stdin, -) holds a list of messages, a request, or what `turnkeeper export` wrote in JSON or, with
    `-f journal`, with its hashes, which are checked too; ID is a conversation of the journal, checked in the same way.
    Each fault comes with its place, the API's words and the repair.

    Exit code 0: no faults; 1: faults; 2: what was given can't be read.
    """
    from turnkeeper.cli.verifying import verify  # noqa: PLC0415 - loads the simulator's rules

    return verify(what, model=model, journal=journal, output_format=output_format, color=not no_color)


@click.command("models", short_help="List the known models and their prices.")
@format_option("text", "json")
@color_option
def models_command(output_format: str, no_color: bool) -> int:
    """List the models that Turnkeeper knows: window, longest reply, prices, forced tool choice.

    Any other id works too; it has no price then, and nothing is refused because of it.
    """
    from turnkeeper.cli.modelling import models  # noqa: PLC0415 - loads the catalogue

    return models(output_format=output_format, color=not no_color)


@click.command("doctor", short_help="Look at what Turnkeeper needs.")
@journal_option
@click.option("--base-url", metavar="URL", help="The endpoint to report on. [ANTHROPIC_BASE_URL]")
@format_option("text", "json")
@color_option
def doctor_command(journal: str | None, base_url: str | None, output_format: str, no_color: bool) -> int:
    """Look at everything that Turnkeeper needs: versions, key, folders, journal, simulator, terminal.

    Nothing is sent anywhere, and a key is never shown. Exit code 1 if something needed is broken.
    """
    from turnkeeper.cli.examining import doctor  # noqa: PLC0415 - loads everything

    return doctor(journal=journal, base_url=base_url, output_format=output_format, color=not no_color)
