"""Text of models and tools made safe to print: no escape sequences, no control characters, no hidden direction.

Terminals obey what is printed: a sequence can recolour the screen, set the window's title, fill the clipboard (OSC 52),
or show one address and open another (OSC 8). Sequences are removed whole; what is left of a broken one is shown as the
plain text it is. Bidirectional overrides and isolates go too, for they show text in an order it doesn't have, and so do
invisible characters; the joiners that scripts and emoji need stay.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any

__all__ = ("Cleaner", "clean", "clean_line", "json_text")

LONGEST_STRING = 4_096
"""Characters of an OSC, DCS, PM, APC or SOS sequence that are waited for; a longer one isn't taken for a sequence."""
LONGEST_CONTROL = 64
"""Parameter and intermediate characters of a CSI or short escape sequence."""

_CSI = rf"(?:\x1b\[|\x9b)[\x20-\x3f]{{0,{LONGEST_CONTROL}}}[\x40-\x7e]"
_STRING_START = rf"(?:\x1b[\]PX^_]|[\x90\x98\x9d\x9e\x9f])[^\x07\x1b\x80-\x9f\r\n\u2028\u2029]{{0,{LONGEST_STRING}}}"
_STRING = rf"{_STRING_START}(?:\x07|\x1b\\|\x9c)"
_SHORT = rf"\x1b[\x20-\x2f]{{0,{LONGEST_CONTROL}}}[\x30-\x4f\x51-\x57\x59\x5a\x5c\x60-\x7e]"
_SEQUENCE = re.compile(f"{_CSI}|{_STRING}|{_SHORT}")
# the same, broken off by the end of what has arrived
_UNFINISHED = re.compile(
    rf"(?:\r|(?:\x1b\[|\x9b)[\x20-\x3f]{{0,{LONGEST_CONTROL}}}"
    rf"|{_STRING_START}\x1b?"
    rf"|\x1b[\x20-\x2f]{{0,{LONGEST_CONTROL}}}|[\ud800-\udbff])\Z"
)
_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")
_LINE_END = re.compile("\r\n|[\r\u2028\u2029\x85]")
_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"  # C0 but tab and line feed, DEL, C1
    "\u202a-\u202e\u2066-\u2069"  # bidirectional embeddings, overrides, isolates
    "\u061c\u200e\u200f"  # marks of direction
    "\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180e\u200b\u2060-\u2064\u206a-\u206f\u3164\ufeff\uffa0"  # nothing to see
    "\ufff0-\ufffb\U0001d173-\U0001d17a"  # interlinear annotation, beams of musical notes
    "\U000e0000-\U000e0fff]"  # tags and further variation selectors: text that nobody sees
)
_LONE = re.compile("[\ud800-\udfff]")


def clean(text: str) -> str:
    """The text without what a terminal would obey; line ends become line feeds, lone surrogates U+FFFD."""
    if text.isascii() and text.isprintable():
        return text
    text = _LINE_END.sub("\n", _PAIR.sub(_joined, text))
    text = _UNSAFE.sub("", _SEQUENCE.sub("", text))
    return _LONE.sub("\ufffd", text)


def clean_line(text: str) -> str:
    """The same on one line: white space of any kind becomes single spaces."""
    return " ".join(clean(text).split())


class Cleaner:
    """`clean` for text that arrives in pieces: any cut gives what the whole text would give."""

    def __init__(self) -> None:
        self._held = ""

    def feed(self, piece: str) -> str:
        """What can be printed by now. The start of what may become a sequence is held back, never for long."""
        text = self._held + piece
        # what was removed can't become part of a sequence, so a sequence is looked for in what follows the last one
        whole = [match.end() for match in _SEQUENCE.finditer(text)]
        found = _UNFINISHED.search(text, whole[-1] if whole else 0)
        cut = found.start() if found else len(text)
        self._held = text[cut:]
        return clean(text[:cut])

    def finish(self) -> str:
        """The text has ended: what was held back, as the plain text it turned out to be."""
        text, self._held = self._held, ""
        return clean(text)


def json_text(value: Any, *, indent: int | None = None) -> str:
    """JSON with readable letters; characters that aren't safe to print stand as `\\u` escapes, so it stays valid.

    What JSON has no form for (a Decimal, an enum, NaN) is written as text.
    """
    try:
        text = json.dumps(value, ensure_ascii=False, indent=indent, default=str, allow_nan=False)
    except ValueError:
        text = json.dumps(_without_nan(value), ensure_ascii=False, indent=indent, default=str)
    text = _PAIR.sub(_joined, text)
    return _UNSAFE.sub(_escaped, _LONE.sub(_escaped, text.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")))


def _joined(match: re.Match[str]) -> str:
    return match[0].encode("utf-16-le", "surrogatepass").decode("utf-16-le")


def _escaped(match: re.Match[str]) -> str:
    units = match[0].encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))


def _without_nan(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, dict):
        return {key: _without_nan(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_without_nan(one) for one in value]
    return value
