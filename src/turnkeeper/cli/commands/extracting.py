"""`turnkeeper extract`."""

from __future__ import annotations

from typing import Any

import click

from turnkeeper.cli.options import MODEL_OPTIONS, color_option

__all__ = ("extract_command",)


@click.command("extract", short_help="Bring texts into a form: lines in, JSON lines out.")
@click.option(
    "--schema",
    required=True,
    metavar="FILE|MODULE:TYPE",
    help="What each text is brought into: a JSON Schema in a .json file, or a pydantic model, dataclass, TypedDict or"
    " other type of a module or .py file, such as ./review.py:Sentiment.",
)
@click.option(
    "--input",
    "form",
    type=click.Choice(("text", "jsonl")),
    default="text",
    show_default=True,
    help="What a line of stdin is: a text, or JSON: a string, or an object with the text in --field.",
)
@click.option(
    "--field",
    default="text",
    show_default=True,
    metavar="NAME",
    help="With --input jsonl, the member that holds the text. An object's id comes back with its value.",
)
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    help="Write there instead of to stdout. What is done is kept beside it meanwhile: the same command goes on after an"
    " interruption, and tries again what failed.",
)
@click.option(
    "--concurrency",
    type=click.IntRange(min=1, max=1_000),
    default=4,
    show_default=True,
    metavar="N",
    help="Texts that are read at the same time.",
)
@click.option("--max-tokens", type=click.IntRange(min=1), metavar="N", help="Tokens that one reply may have.")
@color_option
def extract_command(
    schema: str, form: str, field: str, output: str | None, concurrency: int, no_color: bool, **options: Any
) -> int:
    """Read texts from stdin, one a line, and write what each says as a line of JSON, in the same order.

    \b
      turnkeeper extract --schema ./review.py:Sentiment < reviews.txt > sentiments.jsonl

    Each line is {"line": N, "value": …}, or {"line": N, "error": {…}} for a text that could not be brought into the
    form; the others are not affected, and the command ends with exit code 1 then. A value that does not fit is shown to
    the model, which may mend it once.
    """
    from turnkeeper.cli.extracting import Job, extract  # noqa: PLC0415 - loads the SDK and pydantic
    from turnkeeper.cli.options import Talk  # noqa: PLC0415

    job = Job(schema=schema, form=form, field=field, output=output, concurrency=concurrency)
    return extract(job, Talk(no_color=no_color, **options))


for _option in reversed(MODEL_OPTIONS):
    extract_command = _option(extract_command)
