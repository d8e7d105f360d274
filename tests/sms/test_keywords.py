"""STOP, START, HELP, however they are written, and what only looks like one of them."""

from __future__ import annotations

import pytest

from turnkeeper import sms


@pytest.mark.parametrize(
    ("text", "keyword"),
    [
        *((word, "stop") for word in ("STOP", "stop", " Stop. ", '"STOP"', "StopAll", "STOP ALL", "UNSUBSCRIBE")),
        *(
            (word, "stop")
            for word in ("cancel", "END", "quit", "REVOKE", "OptOut", "opt-out", "ＳＴＯＰ", "ST\u200bOP")
        ),
        *((word, "stop") for word in ("СТОП", "Arrêt", "ARRET", "退订", "停止。", "Abmelden", "baja")),
        *(
            (word, "stop")
            for word in (
                "“STOP”",
                "*STOP*",
                "-STOP",
                "STOP ✋",
                "✋🏽 stop ✋🏽\ufe0f",
                "«Стоп!»",
                "「停止」",
                "…STOP…",
            )
        ),
        *(
            (word, "stop")
            for word in (
                "opt‑out",
                "opt–out",
                "\u202eSTOP\u202c",
                ">STOP<",
                "stop\u3000all",
                "STOP\x00",
            )
        ),
        *((word, None) for word in ("STOP 2", "1 STOP", "non-stop", "✋", "“”", "STOP, please ✋", "\ud83d")),
        *((word, "start") for word in ("START", "unstop", "Старт", "开始")),
        *((word, "help") for word in ("HELP", "info", "Помощь", "帮助", "Aide", "Hilfe!")),
        *((word, None) for word in ("yes", "please stop by", "cancel order 24601", "stop it", "", "?", "🛑", "endive")),
    ],
)
def test_a_keyword_is_the_whole_message(text: str, keyword: str | None) -> None:
    assert sms.keyword_in(text, opted_out=False) == keyword


def test_yes_means_start_only_after_a_stop() -> None:
    assert sms.keyword_in("YES", opted_out=False) is None
    assert sms.keyword_in("YES", opted_out=True) is sms.Keyword.START
