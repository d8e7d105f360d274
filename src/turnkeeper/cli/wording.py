"""The terminal's short forms: a call as one line, an amount, a time, what an end of a turn means."""

from __future__ import annotations

import datetime
import shlex
from collections.abc import Iterable
from decimal import Decimal
from typing import Any

from turnkeeper.cli.escapes import clean_line, json_text
from turnkeeper.types import TurnStatus, Usage

__all__ = (
    "call_line",
    "content_text",
    "explain",
    "how_to_decide",
    "journal_option",
    "moment",
    "money",
    "seconds",
    "spent",
    "thousands",
    "way_on",
)

WIDEST_OFF_SCREEN = 200
"""Cells of a call's line where there is no screen whose width counts."""

_OUTCOMES = {"succeeded": "ok", "timed_out": "timed out", "outcome_unknown": "outcome unknown"}
_LIMITS = {
    "requests": "the limit on requests; --max-requests raises it",
    "usd": "the budget; --budget raises it",
    "conversation_usd": "the conversation's budget; --conversation-budget raises it",
    "usd_per_day": "the budget of the day; --day-budget raises it",
    "context_window": "the model's window: the message is too long, or the conversation is",
    "principal_usd_per_day": "this person's budget of the day",
    "pause_turn": "the limit on rounds of the API's own tools",
}
_CUTS = {
    "max_tokens": "its answer was cut off at the limit on its length; --max-tokens raises it",
    "model_context_window_exceeded": "the model's window is full; begin a new conversation",
}


def call_line(name: str, arguments: Any, outcome: str, taken: float | None, *, width: int | None = None) -> str:
    """`· name(arguments) 0.2 s ok`; the arguments are cut so that duration and outcome stay in sight."""
    from rich.cells import cell_len, set_cell_size  # noqa: PLC0415 - loads when it is used

    word = _OUTCOMES.get(outcome) or clean_line(outcome)
    end = " ".join(part for part in ("" if taken is None else seconds(taken), word) if part)
    room = (width or WIDEST_OFF_SCREEN) - 1
    inside = _arguments(arguments)
    line = f"  · {_shown(name)}({inside}) {end}"
    over = cell_len(line) - room
    if over > 0:
        keep = max(cell_len(inside) - over - 1, 0)
        line = f"  · {_shown(name)}({set_cell_size(inside, keep).rstrip()}…) {end}"
    if cell_len(line) > room:  # a very small screen, or a very long name
        line = set_cell_size(line, room - 1).rstrip() + "…"
    return line


def _shown(text: object) -> str:
    return clean_line(str(text)) or "?"


def _arguments(value: Any) -> str:
    """`city="Berlin", days=3`; characters that could mislead the reader are shown as escapes."""
    if not isinstance(value, dict):
        return "" if value is None else json_text(value)
    return clean_line(", ".join(f"{json_text(str(key))[1:-1]}={json_text(one)}" for key, one in value.items()))


def content_text(content: Any) -> str:
    """A result's content as text: its text blocks, and a word for each other block."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return "" if content is None else json_text(content)
    parts = []
    for block in content:
        if isinstance(block, dict) and isinstance(block.get("text"), str):
            parts.append(block["text"])
        else:
            kind = block.get("type", "?") if isinstance(block, dict) else "?"
            parts.append(f"[{kind}]")
    return "\n".join(parts)


def seconds(taken: float) -> str:
    """A duration: `12 ms`, `1.5 s`, `2 min 05 s`."""
    if taken < 0.0995:
        return f"{taken * 1000:.0f} ms"
    if taken < 59.95:
        return f"{taken:.1f} s"
    minutes, rest = divmod(round(taken), 60)
    return f"{minutes} min {rest:02} s"


def money(usd: Decimal | None) -> str:
    """An amount in USD, with as many places as small amounts need."""
    if usd is None:
        return "no known price"
    return f"${usd:.2f}" if usd >= 1 or usd == 0 else f"${usd:.4f}"


def thousands(number: int | None) -> str:
    """A number of tokens with separators; an unknown one as a dash."""
    return "–" if number is None else f"{number:,}"


def spent(usage: Usage, cost: Decimal | None) -> str:
    """What a turn or a conversation used."""
    cached = f" + {thousands(usage.cache_read_input_tokens)} cached" if usage.cache_read_input_tokens else ""
    count = usage.requests
    return (
        f"{count} request{'' if count == 1 else 's'},"
        f" {thousands(usage.input_tokens + usage.cache_creation_input_tokens)}{cached} tokens in,"
        f" {thousands(usage.output_tokens)} out, {money(cost)}"
    )


def moment(at: float) -> str:
    """A time of the journal, in this machine's zone."""
    try:
        return datetime.datetime.fromtimestamp(at, tz=datetime.UTC).astimezone().strftime("%Y-%m-%d %H:%M")
    except (ValueError, OverflowError, OSError):  # a journal that others wrote may hold any number
        return "at no time"


