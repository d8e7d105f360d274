"""Tables as CSV that a spreadsheet opens as what they are: text stays text, whatever it begins with."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence

__all__ = ("csv_bytes",)

_BEGINS_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def csv_bytes(head: Sequence[str], rows: Iterable[Sequence[str | int | float | None]]) -> bytes:
    """The table by RFC 4180 (CRLF, quotes doubled), in UTF-8 behind a byte order mark.

    The mark is there because Excel reads a file without one in the machine's old code page, and names in it come out
    wrong; other programs skip it. A text that a spreadsheet would take for a formula gets an apostrophe in front.
    """
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow(head)
    writer.writerows([_cell(value) for value in row] for row in rows)
    return b"\xef\xbb\xbf" + text.getvalue().encode("utf-8", "replace")


def _cell(value: str | float | None) -> str | int | float:
    if value is None:
        return ""
    if isinstance(value, str) and value.startswith(_BEGINS_FORMULA):
        return "'" + value
    return value
