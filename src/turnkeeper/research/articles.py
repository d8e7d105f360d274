"""An article as text: its sections, and parts of it that fit into a result.

The text is what MediaWiki's `prop=extracts` gives with `explaintext` and `exsectionformat=wiki`: plain, with headings
such as `== History ==` (https://www.mediawiki.org/wiki/Extension:TextExtracts).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

__all__ = ("Article", "Section", "parts_of")

_HEADING = re.compile(r"^(={2,6})[ \t]*(.+?)[ \t]*\1[ \t]*$", re.MULTILINE)
_BREAKS = (r"\n\s*\n", r"\n", r"(?<=[.!?。！？])\s+", r"\s+")
"""Where a text is best cut, the best place first: paragraph, line, sentence, word."""


@dataclass(frozen=True, slots=True)
class Section:
    """One section: its title, its depth (1 is the outermost), where it stands in the text with its subsections."""

    title: str
    depth: int
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Article:
    """A page of an encyclopedia. `redirected_from` is the title that was asked for, if it only pointed here."""

    title: str
    url: str
    text: str
    redirected_from: str = ""

    @property
    def sections(self) -> tuple[Section, ...]:
        """The sections in order; the lead, before the first heading, is none of them."""
        found = [(len(hit[1]) - 1, hit[2], hit.start()) for hit in _HEADING.finditer(self.text)]
        sections = []
        for index, (depth, title, start) in enumerate(found):
            later = (at for other, _, at in found[index + 1 :] if other <= depth)
            sections.append(Section(title, depth, start, next(later, len(self.text))))
        return tuple(sections)

    def section(self, title: str) -> str | None:
        """The text of the section of that title, whatever its case and spaces; None if there is none."""
        wanted = _plain(title)
        for section in self.sections:
            if _plain(section.title) == wanted:
                return self.text[section.start : section.end].strip()
        return None


def parts_of(text: str, size: int) -> tuple[str, ...]:
    """The text in pieces of at most `size` characters, cut where reading stops anyway; together they are the text."""
    parts = []
    while len(text) > size:
        end = _best_end(text[:size])
        parts.append(text[:end])
        text = text[end:]
    return (*parts, text) if text or not parts else tuple(parts)


def _best_end(window: str) -> int:
    """Behind the last good break of the second half, else at the end."""
    for pattern in _BREAKS:
        ends = [hit.end() for hit in re.finditer(pattern, window) if hit.end() > len(window) // 2]
        if ends:
            return ends[-1]
    return len(window)


def _plain(title: str) -> str:
    return " ".join(title.casefold().strip(" =\t\n").split())
