"""The work of `research`: questions answered from an encyclopedia."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import click

from turnkeeper import research as encyclopedic
from turnkeeper.cli.asking import is_interactive, one_turn, prompt_from
from turnkeeper.cli.conversing import opened
from turnkeeper.cli.interrupts import in_loop
from turnkeeper.cli.options import Talk
from turnkeeper.cli.terminal import Terminal, prints_aside

__all__ = ("research",)

DEMO = {
    "Ada Lovelace": "Augusta Ada King, Countess of Lovelace (1815–1852) was an English mathematician and writer. She"
    " was born in London in 1815. She wrote the first published programme for Babbage's analytical engine.",
    "Charles Babbage": "Charles Babbage (1791–1871) was an English mathematician and inventor. He designed the"
    " difference engine and the analytical engine.",
    "Analytical engine": "The analytical engine was a mechanical general-purpose computer, designed by Charles Babbage"
    " and never finished.",
}
_HINTS = (
    "Try: Who was Ada Lovelace?",
    "     Compare Ada Lovelace and Charles Babbage",
)


def research(
    words: Sequence[str], talk: Talk, *, language: str, contact: str | None, site: str | None, demo: bool
) -> int:
    """One question, or a conversation at a terminal."""
    if demo and site is not None:
        raise click.UsageError("--demo brings an encyclopedia of its own; leave --site out")
    interactive = not words and is_interactive()
    prompt = None if interactive else prompt_from(" ".join(words), example='turnkeeper research "…"')
    if interactive and talk.output_format != "text":
        raise click.UsageError("--output-format is for one question; at a terminal, research prints text")
    terminal = Terminal(color=not talk.no_color)
    wiki = _wiki(language, contact, site, demo=demo)

    async def work() -> int:
        build = functools.partial(encyclopedic.agent, wiki)
        async with opened(talk, terminal, build=build, practice=demo, make_filter=encyclopedic.AnswerFilter) as session:
            if prompt is not None:
                with prints_aside():
                    return await one_turn(session, talk, terminal, prompt)
            from turnkeeper.cli.chatting import talk_at_terminal  # noqa: PLC0415 - loads prompt-toolkit

            hints = _HINTS if session.practice else ()
            return await talk_at_terminal(session, terminal, title="Research", hints=hints)

    return in_loop(work)


def _wiki(language: str, contact: str | None, site: str | None, *, demo: bool) -> encyclopedic.Wiki:
    if demo:
        from turnkeeper.testing import Encyclopedia  # noqa: PLC0415 - for the demo only

        return encyclopedic.Wiki(contact="demo", transport=Encyclopedia(DEMO).transport())
    return encyclopedic.Wiki(language=language, contact=contact, site=site or encyclopedic.SITE)
