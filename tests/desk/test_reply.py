"""What of a model's text is shown: replies in tags, or everything."""

from __future__ import annotations

import itertools
import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnkeeper.desk.reply import ReplyFilter, extract_reply

PIECES = st.lists(
    st.one_of(
        st.sampled_from(
            [
                *(
                    "<reply>",
                    "</reply>",
                    "<REPLY>",
                    "</Reply>",
                    "<rep",
                    "ly>",
                    "<",
                    "/",
                    ">",
                    "</",
                    "reply",
                    "<reply >",
                ),
                *(
                    "`",
                    "``",
                    "```",
                    "````",
                    "\n",
                    "\n\n",
                    "\n \t\n",
                    " ",
                    "\r\n",
                    "a",
                    "Привет",
                    "你好",
                    "👩‍💻",
                    "\u00a0",
                ),
            ]
        ),
        st.text(max_size=4),
    ),
    max_size=30,
).map("".join)


def shown_of(pieces: list[str]) -> str:
    reply = ReplyFilter()
    return "".join([*map(reply.feed, pieces), reply.finish()])


def tags_of(text: str) -> list[tuple[str, str]]:
    """The text cut into `open`, `close` and `text`, code being text."""
    cuts: list[tuple[str, str]] = []
    at = 0
    while at < len(text):
        ticks = re.match(r"`+", text[at:])
        tag = re.match(r"<(/?)reply>", text[at:], re.IGNORECASE)
        size = len(tag[0]) if tag else 1
        if ticks:
            size = len(ticks[0])
            for run in re.finditer(r"`+", text[at + size :]):
                between = text[at + size : at + size + run.start()]
                if size < 3 and re.search(r"\n[ \t\r]*\n", between):
                    break
                if len(run[0]) == size or len(run[0]) > size >= 3:
                    size += run.end()
                    break
        kind = ("close" if tag[1] else "open") if tag else "text"
        cuts.append((kind, text[at : at + size]))
        at += size
    return cuts


def by_the_rules(text: str) -> str:
    """The rules once more, for a whole text and without haste: the oracle of the tests below."""
    cuts = tags_of(text)
    if not any(kind == "open" for kind, _ in cuts):
        return text
    depth, replies = 0, [""]
    for kind, cut in cuts:
        if kind == "text":
            replies[-1] += cut if depth else ""
        elif kind == "open":
            depth += 1
        elif depth:
            depth -= 1
            replies += [] if depth else [""]
    full = [one.strip() for one in replies if one.strip()]
    return "\n\n".join(full) if full else "".join(cut for kind, cut in cuts if kind == "text").strip()


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Hello there!", "Hello there!"),
        ("  Hello\n", "  Hello\n"),
        ("", ""),
        ("I should greet.\n<reply>\nHello!\n</reply>\nDone.", "Hello!"),
        ("<reply>Your order is on its", "Your order is on its"),
        ("<reply>One</reply> and <reply> two </reply>", "One\n\ntwo"),
        ("<reply>a <reply>b</reply> c</reply> d", "a b c"),
        ("<reply>a <reply>b</reply> c", "a b c"),
        ("Nothing opened</reply> here", "Nothing opened</reply> here"),
        ("Sorry! <reply></reply> <reply> </reply>", "Sorry!"),
        ("<reply></reply>", ""),
        ("<REPLY>Hi</Reply>", "Hi"),
        ("<reply>1 < 2, <b>bold</b>, </repl", "1 < 2, <b>bold</b>, </repl"),
        ("<reply>Ваш заказ 👩‍💻 отменён</reply>", "Ваш заказ 👩‍💻 отменён"),
        ("<reply>您的订单\n\n已取消。</reply>", "您的订单\n\n已取消。"),
        ("<reply>half \ud83d a pair</reply>", "half \ud83d a pair"),
        ("<reply>\u202eשלום</reply>", "\u202eשלום"),
    ],
)
def test_replies_are_shown_and_without_tags_everything_is(text: str, shown: str) -> None:
    assert extract_reply(text) == shown
    assert shown_of(list(text)) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Write `<reply>` first.", "Write `<reply>` first."),
        ("<reply>Write `<reply>` first, `</reply>` last.</reply> So.", "Write `<reply>` first, `</reply>` last."),
        ("```xml\n<reply>x</reply>\n```", "```xml\n<reply>x</reply>\n```"),
        ("<reply>\n```\n</reply>\n\n`\n```\n</reply>", "```\n</reply>\n\n`\n```"),
        ("`` ` <reply> ` `` <reply>x</reply>", "x"),
        ("Costs 5` more <reply>x</reply>", "x"),
        ("a ` b\n\n<reply>c ` d</reply>", "c ` d"),
        ("<reply>a ` b</reply>\n \t\nc ` d", "a ` b"),
        ("``` never closed <reply>x</reply>", "x"),
        ("<reply>```py\nprint()\n````</reply>", "```py\nprint()\n````"),
    ],
)
def test_a_tag_in_code_is_text_and_a_stray_backtick_is_no_code(text: str, shown: str) -> None:
    assert extract_reply(text) == shown
    assert shown_of(list(text)) == shown


@given(PIECES, st.data())
def test_any_cut_of_a_text_gives_the_same_output(text: str, data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=20)))
    edges = [0, *cuts, len(text)]
    pieces = [text[start:end] for start, end in itertools.pairwise(edges)]
    assert shown_of(pieces) == shown_of(list(text)) == extract_reply(text)


@given(PIECES)
def test_the_output_is_what_the_rules_say(text: str) -> None:
    assert extract_reply(text) == by_the_rules(text)


@given(PIECES)
def test_no_word_is_lost_when_there_is_no_tag_to_obey(text: str) -> None:
    without = re.sub(r"(?i)<reply>", "", text)
    without = without if "<reply>" not in without.lower() else ""
    assert extract_reply(without) == without


@given(PIECES, PIECES)
def test_an_unclosed_reply_shows_the_rest(before: str, rest: str) -> None:
    before, rest = before.replace("`", "'"), re.sub(r"(?i)</?reply>|`", "", rest)
    if re.search(r"(?i)</?reply>", before + rest):
        return
    expected = rest.strip() or before.strip()
    assert extract_reply(f"{before}<reply>{rest}") == expected


def test_a_reply_is_shown_as_it_arrives() -> None:
    reply = ReplyFilter()
    pieces = ["Let me think. <re", "ply>", "Your ", "order ", "1 <", " 2 `co", "de` is", " on </", "reply>", "bye"]
    assert [reply.feed(piece) for piece in pieces] == [
        *("", "", "Your", " order", " 1", " < 2 `co", "de` is", " on", "", ""),
    ]
    assert reply.finish() == ""


def test_text_without_tags_is_held_back_to_the_end_and_then_shown_whole() -> None:
    reply = ReplyFilter()
    assert [reply.feed(piece) for piece in ("Hello ", "there")] == ["", ""]
    assert reply.finish() == "Hello there"


@pytest.mark.parametrize("unit", ["`", "<", "`<reply>``", "<reply>", "\n", "a `", "</reply", "``` `` ` <reply>\n\n"])
def test_a_long_text_in_small_pieces_takes_time_in_proportion(unit: str) -> None:
    text = unit * (60_000 // len(unit))
    started = time.perf_counter()
    shown = shown_of(list(text))
    assert time.perf_counter() - started < 10  # quadratic reading would take minutes
    assert len(shown) <= len(text)
