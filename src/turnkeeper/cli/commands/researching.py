"""`turnkeeper research`."""

from __future__ import annotations

from typing import Any

import click

from turnkeeper.cli.options import Talk, talking

__all__ = ("research_command",)


@click.command("research", short_help="Questions answered from Wikipedia.")
@click.argument("question", nargs=-1)
@click.option("--language", metavar="CODE", default="en", show_default=True, help="The edition that is asked first.")
@click.option(
    "--contact",
    metavar="ADDRESS",
    help="Your e-mail address or web page, said to Wikipedia with each request, as it asks of programs.",
)
@click.option("--site", metavar="URL", help="Another MediaWiki's api.php; {language} in it stands for the edition.")
@click.option("--demo", is_flag=True, help="A small encyclopedia in this process and the practice model: no network.")
@talking
def research_command(
    question: tuple[str, ...],
    language: str,
    contact: str | None,
    site: str | None,
    demo: bool,
    **options: Any,
) -> int:
    """Answer QUESTION with the help of Wikipedia, or, without one, questions at a terminal until you leave.

    The model reads articles where it needs them, several at once, and the answer names them. Elsewhere than at a
    terminal the question is read from stdin. -T adds tools of your own.
    """
    from turnkeeper.cli.researching import research  # noqa: PLC0415 - loads the SDK and the journal

    return research(question, Talk(**options), language=language, contact=contact, site=site, demo=demo)
