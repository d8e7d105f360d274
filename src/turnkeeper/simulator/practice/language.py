"""Which language the user writes: by script, then by the phrasebook's words, else the phrasebook's default."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from turnkeeper.simulator.practice.phrasebook import Language, Phrasebook
from turnkeeper.simulator.practice.words import LETTER, folded, normal

__all__ = ("detect",)

DENSE = {"CJK": 3}
"""Letters of a script that writes a word with one or two of them count for more."""

RUN = re.compile(rf"(?:{LETTER}|[.+@-])+|<[^<>]*>")
"""A run of characters without a space, or a tag."""


def detect(book: Phrasebook, texts: Iterable[str]) -> Language:
    """The language of the first of `texts` (the newest first) that shows one."""
    for text in texts:
        found = _recognised(book, RUN.sub(_word, normal(text)))
        if found is not None:
            return found
    return book.language(book.default)


def _word(run: re.Match[str]) -> str:
    """The run if it is a word; ids, addresses and tags say nothing about the language."""
    return " " if re.search(r"[@\d<]", run[0]) else run[0]


def _recognised(book: Phrasebook, text: str) -> Language | None:
    weights: dict[str, int] = {}
    for char in text:
        if char.isalpha():
            script = unicodedata.name(char, "?").split(" ")[0]
            weights[script] = weights.get(script, 0) + DENSE.get(script, 1)
    if not weights:
        return None
    main = max(weights, key=lambda script: (weights[script], script != "LATIN"))
    by_script = [language for language in book.languages.values() if language.script == main]
    if len(by_script) == 1:
        return by_script[0]
    words = re.findall(r"[^\W\d_]+(?:'[^\W\d_]+)?", folded(text))
    hits = {
        language.code: sum((word in language.words) + (word in language.hints) for word in words)
        for language in by_script
    }
    best = max(hits, key=lambda code: (hits[code], code == book.default), default=None)
    if best is not None and hits[best]:
        return book.language(best)
    # Names alone (products, people) are written in Latin script in any language: a trace of another script decides.
    traces = [
        language for language in book.languages.values() if language.script in weights and language not in by_script
    ]
    return traces[0] if traces else None