def way_on(
    conversation_id: str,
    principal_kind: str | None,
    *,
    journal: str | None = None,
    tools: Iterable[str] = (),
    database: str | None = None,
) -> str:
    """How the last turn of a conversation is taken up again, by whose conversation it is: a command to be copied.

    `journal`, `tools` and the desk's `database` are what was named on the command line.
    """
    name = shlex.quote(clean_line(conversation_id))
    if principal_kind == "staff":
        where = "" if database is None else f" --database {shlex.quote(_without_password(database))}"
        return f"`turnkeeper desk --as staff --conversation {name}{where}` and then /resume"
    options = "".join(f" -T {shlex.quote(clean_line(one))}" for one in tools)
    return f"`turnkeeper resume {name}{options}{journal_option(journal)}`"


def journal_option(journal: str | None) -> str:
    """` --journal URL` as it is typed, with a blank before it; nothing for the default journal, and for memory.

    A password is left out: it comes from where the database's client looks for it.
    """
    if journal is None or journal == "memory:":
        return ""
    return f" --journal {shlex.quote(_without_password(journal))}"


def how_to_decide(approval_id: str, journal: str | None) -> str:
    """How a call that waits is decided; `journal` is the URL that was named, None for the default one."""
    command = f"turnkeeper approvals approve {shlex.quote(clean_line(approval_id))}{journal_option(journal)}"
    return f"`{command}` lets it run, `deny` in place of `approve` refuses it"


def _without_password(journal: str) -> str:
    import sqlalchemy as sa  # noqa: PLC0415 - loads when it is used

    from turnkeeper.journal.urls import shown  # noqa: PLC0415

    url = sa.make_url(journal)
    plain = f"sqlite:///{url.database}"  # as people write it; `shown` escapes what is not ASCII
    if url.get_backend_name() == "sqlite" and sa.make_url(plain) == url:
        return plain
    return shown(sa.URL.create(url.drivername, url.username, None, url.host, url.port, url.database, url.query))


def explain(status: str, reason: str, resume: str) -> str | None:
    """What a person should know of a turn that did not complete, and what can be done; None for one that did.

    `resume` is what `way_on` gives. A journal that others wrote may hold a status that there is not.
    """
    if status not in set(TurnStatus):
        reason = f"it ended as {status!r}, which this version does not know"
    if status == TurnStatus.COMPLETED:
        return {"empty_reply": "the model had nothing to say"}.get(reason)
    if status == TurnStatus.LIMIT_REACHED:
        return f"the turn met {_LIMITS.get(reason, f'the limit on {reason}')}; {resume} goes on"
    if status == TurnStatus.TRUNCATED:
        return f"the turn is incomplete: {_CUTS.get(reason, reason)}"
    if status == TurnStatus.REFUSED:
        return "the model refused; its partial answer is not kept. Say it otherwise, or begin a new conversation"
    if status == TurnStatus.CANCELLED:
        return "cancelled; every call has its result, and the conversation can go on"
    if status == TurnStatus.AWAITING_APPROVAL:
        return f"a call waits for somebody's approval; then {resume}"
    if status == TurnStatus.AWAITING_RESOLUTION:
        return f"somebody must say how a call ended; then {resume}"
    return f"the turn failed{f' ({reason})' if reason else ''}; {resume} tries again"
