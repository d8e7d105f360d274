"""The work of `list`, `show` and `export`."""

from __future__ import annotations

import datetime
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from turnkeeper.cli.escapes import clean_line, json_text
from turnkeeper.cli.exits import Exit
from turnkeeper.cli.exporting import as_json, as_markdown, write_new
from turnkeeper.cli.interrupts import in_loop
from turnkeeper.cli.places import default_journal, journal_url, missing_file
from turnkeeper.cli.problems import CommandError
from turnkeeper.cli.tables import Column
from turnkeeper.cli.terminal import Terminal
from turnkeeper.cli.transcript import Transcript, lines_of, read_transcript
from turnkeeper.cli.wording import moment
from turnkeeper.journal import MemoryJournal, open_journal

if TYPE_CHECKING:
    from turnkeeper.journal import Journal, Summary

__all__ = ("export", "list_conversations", "opened_journal", "show")


@asynccontextmanager
async def opened_journal(url: str | None) -> AsyncIterator[Journal]:
    """The journal that the option or the settings name, for reading: nothing is made.

    CommandError where a file that was named isn't there; the default one, which the first conversation makes, is empty.
    """
    place = journal_url(url)
    if (path := missing_file(place)) is None:
        journal = await open_journal(place)
    elif path == default_journal():
        journal = MemoryJournal()
    else:
        raise CommandError(f"there is no journal at {path}; the first conversation in it makes it")
    try:
        yield journal
    finally:
        await journal.aclose()


def list_conversations(url: str | None, *, limit: int, output_format: str, color: bool) -> int:
    """A table of conversations, or a JSON list."""
    terminal = Terminal(color=color)

    async def work() -> int:
        async with opened_journal(url) as journal:
            found = await journal.conversations(limit=limit)
        if output_format == "json":
            terminal.answer(json_text([_as_json(one) for one in found], indent=2) + "\n")
        elif not found:
            terminal.note('No conversations yet; `turnkeeper ask "…"` begins one.', "plain")
        else:
            _print_table(terminal, found)
        return Exit.DONE

    return in_loop(work)


def _print_table(terminal: Terminal, found: list[Summary]) -> None:
    columns = [
        Column("id", stretch="cut", least=16),
        Column("changed", rank=2),
        Column("turns", rank=4, right=True),
        Column("status", rank=1),
        Column("who", rank=3),
        Column("title", stretch="cut", least=16),
    ]
    rows = [
        [
            clean_line(one.id),
            moment(one.updated_at),
            str(one.turns),
            clean_line(one.status or "open").replace("_", " "),
            clean_line(f"{one.principal.kind} {one.principal.id}") if one.principal else "",
            clean_line(one.title),
        ]
        for one in found
    ]
    if not any(row[4] for row in rows):
        columns.pop(4)
        rows = [row[:4] + row[5:] for row in rows]
    terminal.table(columns, rows)


def _as_json(one: Summary) -> dict[str, object]:
    who = one.principal
    return {
        "id": one.id,
        "principal": None if who is None else {"kind": who.kind, "id": who.id, "level": who.level},
        "created_at": _iso(one.created_at),
        "updated_at": _iso(one.updated_at),
        "events": one.events,
        "turns": one.turns,
        "status": one.status,
        "title": one.title,
    }


def _iso(at: float) -> str | None:
    try:
        return datetime.datetime.fromtimestamp(at, tz=datetime.UTC).isoformat()
    except (ValueError, OverflowError, OSError):  # no time that there is, in a journal that others wrote
        return None


def show(url: str | None, conversation_id: str, *, output_format: str, color: bool) -> int:
    """The transcript on stdout."""
    terminal = Terminal(color=color)

    async def work() -> int:
        transcript = await _found(url, conversation_id)
        if output_format == "json":
            terminal.answer(as_json(transcript))
            return Exit.DONE
        width = terminal.width if terminal.answers_on_screen else None
        for text, style in lines_of(transcript, width=width):
            terminal.answer(terminal.styled(text, style, colored=terminal.colored_answers) + "\n")
        return Exit.DONE

    return in_loop(work)


def export(
    url: str | None, conversation_id: str, *, file_format: str | None, output: str | None, redact: bool = False
) -> int:
    """The whole conversation, to stdout or to a new file."""
    terminal = Terminal()
    chosen = file_format or ("markdown" if output is not None and output.endswith(".md") else "json")

    async def work() -> int:
        transcript = await _found(url, conversation_id)
        if chosen == "journal":
            if redact:
                raise CommandError(
                    "--redact goes with json and markdown: the journal's lines are whole, or their hashes don't fit",
                    exit_code=Exit.USAGE,
                )
            async with opened_journal(url) as journal:
                text = await journal.export(conversation_id)
        else:
            text = (as_markdown if chosen == "markdown" else as_json)(transcript, redact=redact)
        if output is None or output == "-":
            terminal.answer(text)
        else:
            write_new(Path(output), text)
        return Exit.DONE

    return in_loop(work)


async def _found(url: str | None, conversation_id: str) -> Transcript:
    async with opened_journal(url) as journal:
        transcript = await read_transcript(journal, conversation_id)
    if transcript is None:
        raise CommandError(
            f"there is no conversation {conversation_id!r} in this journal; `turnkeeper list` shows them"
        )
    return transcript
