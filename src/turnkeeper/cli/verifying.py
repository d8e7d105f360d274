"""The work of `verify`: saved messages before the simulator's rules."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from turnkeeper.cli.escapes import clean, clean_line, json_text
from turnkeeper.cli.exits import Exit
from turnkeeper.cli.interrupts import in_loop
from turnkeeper.cli.looking import opened_journal
from turnkeeper.cli.problems import CommandError
from turnkeeper.cli.terminal import Terminal
from turnkeeper.cli.transcript import transcript_of
from turnkeeper.core.events import Event
from turnkeeper.core.machine import Phase, replay
from turnkeeper.journal import Problem
from turnkeeper.journal.carrying import whole_export
from turnkeeper.simulator.rules import Fault, verify_messages
from turnkeeper.types import Message

__all__ = ("verify",)

_EXPORT = b'{"turnkeeper_export":'


def verify(what: str, *, model: str | None, journal: str | None, output_format: str, color: bool) -> int:
    """Print every fault; 0 if there is none, else 1. CommandError with exit code 2 for what can't be read."""
    terminal = Terminal(color=color)
    problems: list[Problem] = []
    if what == "-":
        value = _parsed(sys.stdin.buffer.read(), "stdin")
    elif Path(what).is_file() or (_looks_like_a_path(what) and "/" not in what):
        value = _parsed(_read(Path(what)), what)
    else:

        async def look() -> int:
            nonlocal value, problems
            try:
                value, problems = await _conversation(what, journal)
            except CommandError:
                if not _looks_like_a_path(what):
                    raise
                value = _parsed(_read(Path(what)), what)  # no conversation: say what is wrong with the file
            return Exit.DONE

        value = None
        code = in_loop(look)
        if code:
            return code
    faults = verify_messages(value, model=model)
    if output_format == "json":
        report = {
            "ok": not faults and not problems,
            "faults": [_as_json(fault) for fault in faults],
            "problems": [{"seq": one.seq, "kind": one.kind, "message": one.message} for one in problems],
        }
        terminal.answer(json_text(report, indent=2) + "\n")
    else:
        _print(terminal, faults, problems)
    return Exit.ERROR if faults or problems else Exit.DONE


def _print(terminal: Terminal, faults: list[Fault], problems: list[Problem]) -> None:
    def say(text: str, style: Any = "plain") -> None:
        terminal.answer(terminal.styled(text, style, colored=terminal.colored_answers) + "\n")

    for one in problems:
        say(f"journal: {clean_line(one.message)}", "red")
    for fault in faults:
        path, message = clean_line(fault.path), clean_line(fault.message)
        say(message if not path or message.startswith(path) else f"{path}: {message}", "red")
        say(f"    {fault.status} {fault.error_type}, rule {fault.rule}", "dim")
        say(f"    to repair: {clean(fault.repair)}")
    count = len(faults) + len(problems)
    say("no faults" if not count else f"{count} fault{'' if count == 1 else 's'}", "green" if not count else "bold")


def _as_json(fault: Fault) -> dict[str, Any]:
    return {
        "rule": fault.rule,
        "path": fault.path,
        "status": fault.status,
        "type": fault.error_type,
        "message": fault.message,
        "repair": fault.repair,
        "details": fault.details,
    }


def _looks_like_a_path(what: str) -> bool:
    return "/" in what or "\\" in what or Path(what).suffix in (".json", ".jsonl", ".txt") or Path(what).exists()


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise CommandError(f"{path} can't be read: {error.strerror}", exit_code=Exit.USAGE) from None


def _parsed(raw: bytes, name: str) -> Any:
    """The list of messages, or the object that has one, or the messages of a journal's export."""
    if raw.startswith(_EXPORT):
        # changed or cut off, it is refused with the line that shows it
        carried = whole_export(raw.decode("utf-8", "replace"))
        return _sent_so_far(transcript_of(carried.conversation_id, carried.events).messages, carried.events)
    try:
        value = json.loads(raw.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise CommandError(f"{name} is not UTF-8 text (at byte {error.start})", exit_code=Exit.USAGE) from None
    except json.JSONDecodeError as error:
        raise CommandError(
            f"{name}:{error.lineno}:{error.colno}: not JSON: {error.msg}", exit_code=Exit.USAGE
        ) from None
    except RecursionError:
        raise CommandError(f"{name}: nested too deeply to be read", exit_code=Exit.USAGE) from None
    if isinstance(value, list):
        return value
    if isinstance(value, dict) and isinstance(value.get("messages"), list):
        # of an export only the messages are meant; anything else is a request
        return value["messages"] if "started_at" in value and "turns" in value else value
    raise CommandError(
        f"{name}: expected a list of messages, or an object with one under 'messages'", exit_code=Exit.USAGE
    )


async def _conversation(conversation_id: str, url: str | None) -> tuple[Any, list[Problem]]:
    async with opened_journal(url) as journal:
        if not await _exists(journal, conversation_id):
            raise CommandError(
                f"{conversation_id!r} is neither a file nor a conversation of this journal", exit_code=Exit.USAGE
            )
        problems = await journal.verify(conversation_id)
        if problems:
            return [], problems
        events = await journal.read(conversation_id)
    return _sent_so_far(transcript_of(conversation_id, events).messages, events), problems


def _sent_so_far(messages: list[Message], events: Sequence[Event]) -> list[Message]:
    """The messages without the calls of a turn that is still open: they are sent once each has its result."""
    last = messages[-1] if messages else {}
    calls = last.get("role") == "assistant" and isinstance(last["content"], list)
    if calls and replay(events).phase is not Phase.IDLE and any(b.get("type") == "tool_use" for b in last["content"]):
        return messages[:-1]
    return messages


async def _exists(journal: Any, conversation_id: str) -> bool:
    from turnkeeper.journal.errors import JournalDamagedError  # noqa: PLC0415 - an error to look for

    try:
        return bool(await journal.read(conversation_id))
    except JournalDamagedError:
        return True
