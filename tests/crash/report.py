"""The matrix as text: tables of points and outcomes, in Markdown, for the terminal and for `docs/crash-matrix.md`."""

from __future__ import annotations

import datetime
import platform
import sqlite3
from collections import Counter
from collections.abc import Iterable, Sequence

from tests.crash.cells import Table
from tests.crash.running import Result
from tests.crash.stage import Backend
from tests.crash.tables import TABLES

__all__ = ("bad_cells", "page", "table_text")

_NOTHING = "–"


def table_text(results: Sequence[Result]) -> str:
    """One table: a row for each point, a column for each kind of call; rows that are alike are drawn together.

    An outcome stands alone where all databases agree.
    """
    columns = list(dict.fromkeys(result.cell.column for result in results))
    backends = list(dict.fromkeys(result.backend for result in results))
    found: dict[tuple[str, str, str], Counter[str]] = {}
    for result in results:
        key = (result.cell.row, result.cell.column, result.backend)
        found.setdefault(key, Counter())[_shown(result)] += 1
    lines = [(row, [_agreed(found, row, column, backends) for column in columns]) for row in _order(results)]
    body = [f"| {label} | {' | '.join(cells)} |" for label, cells in _drawn_together(lines)]
    return "\n".join([f"| killed at | {' | '.join(columns)} |", "|---|" + "---|" * len(columns), *body])


def _shown(result: Result) -> str:
    return f"**{result.outcome}: WRONG**" if result.faults else result.outcome


def _order(results: Sequence[Result]) -> list[str]:
    """The points in the order in which they are passed; what one column alone has stands where it has it."""
    sequences: dict[tuple[str, str], list[str]] = {}
    for result in results:
        sequences.setdefault((result.cell.column, result.backend), []).append(result.cell.row)
    order: list[str] = []
    for rows in sequences.values():
        place = 0
        for row in rows:
            if row in order:
                place = order.index(row) + 1
            else:
                order.insert(place, row)
                place += 1
    return order


def _agreed(found: dict[tuple[str, str, str], Counter[str]], row: str, column: str, backends: Sequence[str]) -> str:
    texts = {backend: _counted(found[row, column, backend]) for backend in backends if (row, column, backend) in found}
    if not texts:
        return _NOTHING
    if len(texts) == len(backends) and len(set(texts.values())) == 1:
        return next(iter(texts.values()))
    return "; ".join(f"{backend}: {text}" for backend, text in texts.items())


def _counted(outcomes: Counter[str]) -> str:
    if len(outcomes) == 1:
        return next(iter(outcomes))
    return "; ".join(f"{count} × {outcome}" for outcome, count in outcomes.most_common())


def _drawn_together(lines: Iterable[tuple[str, list[str]]]) -> list[tuple[str, list[str]]]:
    groups: list[tuple[list[str], list[str]]] = []
    for label, cells in lines:
        if groups and groups[-1][1] == cells:
            groups[-1][0].append(label)
        else:
            groups.append(([label], cells))
    return [(_label(labels), cells) for labels, cells in groups]


def _label(labels: list[str]) -> str:
    if len(labels) == 1:
        return f"`{labels[0]}`"
    return f"`{labels[0]}` to `{labels[-1]}` ({len(labels)} points)"


def bad_cells(results: Iterable[Result]) -> list[str]:
    """Each wrong cell, with what is wrong."""
    return [
        f"{one.table}, {one.backend}, {one.cell.column}, {one.cell.row}: {'; '.join(one.faults)}"
        for one in results
        if one.faults
    ]


def _summary(results: Sequence[Result], backends: Sequence[Backend]) -> str:
    counts = Counter((one.table, one.backend) for one in results)
    wrong = Counter(one.table for one in results if one.faults)
    lines = [f"| table | {' | '.join(backends)} | wrong |", "|---|" + "---:|" * (len(backends) + 1)]
    for title in dict.fromkeys(one.table for one in results):
        numbers = " | ".join(str(counts[title, backend]) for backend in backends)
        lines.append(f"| {title} | {numbers} | {wrong[title]} |")
    sums = " | ".join(str(sum(one.backend == backend for one in results)) for backend in backends)
    lines.append(f"| all | {sums} | {wrong.total()} |")
    return "\n".join(lines)


INTRODUCTION = """\
# The crash matrix

<!-- Written by script/crash-matrix --write; changes made here are lost. -->

A real process holds a conversation with the simulator and is killed with `SIGKILL` at one point. Other processes then
bring the conversation to its end. Every point of every process is a cell of the tables below, on SQLite and on
PostgreSQL: before, inside (everything is written, nothing is committed) and after each operation of the journal; before
and after each effect; before a request, when it is sent, when its answer begins, at each event of its stream and at its
end; at each update that the customer's program sees; before and after each question to the world.

The conversation is a customer's: the first message leads to one call (there is a tool of each [effect](effects.md)) and
an answer, the second to another answer. Effects are lines in a file outside, written and synced by the tool; those of
the `transactional` tool are rows in the journal's database. A cell is right only if all of this holds:

- The effect has happened as often as the cell says. `transactional` and `reconcile`: exactly once. `idempotent`: at
  least once, with one key. `read`: at least once. `once`: never again by itself; where its outcome was unknown, the
  turn ended `awaiting_resolution`, a person looked whether it had happened and said so truthfully, and it went on: so
  exactly once, too.
- The conversation ends `completed` and is, byte for byte but for the ids of calls, that of a run which nothing
  disturbed: each of the customer's messages is there once, each call has its one result.
- The simulator has refused no request, and the hashes of the journal fit.
- A worker found the turn where one was open; the world was asked where a `reconcile` call was in doubt, a person where
  a `once` call was, and nowhere else.

The number in a cell is how often the effect has happened in the end. Points that are alike are drawn together; a dash
stands where a kind of call has no such point. An outcome stands once where both databases agree.
"""


def page(results: Sequence[Result], postgres: str) -> str:
    """The whole page."""
    backends = list(dict.fromkeys(one.backend for one in results))
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    parts = [
        INTRODUCTION,
        f"Run on {today}: Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}, {postgres}, "
        f"{platform.system()}.",
        _summary(results, backends),
    ]
    parts += [_section(table, [one for one in results if one.table == table.title]) for table in TABLES]
    return "\n\n".join(part.strip() for part in parts if part) + "\n"


def _section(table: Table, results: Sequence[Result]) -> str:
    if not results:
        return ""
    return f"## {table.title}\n\n{table.text}\n\n{table_text(results)}"
