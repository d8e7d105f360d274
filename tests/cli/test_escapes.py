"""What of a model's or a tool's text reaches the terminal."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnkeeper.cli.escapes import LONGEST_STRING, Cleaner, clean, clean_line, json_text

SEQUENCES = ["\x1b[", "\x1b]8;;", "\x1b\\", "\u202e", "\ud83d", "\ude00"]
WORDS = ["слово", "字", "😀", "\u200d", "\U000e0041"]
PIECES = st.lists(
    st.sampled_from([*"\x1b[]PX^_;mA0 \x07\\\n\r\x9b\x9d\x9c\x90(\u2028", *SEQUENCES, *WORDS]), max_size=12
)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred\x1b[0m alert", "red alert"),
        ("\x1b[2J\x1b[H\x1b[?1049hgone?", "gone?"),
        ("a\x1b]0;you are root\x07b", "ab"),
        ("\x1b]52;c;cm0gLXJmIC8=\x1b\\copied", "copied"),
        ("\x1b]8;;https://evil.test\x1b\\bank.example\x1b]8;;\x1b\\", "bank.example"),
        ("\x9b31mred\x9d0;title\x9cend", "redend"),
        ("\x1bPq#0;2\x1b\\after", "after"),
        ("\x1bcreset\x1b7\x1b(B", "reset"),
        ("pass\x08\x08\x08\x08word\x7f", "password"),
        ("total 10\rtotal 99", "total 10\ntotal 99"),
        ("one\r\ntwo\u2028three", "one\ntwo\nthree"),
        ("half \x1b[3", "half [3"),
        ("admin\u202e txt.exe\u202c", "admin txt.exe"),
        ("a\u2066b\u2069c\u200bd\ufeffe", "abcde"),
        ("hi\U000e0068\U000e0069", "hi"),
        ("bell\x07 and\x00 nul", "bell and nul"),
        ("half a pair \ud83d!", "half a pair \ufffd!"),
        ("a pair \ud83d\ude00", "a pair 😀"),
        ("Привет, 世界, שלום, 👨‍👩‍👧, می‌خواهم\tok", "Привет, 世界, שלום, 👨‍👩‍👧, می‌خواهم\tok"),
    ],
)
def test_what_a_terminal_would_obey_is_removed_and_the_rest_stays(text: str, shown: str) -> None:
    assert clean(text) == shown


def test_an_unfinished_sequence_never_swallows_the_text_behind_it() -> None:
    long = "x" * (LONGEST_STRING + 1)
    assert clean(f"\x1b]0;{long}\x07!") == f"]0;{long}!"
    assert clean("\x1b]0;title\nnext line\x07") == "]0;title\nnext line"


@given(PIECES)
def test_any_cut_of_a_text_is_cleaned_as_the_whole(pieces: list[str]) -> None:
    cleaner = Cleaner()
    shown = "".join(cleaner.feed(piece) for piece in pieces) + cleaner.finish()
    assert shown == clean("".join(pieces))


@given(PIECES)
def test_what_is_shown_holds_nothing_that_a_terminal_obeys(pieces: list[str]) -> None:
    shown = clean("".join(pieces))
    assert not any(ord(c) < 32 and c not in "\n\t" for c in shown)
    assert not any("\x7f" <= c <= "\x9f" or c in "\u202e\u2028\u200b" or "\ud800" <= c <= "\udfff" for c in shown)


def test_plain_text_is_not_held_back() -> None:
    cleaner = Cleaner()
    assert cleaner.feed("Hello, ") == "Hello, "
    assert cleaner.feed("wor\x1b[3") == "wor"
    assert cleaner.feed("1mld") == "ld"


def test_a_line_stays_one_line() -> None:
    assert clean_line("two\nlines\r\n\tand\x1b[1A one") == "two lines and one"


@given(st.recursive(st.text() | st.floats() | st.none(), lambda inner: st.dictionaries(st.text(), inner)))
def test_json_stays_valid_and_reads_back_the_same(value: object) -> None:
    text = json_text(value)
    assert not any(c != "\n" and (ord(c) < 32 or "\x7f" <= c <= "\x9f" or c in "\u202e\u2066") for c in text)
    text.encode()
    assert json.loads(text) == json.loads(json.dumps(value, default=str)) or "nan" in text or "inf" in text


def test_json_keeps_letters_readable_and_escapes_what_is_unsafe() -> None:
    assert json_text({"имя": "字\x9b\u202e\ud800"}) == '{"имя": "字\\u009b\\u202e\\ud800"}'


@pytest.mark.parametrize(
    "hidden",
    "\u061c\u200e\u200f\u00ad\u034f\u115f\u1160\u180e\u3164\uffa0\ufff8\U0001d173\U000e0061\U000e0100\U000e01ef",
)
def test_what_nobody_sees_is_not_printed(hidden: str) -> None:
    assert clean(f"па{hidden}роль") == "пароль"
    assert hidden not in json_text({"a": f"x{hidden}"})
    assert json.loads(json_text({"a": f"x{hidden}"})) == {"a": f"x{hidden}"}


@pytest.mark.parametrize("text", ["👩\u200d💻 ❤\ufe0f", "می\u200cخواهم", "שלום עולם", "नमस्\u200dते", "한국어", "日本語"])
def test_scripts_and_emoji_keep_what_they_need(text: str) -> None:
    assert clean(text) == text
