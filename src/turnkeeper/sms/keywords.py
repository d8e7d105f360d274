"""STOP, HELP, START and the words that mean the same, which no model decides about.

The English words are those that Twilio and the carriers of the US know
(https://www.twilio.com/docs/messaging/tutorials/advanced-opt-out); `CTIA Messaging Principles`, section 5.1, wants them
heeded whatever their case and the spaces around them. The words of other languages are additions of this module.
"""

from __future__ import annotations

import enum
import unicodedata

__all__ = ("Keyword", "keyword_in")


class Keyword(enum.StrEnum):
    """What a keyword asks for."""

    STOP = "stop"
    START = "start"
    HELP = "help"


_STOP = frozenset(
    {
        *(
            "stop",
            "stopall",
            "stop all",
            "unsubscribe",
            "cancel",
            "end",
            "quit",
            "revoke",
            "optout",
            "opt out",
            "opt-out",
        ),
        *("стоп", "отписаться", "отписка", "arret", "arrêt", "desabonner", "désabonner", "stopp", "abmelden"),
        *("baja", "停止", "退订", "退訂", "停止订阅"),
    }
)
_START = frozenset({"start", "unstop", "старт", "начать", "开始", "订阅", "訂閱"})
_YES = frozenset({"yes"})
"""Twilio takes YES for START too; it is an answer, unless the number has opted out."""
_HELP = frozenset({"help", "info", "помощь", "справка", "aide", "hilfe", "ayuda", "帮助", "幫助"})


def keyword_in(text: str, *, opted_out: bool) -> Keyword | None:
    """The keyword that the whole message is, or None."""
    plain = unicodedata.normalize("NFKC", text).casefold()
    kept: list[str] = []
    for char in plain:
        kind = unicodedata.category(char)
        if char.isspace():
            kept.append(" ")
        elif kind == "Pd":
            kept.append("-")  # whichever dash the phone has put for it
        elif kind not in ("Cf", "Cc"):
            kept.append(char)
    # Quotes, stars, dashes, emoji: whatever stands around the word is none of it.
    first, last = 0, len(kept)
    while first < last and not _is_of_word(kept[first]):
        first += 1
    while last > first and not _is_of_word(kept[last - 1]):
        last -= 1
    word = " ".join("".join(kept[first:last]).split())
    if word in _STOP:
        return Keyword.STOP
    if word in _START or (opted_out and word in _YES):
        return Keyword.START
    return Keyword.HELP if word in _HELP else None


def _is_of_word(char: str) -> bool:
    return unicodedata.category(char)[0] in "LN"
