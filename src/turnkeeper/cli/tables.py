"""Tables that fit the screen: columns that have no room are left out, numbers are never cut."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

__all__ = ("Column", "draw")

UNLIMITED = 100_000
"""Cells of a line where there is no screen to fit."""
_GAP = 2


@dataclass(frozen=True, slots=True)
class Column:
    """One column. `rank` 0 is always shown, the highest rank is the first to be left out.

    A column of `stretch` takes the room that is left: `cut` ends it with an ellipsis, `wrap` goes on below.
    """

    heading: str
    rank: int = 0
    right: bool = False
    stretch: str | None = None
    least: int = 12


def draw(columns: Sequence[Column], rows: Sequence[Sequence[str]], *, width: int | None, colored: bool) -> str:
    """The table as lines of text, with a bold heading if `colored`. Cells are safe to print; `width` None: no limit."""
    room = UNLIMITED if width is None else width
    natural = [max(map(cell_len, [one.heading, *(row[at] for row in rows)])) for at, one in enumerate(columns)]
    shown = _shown(columns, natural, room)
    table = Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0), header_style="bold")
    for at in shown:
        column = columns[at]
        least = min(natural[at], column.least) if column.stretch else natural[at]
        table.add_column(
            column.heading,
            justify="right" if column.right else "left",
            no_wrap=column.stretch != "wrap",
            overflow="fold" if column.stretch == "wrap" else "ellipsis",
            min_width=min(least, room),
        )
    for row in rows:
        table.add_row(*(Text(row[at]) for at in shown))
    drawn = io.StringIO()
    console = Console(
        file=drawn,
        width=room,
        force_terminal=colored,
        no_color=not colored,
        color_system="standard" if colored else None,
        highlight=False,
        markup=False,
        emoji=False,
        legacy_windows=False,
    )
    console.print(table)
    return "\n".join(line.rstrip() for line in drawn.getvalue().splitlines()) + "\n"


def _shown(columns: Sequence[Column], natural: Sequence[int], room: int) -> list[int]:
    """The places of the columns that there is room for."""
    shown = list(range(len(columns)))
    while len(shown) > 1:
        needed = sum(
            (min(natural[at], columns[at].least) if columns[at].stretch else natural[at]) + _GAP for at in shown
        )
        last = max(shown, key=lambda at: (columns[at].rank, at))
        if needed - _GAP <= room or columns[last].rank == 0:
            break
        shown.remove(last)
    return shown
