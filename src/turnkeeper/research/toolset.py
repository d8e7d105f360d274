"""`get_article`, the one tool of research."""

from __future__ import annotations

import turnkeeper as tk
from turnkeeper.research.articles import Article, parts_of
from turnkeeper.research.finding import Found, find_article
from turnkeeper.research.wiki import Wiki

__all__ = ("PART", "article_tool")

PART = 12_000
"""Characters of an article that one result holds."""
AT_ONCE = 4
"""Articles that are asked for at the same time: an encyclopedia for all is no place to hurry."""
_LISTED = 60
"""Headings that are listed."""
_SOURCE = "[Written by the contributors of that page; Wikipedia's text is under CC BY-SA 4.0.]"


def article_tool(wiki: Wiki, *, part_size: int = PART) -> tk.Tool:
    """The tool over a wiki; `part_size` is the number of characters of an article that one result holds."""

    @tk.tool(effect="read", timeout=90, concurrency=AT_ONCE)
    async def get_article(
        ctx: tk.ToolContext,
        search_term: str,
        section: str | None = None,
        part: int = 1,
        language: str | None = None,
    ) -> str:
        """Read an article of Wikipedia: the one of that title, else the first that a search finds.

        Use it only for what you don't know for sure. For several subjects, make several calls at once.

        Args:
            search_term: The subject as an article would be named, such as "Ada Lovelace"; not a question.
            section: The heading of one section, to read that only. The headings stand at the end of a long article.
            part: A long text comes in parts; 2 is the second.
            language: Code of another edition, such as "de"; for subjects that have no article in this one.
        """
        found = await find_article(wiki, search_term, language)
        ctx.untrusted("")  # from here on the result holds what strangers wrote: a text, titles, headings
        if found.article is None:
            listed = "\n".join(f"- {title}" for title in found.meanings)
            return f"{search_term!r} has several meanings. Call get_article again with the one that is meant:\n{listed}"
        return _shown(found, found.article, section, part, part_size)

    return get_article


def _shown(found: Found, article: Article, section: str | None, part: int, size: int) -> str:
    text: str | None = article.text
    if section is not None:
        text = article.section(section)
        if text is None:
            raise tk.ToolError(f"{article.title!r} has no section {section!r}. {_headings(article)}")
    assert text is not None
    parts = parts_of(text, size)
    if not 1 <= part <= len(parts):
        raise tk.ToolError(f"That text has {len(parts)} part(s); there is no part {part}.")
    lines = [f"{article.title} <{article.url}>"]
    if article.redirected_from:
        lines.append(f"[Redirected from {article.redirected_from}]")
    lines += [_SOURCE, "", parts[part - 1].strip(), ""]
    if len(parts) > 1:
        more = f" Read on with part={part + 1}." if part < len(parts) else ""
        lines.append(f"[Part {part} of {len(parts)}.{more} {_headings(article)}]")
    if found.others:
        lines.append(f"[The search also found: {'; '.join(found.others)}]")
    return "\n".join(lines).rstrip()


def _headings(article: Article) -> str:
    titles = [f"{'- ' * (section.depth - 1)}{section.title}" for section in article.sections]
    if not titles:
        return "It has no sections."
    more = f"; and {len(titles) - _LISTED} more" if len(titles) > _LISTED else ""
    return f"Its sections: {'; '.join(titles[:_LISTED])}{more}."
