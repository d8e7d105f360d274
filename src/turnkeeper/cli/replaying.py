"""The work of `replay` and `fork`."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from turnkeeper.cli.escapes import clean, clean_line, json_text
from turnkeeper.cli.exits import Exit
from turnkeeper.cli.interrupts import in_loop
from turnkeeper.cli.looking import opened_journal
from turnkeeper.cli.problems import CommandError
from turnkeeper.cli.tables import Column
from turnkeeper.cli.terminal import Terminal
from turnkeeper.cli.toolbox import load_tools
from turnkeeper.cli.wording import content_text, moment
from turnkeeper.core.events import CallFinished, CallStarted, Event, ReplyReceived, TurnEnded, TurnStarted
from turnkeeper.driver.forking import fork
from turnkeeper.journal.carrying import whole_export
from turnkeeper.testing.replaying import Replay, recorded_agent, replay
from turnkeeper.wire.blocks import text_of
from turnkeeper.wire.json import decode

__all__ = ("fork_conversation", "replay_conversation")


def replay_conversation(  # noqa: PLR0913 - one for each option
    what: str,
    *,
    system: str | None,
    tools: Sequence[str],
    model: str | None,
    run: Sequence[str],
    setup: bool,
    journal: str | None,
    output_format: str,
    color: bool,
) -> int:
    """Replay and say where it differs."""
    terminal = Terminal(color=color)
    if run and not tools:
        raise CommandError("--run needs the tools: name them with -T", exit_code=Exit.USAGE)
    options: dict[str, Any] = {"system": system, "model": model, "tools": load_tools(tools) if tools else None}
    given = {name: value for name, value in options.items() if value is not None}

    path = Path(what)
    is_file = path.suffix == ".jsonl" or path.is_file()

    async def work() -> int:
        name, events = _exported(path) if is_file else await _kept(what, journal)
        agent = recorded_agent(events, api_key="none", **given)
        found = await replay(name, events, agent, run=run, setup=setup)
        _tell(terminal, found, output_format)
        return Exit.DONE if found.divergence is None else Exit.ERROR

    return in_loop(work)


def _exported(path: Path) -> tuple[str, Sequence[Event]]:
    try:
        carried = whole_export(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(f"{path} can't be read: {error}") from error
    return carried.conversation_id, carried.events


async def _kept(what: str, url: str | None) -> tuple[str, Sequence[Event]]:
    async with opened_journal(url) as journal:
        events = await journal.read(what)
    if not events:
        raise CommandError(f"there is no conversation {what!r} in this journal; `turnkeeper list` shows them")
    return what, events


def _tell(terminal: Terminal, found: Replay, output_format: str) -> None:
    differs = found.divergence
    if output_format == "json":
        where = None if differs is None else {"turn": differs.turn, "seq": differs.seq, "what": differs.what}
        value = {"conversation": found.conversation_id, "turns": found.turns, "divergence": where}
        if where is not None and differs is not None:
            where["diff"] = differs.diff
        terminal.answer(json_text(value, indent=2) + "\n")
    elif differs is None:
        terminal.answer(f"{found.turns} turn{'' if found.turns == 1 else 's'} replayed, nothing differs\n")
    else:
        terminal.answer(clean(str(differs)) + "\n")


def fork_conversation(
    conversation_id: str, *, seq: int | None, new_id: str | None, journal: str | None, color: bool
) -> int:
    """Fork, or list what can be forked from."""
    terminal = Terminal(color=color)

    async def work() -> int:
        async with opened_journal(journal) as opened:
            if seq is None:
                events = await opened.read(conversation_id)
                if not events:
                    raise CommandError(
                        f"there is no conversation {conversation_id!r} in this journal; `turnkeeper list` shows them"
                    )
                rows = [[str(number), moment(one.at), one.type, _about(one)] for number, one in enumerate(events, 1)]
                columns = [Column("seq", right=True), Column("at", rank=1), Column("event"), Column("", stretch="cut")]
                terminal.table(columns, rows)
                terminal.note(
                    f"`turnkeeper fork {conversation_id} --at SEQ` begins a new conversation with these up to SEQ"
                )
                return Exit.USAGE
            name = await fork(opened, conversation_id, seq, new_id=new_id, now=time.time())
        terminal.answer(name + "\n")
        return Exit.DONE

    return in_loop(work)


def _about(event: Event) -> str:
    """A few words of what an event holds."""
    if isinstance(event, TurnStarted):
        text = content_text(decode(event.content)) if event.content is not None else ""
    elif isinstance(event, ReplyReceived):
        text = text_of([decode(raw) for raw in event.blocks])
    elif isinstance(event, CallFinished):
        text = content_text(decode(event.content))
    elif isinstance(event, CallStarted):
        text = event.tool
    else:
        text = event.status if isinstance(event, TurnEnded) else ""
    return clean_line(text[:200])
