"""Where a conversation is held and killed: databases made ready, one process after another, what they leave."""

from __future__ import annotations

import json
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import sqlalchemy as sa

from tests.crash.process import Job
from tests.crash.scenario import Scenario, model_of
from tests.crash.serving import Simulators
from tests.crash.tools import TABLE
from tests.crash.world import Entry, World
from tests.crash.zygote import Zygote
from turnkeeper.journal.sql import SQLJournal
from turnkeeper.testing import MessagesAPI

__all__ = ("Backend", "Ended", "Held", "Stage", "Step", "fast_folder")

Backend = Literal["SQLite", "PostgreSQL"]
_TABLES = """
SELECT string_agg(quote_ident(tablename), ', ') FROM pg_tables
WHERE schemaname = 'public' AND tablename ~ '^(turnkeeper|desk)_' AND tablename <> 'turnkeeper_version'
"""


@dataclass(frozen=True, slots=True)
class Step:
    """One process: what it does, and where it is killed (see `Points`)."""

    acts: tuple[str, ...]
    kill: str | int | None = None


@dataclass(frozen=True, slots=True)
class Ended:
    """How a process ended: its exit code, the point where it was killed, what it reported otherwise, its stderr."""

    code: int
    died_at: str | None
    report: dict[str, Any]
    errors: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """A conversation that was held: its processes, what the world and the database have of it, what the API refused."""

    processes: tuple[Ended, ...]
    world: tuple[Entry, ...]
    refunds: tuple[tuple[str, str, str], ...]
    refused: tuple[str, ...]

    @property
    def report(self) -> dict[str, Any]:
        """The last process's."""
        return self.processes[-1].report


def fast_folder() -> tempfile.TemporaryDirectory[str]:
    """A folder in memory where the system has one: processes are killed here, the machine is not."""
    memory = Path("/dev/shm")  # noqa: S108 - a folder of a random name is made in it
    return tempfile.TemporaryDirectory(prefix="turnkeeper-crash-", dir=memory if memory.is_dir() else None)


@dataclass
class Stage:
    """One worker's own: a process that forks, an empty SQLite journal to copy, a PostgreSQL database to empty.

    A context manager; used by one thread at a time.
    """

    simulators: Simulators
    postgres: str | None
    _zygote: Zygote = field(init=False)

    def __enter__(self) -> Stage:
        self._folder = fast_folder()
        self._zygote = Zygote()
        self._template = Path(self._folder.name) / "empty.db"
        SQLJournal.open(f"sqlite:///{self._template}").close()
        with sqlite3.connect(self._template) as connection:
            connection.execute(TABLE)
        connection.close()
        self._engine = None if self.postgres is None else _prepared(self.postgres)
        return self

    def __exit__(self, *error: object) -> None:
        self._zygote.__exit__(None, None, None)
        if self._engine is not None:
            self._engine.dispose()
        self._folder.cleanup()

    def hold(self, backend: Backend, scenario: Scenario, steps: Sequence[Step]) -> Held:
        """Hold a conversation from its beginning, one process after another, over a simulator of its own."""
        api = MessagesAPI(model_of(scenario), chunk=12)
        with tempfile.TemporaryDirectory(dir=self._folder.name) as name, self.simulators.serving(api) as address:
            folder = Path(name)
            with self._journal(backend, folder) as url:
                processes = tuple(self._run(step, url, address, folder, scenario) for step in steps)
                refunds = self._refunds(backend, folder)
            refusals = tuple(f"{one.refusal.rule}: {one.refusal.message}" for one in api.refusals if one.refusal)
            world = tuple(World(folder / "world").entries())
        return Held(processes=processes, world=world, refunds=refunds, refused=refusals)

    def _run(self, step: Step, url: str, address: str, folder: Path, scenario: Scenario) -> Ended:
        note, report, errors = (folder / name for name in ("died-at", "report", "errors"))
        for path in (note, report, errors):
            path.unlink(missing_ok=True)
        job = Job(journal=url, api=address, folder=str(folder), scenario=scenario, acts=step.acts, kill=step.kill)
        code = self._zygote.run(job.to_json())
        return Ended(
            code=code,
            died_at=note.read_text("utf-8") if note.exists() else None,
            report=json.loads(report.read_text("utf-8")) if report.exists() else {},
            errors=errors.read_text("utf-8") if errors.exists() else "",
        )

    @contextmanager
    def _journal(self, backend: Backend, folder: Path) -> Iterator[str]:
        if backend == "SQLite":
            shutil.copyfile(self._template, folder / "journal.db")
            yield f"sqlite:///{folder}/journal.db"
            return
        assert self._engine is not None
        assert self.postgres is not None
        with self._engine.begin() as connection:
            tables = connection.exec_driver_sql(_TABLES).scalar_one()
            connection.exec_driver_sql(f"TRUNCATE {tables}")
        yield self.postgres

    def _refunds(self, backend: Backend, folder: Path) -> tuple[tuple[str, str, str], ...]:
        query = "SELECT conversation, key, order_number FROM desk_refunds"
        if backend == "SQLite":
            with sqlite3.connect(folder / "journal.db") as connection:
                rows = connection.execute(query).fetchall()
            connection.close()
            return tuple(rows)
        assert self._engine is not None
        with self._engine.connect() as found:
            return tuple((row[0], row[1], row[2]) for row in found.exec_driver_sql(query))


def _prepared(url: str) -> sa.Engine:
    SQLJournal.open(url).close()
    engine = sa.create_engine(url)
    with engine.begin() as connection:
        connection.exec_driver_sql(TABLE)
    return engine
