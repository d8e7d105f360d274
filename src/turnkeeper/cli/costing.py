"""The work of `cost`: the journal's spending as tables or JSON."""

from __future__ import annotations

import typing
from collections.abc import AsyncIterator
from fractions import Fraction
from typing import TYPE_CHECKING, Any, cast

from turnkeeper.cli.escapes import clean_line, json_text
from turnkeeper.cli.exits import Exit
from turnkeeper.cli.interrupts import in_loop
from turnkeeper.cli.looking import opened_journal
from turnkeeper.cli.problems import CommandError
from turnkeeper.cli.tables import Column
from turnkeeper.cli.terminal import Terminal
from turnkeeper.cli.wording import money, thousands
from turnkeeper.driver.spending import By, Entry, Total, spending, totals
from turnkeeper.errors import JournalError

if TYPE_CHECKING:
    from turnkeeper.journal import Journal

__all__ = ("show_cost",)

_TABLES: tuple[By, ...] = ("day", "model", "tool", "conversation")
_PAGE = 200


def show_cost(
    url: str | None,
    conversation_id: str | None,
    *,
    by: str | None,
    since: str | None,
    limit: int,
    output_format: str,
    color: bool,
) -> int:
    """Tables on stdout, or one JSON object."""
    terminal = Terminal(color=color)
    wanted = _TABLES if by is None else (cast("By", by),)
    assert by is None or by in typing.get_args(By)

    async def work() -> int:
        async with opened_journal(url) as journal:
            entries = [one async for one in _entries(journal, conversation_id, terminal)]
        entries = [one for one in entries if since is None or one.day >= since]
        if output_format == "json":
            terminal.answer(json_text(_as_json(entries, wanted), indent=2) + "\n")
            return Exit.DONE
        if not entries:
            terminal.note("Nothing has been spent.", "plain")
            return Exit.DONE
        for number, kind in enumerate(wanted):
            if number:
                terminal.answer("\n")
            _print(terminal, kind, totals(entries, kind), limit)
        whole = _whole(entries)
        terminal.answer(f"\n{_money(whole)} in all, {thousands(int(whole.requests))} requests\n")
        return Exit.DONE

    return in_loop(work)


async def _entries(journal: Journal, conversation_id: str | None, terminal: Terminal) -> AsyncIterator[Entry]:
    if conversation_id is not None:
        events = await journal.read(conversation_id)
        if not events:
            raise CommandError(
                f"there is no conversation {conversation_id!r} in this journal; `turnkeeper list` shows them"
            )
        for entry in spending(conversation_id, events):
            yield entry
        return
    offset = 0
    while found := await journal.conversations(limit=_PAGE, offset=offset):
        for one in found:
            try:
                events = await journal.read(one.id)
            except JournalError as error:
                terminal.note(f"turnkeeper: {clean_line(one.id)} is left out: {clean_line(str(error))}")
                continue
            for entry in spending(one.id, events):
                yield entry
        offset += _PAGE


def _whole(entries: list[Entry]) -> Total:
    whole = Total(name="")
    for entry in entries:
        whole.add(entry)
    return whole


def _print(terminal: Terminal, kind: str, rows: list[Total], limit: int) -> None:
    shown = rows[-limit:] if kind == "day" else rows[:limit]
    columns = [
        Column(kind, stretch="cut", least=16),
        Column("requests", rank=1, right=True),
        Column("in", rank=2, right=True),
        Column("written", rank=3, right=True),
        Column("cached", rank=3, right=True),
        Column("out", rank=2, right=True),
        Column("cost", right=True),
    ]
    terminal.table(columns, [_row(one) for one in shown])
    if len(shown) < len(rows):
        terminal.note(f"and {len(rows) - len(shown)} more; -n {len(rows)} shows all")


def _row(one: Total) -> list[str]:
    tokens = one.tokens
    written = tokens["cache_write_5m_input_tokens"] + tokens["cache_write_1h_input_tokens"]
    parts = (one.requests, tokens["input_tokens"], written, tokens["cache_read_input_tokens"], tokens["output_tokens"])
    return [clean_line(one.name), *(thousands(round(number)) for number in parts), _money(one)]


def _money(one: Total) -> str:
    if one.priced:
        return money(one.usd)
    return f"{money(one.usd)} and what has no known price" if one.cost else money(None)


def _as_json(entries: list[Entry], wanted: tuple[By, ...]) -> dict[str, Any]:
    return {"total": _object(_whole(entries), name=None)} | {
        f"{kind}s": [_object(one, name=kind) for one in totals(entries, kind)] for kind in wanted
    }


def _object(one: Total, *, name: str | None) -> dict[str, Any]:
    named: dict[str, Any] = {} if name is None else {name: one.name}
    numbers = {key: _number(value) for key, value in one.tokens.items()}
    return named | {
        "requests": _number(one.requests),
        **numbers,
        "cost": f"{one.usd.normalize():f}",
        "priced": one.priced,
    }


def _number(value: Fraction) -> int | float:
    return int(value) if value.denominator == 1 else round(float(value), 3)
