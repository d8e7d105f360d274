"""From what a model writes to what a phone shows: no Markdown, nothing invisible, GSM-7 where that loses nothing."""

from __future__ import annotations

import re
import unicodedata

from turnkeeper.sms.segments import segmented

__all__ = ("plain_text",)

_FENCE = re.compile(r"^[ \t]*(?:```|~~~)[^\n]*\n?", re.MULTILINE)
_HEADING = re.compile(r"^[ \t]{0,3}#{1,6}[ \t]+(.*?)[ \t]*#*[ \t]*$", re.MULTILINE)
_QUOTE = re.compile(r"^[ \t]{0,3}>[ \t]?", re.MULTILINE)
_RULE = re.compile(
    r"^[ \t]{0,3}(?:-[ \t]*){3,}$|^[ \t]{0,3}(?:\*[ \t]*){3,}$|^[ \t]{0,3}(?:_[ \t]*){3,}$", re.MULTILINE
)
_BULLET = re.compile(r"^([ \t]*)[*+][ \t]+", re.MULTILINE)
_IMAGE = re.compile(r"!\[([^\]\n]*)\]\(\s*<?([^)\s>]*)>?[^)\n]*\)")
_LINK = re.compile(r"\[([^\]\n]+)\]\(\s*<?([^)\s>]+)>?[^)\n]*\)")
_CODE = re.compile(r"(`+)(?!`)(.+?)(?<!`)\1(?!`)")
_STRONG = re.compile(r"(?<![\w*])(\*{1,3})(?=[^\s*])(.+?)(?<=[^\s*])\1(?![\w*])", re.DOTALL)
_UNDERSCORED = re.compile(r"(?<![\w_])(_{1,3})(?=[^\s_])(.+?)(?<=[^\s_])\1(?![\w_])", re.DOTALL)
_STRUCK = re.compile(r"~~(?=\S)(.+?)(?<=\S)~~", re.DOTALL)

_SIMPLER = str.maketrans(
    {
        **dict.fromkeys("‘’‚‛′", "'"),
        **dict.fromkeys("“”„‟″«»", '"'),
        **dict.fromkeys("‐‑‒–—―−", "-"),
        "…": "...",
        "•": "-",
        "\u00a0": " ",
        "\u202f": " ",
        "\u2009": " ",
        "\t": " ",
    }
)
"""Signs of typography that would make a whole message UCS-2, and what says the same."""
_KEPT_FORMATS = frozenset("\u200c\u200d")
"""Joiners: scripts and emoji need them. Other format characters only hide or turn text."""


def plain_text(text: str) -> str:
    """The text for a phone; empty if nothing of it can be seen.

    Markdown's marks are taken away and what they mark is kept, links as `name: address`. Typography is simplified only
    where the whole text fits GSM-7 then, so that a Russian text keeps its dashes.
    """
    for pattern, kept in (
        (_FENCE, ""),
        (_RULE, ""),
        (_HEADING, r"\1"),
        (_QUOTE, ""),
        (_BULLET, r"\1- "),
        (_IMAGE, r"\1 \2"),
        (_CODE, r"\2"),
        (_STRONG, r"\2"),
        (_UNDERSCORED, r"\2"),
        (_STRUCK, r"\1"),
    ):
        text = pattern.sub(kept, text)
    text = _LINK.sub(_link, text)
    text = "".join(char for char in unicodedata.normalize("NFC", text) if _is_shown(char))
    text = re.sub(r"\n{3,}", "\n\n", re.sub(r"[ \t]+\n", "\n", text)).strip()
    if not any(char.isprintable() and not char.isspace() and char not in _KEPT_FORMATS for char in text):
        return ""
    simpler = text.translate(_SIMPLER)
    return simpler if segmented(simpler).encoding == "GSM-7" else text


def _link(found: re.Match[str]) -> str:
    name, address = found[1], found[2]
    return address if name.strip() in (address, "") else f"{name}: {address}"


def _is_shown(char: str) -> bool:
    if char in "\n\t" or char in _KEPT_FORMATS:
        return True
    return unicodedata.category(char) not in ("Cc", "Cf", "Cs", "Co", "Cn")
