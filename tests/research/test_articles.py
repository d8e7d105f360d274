"""Sections and parts of an article's text."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from turnkeeper.research.articles import Article, parts_of


@given(st.text(st.sampled_from("ab. \n!？😀é")), st.integers(1, 40))
def test_parts_fit_and_make_the_whole(text: str, size: int) -> None:
    parts = parts_of(text, size)
    assert "".join(parts) == text
    assert all(len(part) <= size for part in parts)
    assert all(parts) or parts == ("",)


def test_a_cut_is_made_where_reading_stops() -> None:
    assert parts_of("One two. Three four.\n\nFive six seven.", 30) == ("One two. Three four.\n\n", "Five six seven.")
    assert parts_of("One two three. Four five", 20) == ("One two three. ", "Four five")


def test_headings_are_read_with_their_depth() -> None:
    article = Article(
        title="T",
        url="",
        text="Lead = no heading ==\n== Über ==\na\n=== 深い ===\nb\n==Next==\nc == not =\n==== = ====\n",
    )
    assert [(one.title, one.depth) for one in article.sections] == [("Über", 1), ("深い", 2), ("Next", 1), ("=", 3)]
    assert article.section("ÜBER") == "== Über ==\na\n=== 深い ===\nb"
    assert article.section("深い") == "=== 深い ===\nb"
    assert article.section("Lead") is None
