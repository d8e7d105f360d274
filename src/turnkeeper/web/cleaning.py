"""Characters that nobody sees and that change what people see: bidi controls, zero-width and tag characters.

A customer reads text without them (`clean`), an operator sees where they are (`visible`): a call that is approved must
not read other than it runs. What writing needs stays: joiners between letters and emoji, emoji's variation selector.
"""

from __future__ import annotations

import json
import re
from typing import Any

from turnkeeper.hidden import EMOJI, HIDDEN, JOINING
from turnkeeper.wire.json import fold_surrogates

__all__ = ("clean", "json_shown", "visible", "visible_value")

_CONTROLS = "\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f"
# A joiner has a use behind a letter of a script that joins, or between emoji; elsewhere it only hides something.
_FIND = re.compile(f"[{_CONTROLS}{HIDDEN}\u200c\u200d\ufe0f]")
_JOINS = re.compile(f"[{JOINING}{EMOJI}\ufe0f]")
_SELECTS = re.compile(f"[{EMOJI}0-9#*©®™‼⁉ℹ]")


def _is_hidden(letter: str, before: str) -> bool:
    """Whether that character only hides something, behind `before`."""
    if letter in "\u200c\u200d":
        return _JOINS.match(before) is None
    if letter == "\ufe0f":
        return _SELECTS.match(before) is None
    return _FIND.match(letter) is not None


def clean(text: str, *, before: str = "") -> str:
    """The text without them; line feeds and tabs stay. `before` is what stands in front of it, already clean.

    Text may come in pieces of any size: cleaned piece by piece, with what came before, it is the same.
    """
    text = fold_surrogates(text)
    if _FIND.search(text) is None:
        return text
    kept: list[str] = []
    last = before[-1:]
    for letter in text:
        if not _is_hidden(letter, last):
            kept.append(letter)
            last = letter
    return "".join(kept)


def visible(text: str) -> str:
    """The text with each of them written out, as ⟨U+202E⟩."""
    text = fold_surrogates(text)
    if _FIND.search(text) is None:
        return text
    pairs = zip(" " + text, text, strict=False)
    return "".join(f"⟨U+{ord(one):04X}⟩" if _is_hidden(one, before) else one for before, one in pairs)


def json_shown(value: Any) -> str:
    """A JSON value as text to be read: each of them as the escape that JSON has for it, so the text means the same."""
    text = fold_surrogates(json.dumps(value, ensure_ascii=False, indent=2))
    if _FIND.search(text) is None:
        return text
    pairs = zip(" " + text, text, strict=False)
    return "".join(json.dumps(one)[1:-1] if _is_hidden(one, before) else one for before, one in pairs)


def visible_value(value: Any) -> Any:
    """The same in all texts of a JSON value, keys included."""
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, list):
        return [visible_value(item) for item in value]
    if isinstance(value, dict):
        return {visible(str(key)): visible_value(item) for key, item in value.items()}
    return value
