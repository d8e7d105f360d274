"""Model text as HTML that can do no harm: markdown-it-py renders, nh3 keeps an allow-list.

No images (a fetched address carries data away), no relative or protocol-relative links (they would act inside this
page), no HTML of the text's own. Nothing in a text becomes a button, a card or a form: those are made of typed events.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from turnkeeper.web.cleaning import clean

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

__all__ = ("to_html",)

TAGS = {
    *("a", "blockquote", "br", "code", "del", "em", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "li", "ol", "p", "pre"),
    *("s", "strong", "table", "tbody", "td", "th", "thead", "tr", "ul"),
}
ATTRIBUTES = {"a": {"href", "title"}, "code": {"class"}, "ol": {"start"}}
LONGEST = 200_000
"""Characters rendered as Markdown; a longer text is shown as it is."""


@functools.cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt  # noqa: PLC0415 - loads with the first text

    # A lower limit on nesting than the library's: each level costs the browser one, too.
    return MarkdownIt("commonmark", {"html": False, "maxNesting": 20}).enable(["table", "strikethrough"])


def to_html(text: str) -> str:
    """The text's HTML, safe to put into a page; its hidden characters are gone."""
    import nh3  # noqa: PLC0415 - as above

    text = clean(text)
    if len(text) > LONGEST:
        return "<pre>" + nh3.clean_text(text) + "</pre>"
    return nh3.clean(
        _parser().render(text),
        tags=TAGS,
        attributes=ATTRIBUTES,
        url_schemes={"https", "mailto"},
        url_relative="deny",
        link_rel="noopener noreferrer nofollow ugc",
    )
