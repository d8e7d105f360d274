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
    plain = "".join(char for char in plain if unicodedata.category(char) not in ("Cf", "Cc") or char.isspace())
    word = " ".join(plain.strip(" \t\r\n.,!?;:'\"()[]。！？").split())
    if word in _STOP:
        return Keyword.STOP
    if word in _START or (opted_out and word in _YES):
        return Keyword.START
    return Keyword.HELP if word in _HELP else None
