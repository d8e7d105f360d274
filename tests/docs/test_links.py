"""Every link of a page to another page, or to a heading, leads somewhere."""

from __future__ import annotations

import re
from pathlib import Path

from tests.docs.blocks import ROOT, pages

FENCED = re.compile(r"^ *(`{3,})[^`]*\n.*?^ *\1 *$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ +(.+)$", re.MULTILINE)


def text_of(page: Path) -> str:
    """The page without its blocks of code."""
    return FENCED.sub("", page.read_text("utf-8"))


def anchors(page: Path) -> set[str]:
    """The names that a page's headings have in links."""
    words = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in HEADING.findall(text_of(page)))
    return {word.strip().replace(" ", "-") for word in words}


def test_links_between_pages_lead_somewhere() -> None:
    broken = []
    for page in pages():
        for target in LINK.findall(text_of(page)):
            if target.startswith(("https://", "http://", "mailto:")):
                continue
            path, _, anchor = target.partition("#")
            there = (page.parent / path).resolve() if path else page
            if not there.exists() or (anchor and anchor not in anchors(there)):
                broken.append(f"{page.relative_to(ROOT)}: {target}")
    assert broken == []


def test_every_page_of_docs_is_in_the_table_of_contents() -> None:
    index = ROOT / "docs" / "index.md"
    listed = {(index.parent / target.partition("#")[0]).resolve() for target in LINK.findall(text_of(index))}
    there = set((ROOT / "docs").rglob("*.md")) - {index}
    assert {page.relative_to(ROOT).as_posix() for page in there - listed} == set()
