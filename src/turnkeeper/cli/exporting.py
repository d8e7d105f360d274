"""A conversation as a file: JSON for programs, Markdown for people."""

from __future__ import annotations

import datetime
import os
from pathlib import Path
from typing import Any

from turnkeeper.cli.escapes import clean, clean_line, json_text
from turnkeeper.cli.problems import CommandError
from turnkeeper.cli.transcript import Transcript
from turnkeeper.cli.wording import content_text, moment, spent
from turnkeeper.redaction import redacted, redacted_value

__all__ = ("as_json", "as_markdown", "write_new")


def as_json(transcript: Transcript, *, redact: bool = False) -> str:
    """One object. `messages` is the conversation in the API's own format; `turnkeeper verify` reads it.

    `redact` takes card numbers, e-mail addresses and phone numbers out.
    """
    usage = transcript.usage
    value: dict[str, Any] = {
        "id": transcript.id,
        "started_at": datetime.datetime.fromtimestamp(transcript.started_at, tz=datetime.UTC).isoformat(),
        "principal": transcript.principal,
        "turns": transcript.turns,
        "status": transcript.status,
        "reason": transcript.reason,
        "model": transcript.model or None,
        "usage": {name: getattr(usage, name) for name in type(usage).__dataclass_fields__},
        "cost": None if transcript.cost is None else str(transcript.cost),
        "messages": transcript.messages,
    }
    return json_text(redacted_value(value) if redact else value, indent=2) + "\n"


def as_markdown(transcript: Transcript, *, redact: bool = False) -> str:
    """Headings for who speaks, what they say as a quotation, a block of code for each call. `redact` as above.

    What is said stands in quotations as a whole: no heading, call or rule in it passes for one of the conversation's.
    """
    parts = [
        f"# Conversation {clean_line(transcript.id)}",
        f"{moment(transcript.started_at)}, {transcript.turns} turn{'' if transcript.turns == 1 else 's'}",
    ]
    said_last = ""
    for entry in transcript.entries:
        speaker = "User" if entry.kind == "user" else "Assistant"
        if entry.kind == "note":
            parts.append(f"*{clean_line(entry.text)}*")
            continue
        if speaker != said_last:
            parts.append(f"## {speaker}")
            said_last = speaker
        if entry.call is None:
            parts.append(_quoted(clean(entry.text).strip("\n")))
            continue
        call = entry.call
        result = clean(content_text(call.content))
        parts += [
            f"Call of `{clean_line(call.name).replace('`', '´')}`: {clean_line(call.outcome or 'no result yet')}",
            _code(json_text(call.input, indent=2), "json"),
        ]
        if result.strip():
            parts.append(_code(result))
    parts.append(f"---\n\n{spent(transcript.usage, transcript.cost)}")
    text = "\n\n".join(parts) + "\n"
    return redacted(text) if redact else text


def _quoted(text: str) -> str:
    return "\n".join(f"> {line}".rstrip() for line in text.split("\n"))


def _code(text: str, language: str = "") -> str:
    """A fence longer than any inside."""
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}{language}\n{text}\n{fence}"


def write_new(path: Path, text: str) -> None:
    """Write a file that isn't there yet, readable for its owner only. CommandError if it is, or can't be written."""
    try:
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise CommandError(f"{path} is there already; name another file") from None
    except OSError as error:
        raise CommandError(f"{path} can't be written: {error.strerror}") from None
