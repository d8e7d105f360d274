"""The work of `ask`, `chat` and `resume`."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Sequence

import click

from turnkeeper.cli.conversing import Session, opened
from turnkeeper.cli.interrupts import in_loop
from turnkeeper.cli.options import Talk
from turnkeeper.cli.terminal import Terminal, prints_aside
from turnkeeper.cli.turns import run_turn

__all__ = ("ask", "chat", "is_interactive", "one_turn", "prompt_from", "read_stdin", "resume")


def ask(words: Sequence[str], talk: Talk) -> int:
    """One turn with the prompt of the command line, of stdin, or of both."""
    prompt = prompt_from(" ".join(words))
    terminal = Terminal(color=not talk.no_color)

    async def work() -> int:
        with prints_aside():
            async with opened(talk, terminal) as session:
                return await one_turn(session, talk, terminal, prompt)

    return in_loop(work)


def chat(talk: Talk) -> int:
    """Turn by turn at a terminal; elsewhere one turn from stdin."""
    if not is_interactive():
        return ask(["-"], talk)
    if talk.output_format != "text":
        raise click.UsageError("--output-format is for one turn; at a terminal, chat prints text")
    from turnkeeper.cli.chatting import talk_at_terminal  # noqa: PLC0415 - loads prompt-toolkit

    terminal = Terminal(color=not talk.no_color)

    async def work() -> int:
        async with opened(talk, terminal) as session:
            return await talk_at_terminal(session, terminal, title="Turnkeeper")

    return in_loop(work)


def resume(conversation_id: str, talk: Talk) -> int:
    """The last turn of a conversation, taken up again."""
    if talk.go_on or talk.conversation is not None:
        raise click.UsageError("resume takes the conversation as its argument; leave --continue and --conversation out")
    terminal = Terminal(color=not talk.no_color)
    named = dataclasses.replace(talk, conversation=conversation_id)

    async def work() -> int:
        with prints_aside():
            async with opened(named, terminal, must_exist=True) as session:
                printer = session.printer(talk.output_format, terminal)
                return await run_turn(session.conversation.resume(), session, printer)

    return in_loop(work)


async def one_turn(session: Session, talk: Talk, terminal: Terminal, prompt: str) -> int:
    """Send a prompt and print what comes of it."""
    printer = session.printer(talk.output_format, terminal)
    return await run_turn(session.conversation.send(prompt), session, printer)


def is_interactive() -> bool:
    """Whether a person sits at both ends."""
    return all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stdout))


def read_stdin() -> str:
    """All of stdin as text; empty at a terminal, where nothing was piped."""
    stream = sys.stdin
    if stream is None or stream.closed or stream.isatty():
        return ""
    try:
        return stream.buffer.read().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise click.UsageError(f"stdin is not UTF-8 text (at byte {error.start})") from None


def prompt_from(given: str, *, example: str = 'turnkeeper ask "…"') -> str:
    """The prompt by what the command line gives (empty or -: stdin has it) and what is piped to stdin, if anything.

    Raises UsageError where there is none.
    """
    stdin_meant = given in ("", "-")
    if given == "-" and sys.stdin is not None and sys.stdin.isatty():
        piped = sys.stdin.buffer.read().decode("utf-8-sig", "replace")  # typed, up to Ctrl-D
    else:
        piped = read_stdin()
    parts = [part for part in (piped.rstrip("\n"), "" if stdin_meant else given) if part.strip()]
    if not parts:
        raise click.UsageError(f"there is no prompt; write {example}, or pipe it to stdin")
    return "\n\n".join(parts)
