"""What the reports have in common: programs named on the command line, and tables kept in a page."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Collection
from pathlib import Path

__all__ = ("TABLES", "program", "write")

TABLES = "measured"


def program(allowed: Collection[str], text: str) -> tuple[str, str]:
    """The name and the interpreter in PROGRAM=PYTHON; `python` is the one that runs this."""
    name, _, python = text.partition("=")
    if name not in allowed or not python:
        raise argparse.ArgumentTypeError(f"PROGRAM=PYTHON, with a program of {', '.join(allowed)}; not {text!r}")
    return name, sys.executable if python == "python" else python


def write(path: Path, text: str, mark: str = TABLES) -> None:
    """Put the tables between the two marks of a page, whose other text stays."""
    first, last = f"<!-- {mark} -->", f"<!-- /{mark} -->"
    before, begin, rest = path.read_text("utf-8").partition(first)
    _, end, after = rest.partition(last)
    if not begin or not end:
        raise SystemExit(f"{path} has no place for the tables: {first} … {last}")
    path.write_text(f"{before}{first}\n{text}\n{last}{after}", "utf-8")
