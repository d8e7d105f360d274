"""Tables that fit the screen: columns that have no room are left out, numbers are never cut."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Literal

from rich.cells import cell_len, chop_cells, set_cell_size

__all__ = ("Column", "draw")

_GAP = 2
_BOLD, _PLAIN = "\x1b[1m", "\x1b[0m"


@dataclass(frozen=True, slots=True)
class Column:
    """One column. `rank` 0 is always shown, the highest rank is the first to be left out.

    A column of `stretch` may be narrower than its cells, down to `least`: `cut` ends them with an ellipsis, `wrap` goes
    on below.
    """

    heading: str
    rank: int = 0
    right: bool = False
    stretch: Literal["cut", "wrap"] | None = None
    least: int = 12


def draw(columns: Sequence[Column], rows: Sequence[Sequence[str]], *, width: int | None, colored: bool) -> str:
    """The table as lines of text, with a bold heading if `colored`. Cells are safe to print; `width` None: no limit."""
    natural = [max(map(cell_len, [one.heading, *(row[at] for row in rows)])) for at, one in enumerate(columns)]
    shown = list(range(len(columns)))
    widths = dict(enumerate(natural))
    if width is not None:
        shown = _shown(columns, natural, width)
        widths = _shared(columns, natural, shown, width)
    lines = [_line([one.heading for one in columns], columns, shown, widths)]
    if colored:
        lines = [f"{_BOLD}{lines[0]}{_PLAIN}"]
    for row in rows:
        parts = {at: _fitted(row[at], columns[at], widths[at]) for at in shown}
        for below in zip_longest(*(parts[at] for at in shown), fillvalue=""):
            cells = dict(zip(shown, below, strict=True))
            lines.append(_line([cells.get(at, "") for at in range(len(columns))], columns, shown, widths))
    return "\n".join(lines) + "\n"


def _line(cells: Sequence[str], columns: Sequence[Column], shown: Sequence[int], widths: dict[int, int]) -> str:
    placed = []
    for at in shown:
        space = " " * (widths[at] - cell_len(cells[at]))
        placed.append(space + cells[at] if columns[at].right else cells[at] + space)
    return (" " * _GAP).join(placed).rstrip()


def _least(column: Column, natural: int) -> int:
    return min(natural, column.least) if column.stretch else natural


def _shown(columns: Sequence[Column], natural: Sequence[int], room: int) -> list[int]:
    """The places of the columns that there is room for."""
    shown = list(range(len(columns)))
    while sum(_least(columns[at], natural[at]) + _GAP for at in shown) - _GAP > room:
        last = max(shown, key=lambda at: (columns[at].rank, at))
        if columns[last].rank == 0:
            break
        shown.remove(last)
    return shown


def _shared(columns: Sequence[Column], natural: Sequence[int], shown: Sequence[int], room: int) -> dict[int, int]:
    """A width for each column: what all have at least, then the rest to those that stretch, the first one first."""
    widths = {at: _least(columns[at], natural[at]) for at in shown}
    left = room - sum(widths.values()) - _GAP * (len(shown) - 1)
    for at in shown:
        more = max(min(natural[at] - widths[at], left), 0)
        widths[at] += more
        left -= more
    return widths


def _fitted(text: str, column: Column, width: int) -> list[str]:
    """The cell's lines in this width."""
    if cell_len(text) <= width:
        return [text]
    if column.stretch == "wrap":
        return _wrapped(text, width)
    return [set_cell_size(text, width - 1).rstrip() + "…"]


def _wrapped(text: str, width: int) -> list[str]:
    lines = [""]
    for word in text.split(" "):
        for piece in chop_cells(word, width):
            joined = f"{lines[-1]} {piece}" if lines[-1] else piece
            if cell_len(joined) <= width:
                lines[-1] = joined
            else:
                lines.append(piece)
    return lines
