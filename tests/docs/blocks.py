"""Reads the fenced blocks of a Markdown page, with the remark that stands above each.

A remark is an HTML comment on the line (or with one blank line) before the fence:

    <!-- runs -->                  a console block whose commands are run and whose output is compared
    <!-- not run: REASON -->       a python block that can't run here, and why
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

__all__ = ("ROOT", "Block", "Command", "commands", "pages", "read_blocks")

ROOT = Path(__file__).resolve().parents[2]
FENCE = re.compile(r"^(?P<indent> *)(?P<ticks>`{3,})(?P<language>[\w-]*)[^`]*$")
REMARK = re.compile(r"^ *<!-- *(?P<text>.*?) *-->$")


@dataclass(frozen=True)
class Block:
    """One fenced block; `line` is the number of its first line of text in the page."""

    page: Path
    line: int
    language: str
    text: str
    remark: str

    @property
    def name(self) -> str:
        return f"{self.page.relative_to(ROOT).as_posix()}:{self.line}"


@dataclass(frozen=True)
class Command:
    """A line that begins with `$ `, and the output that the page shows for it, without trailing blanks."""

    block: Block
    text: str
    output: tuple[str, ...]


def pages() -> list[Path]:
    """Every page of the documentation: those at the top of the repository, and docs/ with what is in it."""
    return sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "benchmarks").glob("*.md")])


def read_blocks(page: Path) -> list[Block]:
    """The fenced blocks of a page, in order."""
    found: list[Block] = []
    remark = ""
    lines = iter(enumerate(page.read_text("utf-8").splitlines(), start=1))
    for number, line in lines:
        if match := FENCE.match(line):
            indent, end = match["indent"], match["ticks"]
            inside: list[str] = []
            for _, text in lines:
                if text.strip() == end:
                    break
                inside.append(text.removeprefix(indent))
            else:
                raise AssertionError(f"{page}:{number}: the block has no end")
            found.append(Block(page, number + 1, match["language"], "\n".join(inside) + "\n", remark))
            remark = ""
        elif match := REMARK.match(line):
            remark = match["text"]
        elif line.strip():
            remark = ""
    return found


def commands(block: Block) -> list[Command]:
    """The commands of a console block; a command may go on over lines that end in a backslash."""
    found: list[tuple[str, list[str]]] = []
    continued = False
    for line in block.text.splitlines():
        if continued:
            found[-1] = (found[-1][0] + "\n" + line, [])
        elif line.startswith("$ "):
            found.append((line[2:], []))
        elif found:
            found[-1][1].append(line.rstrip())
        continued = bool(found) and not found[-1][1] and found[-1][0].endswith("\\")
    return [Command(block, text, tuple("\n".join(output).rstrip().splitlines())) for text, output in found]
