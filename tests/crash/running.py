"""Cells by the hundred: several stages beside each other, and what came of it."""

from __future__ import annotations

import contextlib
import queue
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from tests.crash.cells import Cell, Table
from tests.crash.judging import faults_of, outcome_of
from tests.crash.scenario import Scenario
from tests.crash.serving import Simulators
from tests.crash.stage import Backend, Held, Stage, Step
from tests.postgres import fresh_database

__all__ = ("Crew", "Result", "crew")


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """A cell on a database: its outcome in words, and what is wrong with it."""

    table: str
    backend: Backend
    cell: Cell
    outcome: str
    faults: tuple[str, ...]


class Crew:
    """Stages that share the work; safe to use from one thread. Undisturbed runs are held once, on each database."""

    def __init__(self, stages: Sequence[Stage]) -> None:
        self._free: queue.SimpleQueue[Stage] = queue.SimpleQueue()
        for stage in stages:
            self._free.put(stage)
        self._size = len(stages)
        self._undisturbed: dict[tuple[Backend, Scenario, tuple[Step, ...]], Held] = {}
        self._lock = threading.Lock()

    def hold(self, backend: Backend, scenario: Scenario, steps: Sequence[Step]) -> Held:
        """Hold a conversation on the first stage that is free."""
        stage = self._free.get()
        try:
            return stage.hold(backend, scenario, steps)
        finally:
            self._free.put(stage)

    def cells(self, backend: Backend, table: Table) -> Iterator[Cell]:
        """The table's cells on this database, found as they are asked for."""

        def trace(scenario: Scenario, steps: Sequence[Step]) -> tuple[tuple[str, ...], ...]:
            held = self.hold(backend, scenario, steps)
            if not any(step.kill for step in steps):
                self._undisturbed[backend, scenario, tuple(steps)] = held
            bad = [one.errors for step, one in zip(steps, held.processes, strict=True) if not step.kill and one.code]
            if bad:
                raise RuntimeError(f"{table.title}, on {backend}: the first run fails\n{bad[0]}")
            return tuple(tuple(one.report.get("points", ())) for one in held.processes)

        return (cell for cell in table.cells(trace) if backend in cell.backends)

    def play(self, backend: Backend, table: Table, cells: Iterable[Cell]) -> Iterator[Result]:
        """Run the cells and judge each, in their order."""
        with ThreadPoolExecutor(self._size) as pool:
            yield from pool.map(lambda cell: self._result(backend, table, cell), cells)

    def _result(self, backend: Backend, table: Table, cell: Cell) -> Result:
        undisturbed = self._reference(backend, cell)
        held = self.hold(backend, cell.scenario, cell.steps)
        faults = faults_of(cell, held, undisturbed)
        outcome = outcome_of(cell, held)
        return Result(table=table.title, backend=backend, cell=cell, outcome=outcome, faults=tuple(faults))

    def _reference(self, backend: Backend, cell: Cell) -> Held:
        key = (backend, cell.scenario, cell.undisturbed)
        with self._lock:
            found = self._undisturbed.get(key)
        if found is None:
            found = self.hold(backend, cell.scenario, cell.undisturbed)
            with self._lock:
                self._undisturbed[key] = found
        return found


@contextlib.contextmanager
def crew(size: int, postgres: str | None) -> Iterator[Crew]:
    """So many stages; `postgres` is the URL of a server on which each gets a database of its own."""
    with contextlib.ExitStack() as stack:
        simulators = stack.enter_context(Simulators())
        databases: list[str | None] = [None] * size
        if postgres is not None:
            databases = [stack.enter_context(fresh_database(postgres)) for _ in range(size)]
        start: Callable[[str | None], Stage] = lambda url: stack.enter_context(Stage(simulators, url))  # noqa: E731
        yield Crew([start(url) for url in databases])
