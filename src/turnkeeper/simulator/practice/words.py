"""Text as the practice model compares it: normal form, folded form, and the phrasebook's patterns as regexes.

`normal` keeps what was written but levels the ways of writing it (full-width digits, no-break spaces, curly quotes,
invisible marks inside an id); `folded` has the same length as its input, so a span found in the folded text is cut
from the normal one with its case and accents kept.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

__all__ = ("LETTER", "folded", "normal", "sendable", "spaced", "tokens", "union")

LONGEST = 10_000
"""Characters of one message that are looked at; a pasted novel need not be read to its end."""

EAST_ASIAN = "\u2e80-\u9fff\uf900-\ufaff\uac00-\ud7af"
"""Scripts written without spaces: no word boundary is expected between them and Latin text."""

LETTER = rf"[^\W{EAST_ASIAN}]"
"""One letter, digit or underscore of a script that puts spaces between words."""

BEFORE, AFTER = r"(?<!\w)", r"(?!\w)"
SIGNS = {
    "*": r"\w*",
    " ... ": r" (?:[^.,;!?\n]{0,60} )??",
    "...": r"[^.,;!?\n]{0,60}?",
    "#": "\x01+",
    "(": "(?:",
    ")": ")",
    "|": "|",
}
"""What the signs of the phrasebook's patterns mean as regular expressions."""

LEVELLED = str.maketrans(
    {
        **dict.fromkeys("‘’‚‛′´`ʼ", "'"),
        **dict.fromkeys("“”„‟″«»「」『』", '"'),
        **dict.fromkeys("‐‑‒–—―−﹣", "-"),
        "。": ".",
        "、": ",",
    }
)


def normal(text: str) -> str:
    """The text in NFKC, one kind of quote and dash, plain digits, single spaces, no invisible characters."""
    kept: list[str] = []
    for char in unicodedata.normalize("NFKC", text[:LONGEST]).translate(LEVELLED):
        category = unicodedata.category(char)
        if category == "Nd":
            kept.append(str(unicodedata.digit(char)))
        elif char.isspace():
            kept.append("\n" if char == "\n" else " ")
        elif category not in {"Cf", "Cc", "Cs"}:
            kept.append(char)
    return re.sub(r" *\n[ \n]*", "\n", re.sub(r" {2,}", " ", "".join(kept))).strip()


def folded(text: str) -> str:
    """Lower case without accents, character by character: the result is as long as the text."""
    return "".join((unicodedata.normalize("NFD", char)[0].lower() or char)[0] for char in text)


def tokens(text: str) -> tuple[str, ...]:
    """The words of a text, folded."""
    return tuple(re.findall(rf"{LETTER}+|[{EAST_ASIAN}]+", folded(normal(text))))


def spaced(text: str) -> str:
    """The text with a space wherever East Asian script meets another, as a reader sees the words."""
    return re.sub(rf"(?<=[{EAST_ASIAN}])(?={LETTER})|(?<={LETTER})(?=[{EAST_ASIAN}])", " ", text)


def sendable(text: str) -> str:
    """The text with lone surrogates replaced: they can't be encoded, so no reply may hold one."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def union(written: Iterable[str]) -> re.Pattern[str]:
    """The phrasebook's patterns as one regular expression over folded text; no patterns match nothing.

    `*` stands for any letters, `...` for a short gap inside the clause (whole words if spaces
    stand around it), `(a|b|)` for alternatives, `#` for an order's number, `^` and `$` for the
    ends of the message; everything else stands for itself. A pattern matches whole words, except in scripts that
    write none. Longer patterns are tried first.
    """
    # Patterns with the same ends share them: a lookaround for each of a thousand patterns takes seconds to compile.
    by_ends: dict[tuple[str, str], list[str]] = {}
    for one in sorted(written, key=lambda one: (-len(one), one)):
        text = folded(normal(one))
        core = text.removeprefix("^").removesuffix("$")
        apart = not re.search(f"[{EAST_ASIAN}]", core)
        start = r"^\W*" if text.startswith("^") else BEFORE if apart and re.match(r"[\w(*]", core) else ""
        end = r"\W*$" if text.endswith("$") else AFTER if apart and re.search(r"[\w)*]$", core) else ""
        by_ends.setdefault((start, end), []).append(
            "".join(SIGNS.get(part) or re.escape(part) for part in re.split(r"( \.\.\. |\.\.\.|[#*()|])", core))
        )
    groups = [f"{start}(?:{'|'.join(bodies)}){end}" for (start, end), bodies in by_ends.items()]
    return re.compile("|".join(groups) or r"(?!)")
