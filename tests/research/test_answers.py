"""Answers in `<answer>` tags, whole and as they stream in."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnkeeper import research, tagged


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Let me think. <answer>42</answer> Done.", "42"),
        ("<ANSWER>\n 法国的首都是巴黎。\n</Answer>", "法国的首都是巴黎。"),
        ("no tags at all", "no tags at all"),
        ("<answer>never closed", "never closed"),
        ("<answer>  </answer>", ""),
        ("<answer>one</answer> and <answer>two</answer>", "one\n\ntwo"),
        ("<reply>other tag</reply>", "<reply>other tag</reply>"),
        ("`<answer>` is the tag. <answer>x</answer>", "x"),
        ("<answer>a < b and <answe</answer>", "a < b and <answe"),
    ],
)
def test_the_answer_is_what_the_tags_hold(text: str, shown: str) -> None:
    assert research.extract_answer(text) == shown


@given(
    st.lists(st.sampled_from(["<answer>", "</answer>", "<ans", "wer>", "`", "a", "\n", " ", "<", "/", "😀", "\ud83d"])),
    st.data(),
)
def test_however_it_streams_in_the_answer_is_the_same(tokens: list[str], data: st.DataObject) -> None:
    text = "".join(tokens)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=6)))
    shown = research.AnswerFilter()
    pieces = [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    assert "".join([*map(shown.feed, pieces), shown.finish()]) == research.extract_answer(text)


@pytest.mark.parametrize("tag", ["", "a b", "a>", "é", "1"])
def test_a_tag_is_letters_only(tag: str) -> None:
    with pytest.raises(ValueError, match="letters"):
        tagged.TagFilter(tag)
