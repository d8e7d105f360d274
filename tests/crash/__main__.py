"""The whole matrix: `script/crash-matrix`. Prints its tables; exits 1 if a cell is wrong."""

from __future__ import annotations

import argparse
import contextlib
import logging
import os
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import cast, get_args

import sqlalchemy as sa

from tests.crash.cells import Table
from tests.crash.report import bad_cells, page, table_text
from tests.crash.running import Crew, Result, crew
from tests.crash.stage import Backend
from tests.crash.tables import TABLES
from tests.postgres import PostgresServer

__all__ = ("main",)

PAGE = Path(__file__).resolve().parents[2] / "docs" / "crash-matrix.md"


@contextlib.contextmanager
def server(wanted: bool) -> Iterator[str | None]:
    """The PostgreSQL server of the tests, or the one that is named in the environment."""
    if not wanted:
        yield None
    elif running := os.environ.get("TURNKEEPER_TEST_POSTGRES"):
        yield running
    else:
        with PostgresServer() as started:
            yield started.url()


def version_of(url: str | None) -> str:
    if url is None:
        return "no PostgreSQL"
    engine = sa.create_engine(url)
    with engine.connect() as connection:
        number = str(connection.exec_driver_sql("SHOW server_version").scalar_one())
    engine.dispose()
    return f"PostgreSQL {number.partition(' ')[0]}"


def play(workers: Crew, backends: Sequence[Backend], tables: Sequence[Table], out: Show) -> list[Result]:
    results: list[Result] = []
    for table in tables:
        of_table: list[Result] = []
        for backend in backends:
            begun = time.monotonic()
            cells = list(workers.cells(backend, table))
            for result in workers.play(backend, table, cells):
                of_table.append(result)
                out.progress(f"{table.title}, {backend}: {len(of_table)}")
            out.progress(f"{table.title}, {backend}: {len(cells)} cells, {time.monotonic() - begun:.0f} s", end="\n")
        out.say(f"\n## {table.title}\n\n{table.text}\n\n{table_text(of_table)}\n")
        for line in bad_cells(of_table):
            out.say(f"WRONG: {line}")
        results += of_table
    return results


class Show:
    """What is printed: the tables on stdout, how far it is on stderr."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet

    def say(self, text: str) -> None:
        if not self._quiet:
            print(text, flush=True)  # noqa: T201

    def progress(self, text: str, end: str = "\r") -> None:
        if sys.stderr.isatty() or end == "\n":
            print(f"\x1b[2K{text}" if sys.stderr.isatty() else text, end=end, file=sys.stderr, flush=True)  # noqa: T201


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(prog="script/crash-matrix", description="Kill a conversation at every point.")
    parser.add_argument("--backend", choices=get_args(Backend), action="append", help="only this database")
    parser.add_argument("--only", default="", metavar="TEXT", help="only tables whose title holds this text")
    parser.add_argument("--jobs", type=int, default=(os.cpu_count() or 1) + 1, help="processes that run at once")
    parser.add_argument("--write", action="store_true", help=f"write the tables to docs/{PAGE.name}")
    parser.add_argument("--quiet", action="store_true", help="print the summary only")
    options = parser.parse_args()
    tables = [table for table in TABLES if options.only.casefold() in table.title.casefold()]
    backends = cast("list[Backend]", options.backend or list(get_args(Backend)))
    if not tables:
        parser.error(f"no table is called {options.only!r}: {'; '.join(table.title for table in TABLES)}")
    if options.write and (len(tables) < len(TABLES) or len(backends) < len(get_args(Backend))):
        parser.error("--write is for the whole matrix")
    logging.getLogger("asyncio").setLevel(logging.ERROR)  # it warns of connections whose other end was killed
    out = Show(quiet=options.quiet)
    with server("PostgreSQL" in backends) as url, crew(options.jobs, url) as workers:
        version = version_of(url)
        begun = time.monotonic()
        results = play(workers, backends, tables, out)
    wrong = bad_cells(results)
    out.progress(f"{len(results)} cells, {len(wrong)} wrong, {time.monotonic() - begun:.0f} s", end="\n")
    if options.write:
        PAGE.write_text(page(results, version), "utf-8")
    if options.quiet:
        print("\n".join(wrong))  # noqa: T201
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
