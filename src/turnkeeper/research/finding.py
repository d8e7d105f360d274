"""From a search term to an article: the page of that title if there is one, else the first that the search finds."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from turnkeeper.errors import ToolError
from turnkeeper.research.articles import Article
from turnkeeper.research.wiki import Wiki

__all__ = ("Found", "find_article")

CANDIDATES = 6
"""Pages that a search gives."""
MEANINGS = 20
"""Meanings of an ambiguous title that are listed."""
LONGEST_TERM = 300
"""Characters of a search term; CirrusSearch takes no more."""

_NO_TITLE = re.compile(r"[<>\[\]{}|#\x00-\x1f\x7f\ufffd]")
_PAGE: dict[str, str | int] = {
    "prop": "extracts|info|pageprops",
    "explaintext": 1,
    "exsectionformat": "wiki",
    "exlimit": 1,
    "inprop": "url",
    "ppprop": "disambiguation",
    "redirects": 1,
}
"""What is asked of a page: its whole text (of one page at a time), its address, whether it only lists meanings."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The article, and titles of others that fit. `meanings` are given instead of an article for an ambiguous title."""

    article: Article | None
    others: tuple[str, ...] = ()
    meanings: tuple[str, ...] = ()


async def find_article(wiki: Wiki, term: str, language: str | None = None) -> Found:
    """Look the term up as a title (redirects followed), then search.

    ToolError if nothing fits; its text holds no words of the encyclopedia.
    """
    term = " ".join(term.split())
    if not term or len(term) > LONGEST_TERM:
        raise ToolError(f"search_term is 1 to {LONGEST_TERM} characters: the subject, not a question.")
    if not _NO_TITLE.search(term):
        answer = await wiki.query(language, titles=term, converttitles=1, **_PAGE)
        page = _only(answer)
        if page is not None and "missing" not in page and "invalid" not in page and page.get("ns") == 0:
            if _is_disambiguation(page):
                return Found(article=None, meanings=await _meanings(wiki, page, language))
            return Found(article=_article(page, answer))
    return await _search(wiki, term, language)


async def _search(wiki: Wiki, term: str, language: str | None) -> Found:
    """The first page of a search that is about something."""
    answer = await wiki.query(
        language,
        generator="search",
        gsrsearch=term,
        gsrlimit=CANDIDATES,
        gsrnamespace=0,
        prop="pageprops",
        ppprop="disambiguation",
    )
    pages = sorted(_pages(answer), key=lambda page: page.get("index", 0))
    fitting = [page for page in pages if not _is_disambiguation(page)]
    if not fitting:
        if pages:
            return Found(article=None, meanings=await _meanings(wiki, pages[0], language))
        raise ToolError(f"No article fits {term!r}. Try another name for it, or fewer words.")
    answer = await wiki.query(language, pageids=fitting[0]["pageid"], **_PAGE)
    page = _only(answer)
    if page is None or "missing" in page:
        raise ToolError("The article that the search found is gone. Try another name for it.")
    return Found(article=_article(page, answer), others=tuple(str(other["title"]) for other in fitting[1:]))


async def _meanings(wiki: Wiki, page: Mapping[str, Any], language: str | None) -> tuple[str, ...]:
    answer = await wiki.query(language, pageids=page["pageid"], prop="links", plnamespace=0, pllimit=MEANINGS)
    linked = (_only(answer) or {}).get("links") or ()
    titles = tuple(str(link["title"]) for link in linked)
    if not titles:
        raise ToolError("That has several meanings, and none has an article. Try other words.")
    return titles


def _article(page: Mapping[str, Any], answer: Mapping[str, Any]) -> Article:
    text = str(page.get("extract") or "").strip()
    if not text:
        raise ToolError("That article has no text.")
    moved = answer["query"].get("redirects") or ()
    return Article(
        title=str(page["title"]),
        url=str(page.get("canonicalurl") or page.get("fullurl") or ""),
        text=text,
        redirected_from=str(moved[0]["from"]) if moved else "",
    )


def _is_disambiguation(page: Mapping[str, Any]) -> bool:
    return "disambiguation" in (page.get("pageprops") or {})


def _only(answer: Mapping[str, Any]) -> Mapping[str, Any] | None:
    pages = _pages(answer)
    return pages[0] if len(pages) == 1 else None


def _pages(answer: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    found = (answer.get("query") or {}).get("pages") or []
    return [page for page in found if isinstance(page, dict)]
