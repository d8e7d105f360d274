"""The fast part of the crash matrix: some dozens of its cells. `script/crash-matrix` runs all of them."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator

import pytest

from tests.crash.report import table_text
from tests.crash.running import Crew, Result, crew
from tests.crash.scenario import EFFECTS
from tests.crash.stage import Backend
from tests.crash.tables import TABLES

FINISHED = ("append call_finished, request_started", "commit call_finished")
KILLED_ONCE = (
    "append conversation_started, turn_started, request_started: not committed",
    "request 1: content_block_delta arrives (2)",
    "append reply_received, call_started: after",
    "effect: after",
    *(f"{one}: not committed" for one in FINISHED),
    *(f"{one}: after" for one in FINISHED),
)
KILLED_TWICE = (
    "effect: after",
    "question to the world: after",
    "append call_unresolved, turn_parked: after",
    "append call_resolved, turn_woken: not committed",
)


@pytest.fixture(scope="module")
def postgres(request: pytest.FixtureRequest) -> str | None:
    """The server, where there is one: SQLite needs none."""
    try:
        return str(request.getfixturevalue("postgres_url"))
    except pytest.skip.Exception:
        return None


@pytest.fixture(scope="module")
def workers(postgres: str | None) -> Iterator[Crew]:
    with crew(2, postgres) as started:
        yield started


def play(
    workers: Crew, backend: Backend, title: str, rows: tuple[str, ...] | str, columns: tuple[str, ...] = ()
) -> list[Result]:
    """The cells of those rows, or of all rows that hold a text; in the first columns only, if they are named."""
    (table,) = (table for table in TABLES if table.title == title)
    cells = itertools.takewhile(lambda cell: not columns or cell.column in columns, workers.cells(backend, table))
    chosen = [cell for cell in cells if (rows in cell.row if isinstance(rows, str) else cell.row in rows)]
    return list(workers.play(backend, table, chosen))


def wrong(results: list[Result]) -> dict[tuple[str, str], tuple[str, ...]]:
    return {(result.cell.column, result.cell.row): result.faults for result in results if result.faults}


def outcomes(results: list[Result]) -> dict[str, Counter[str]]:
    found: dict[str, Counter[str]] = {}
    for result in results:
        found.setdefault(result.cell.column, Counter())[result.outcome] += 1
    return found


def test_a_killed_conversation_ends_as_if_nothing_had_happened_and_its_effect_is_there_as_promised(
    workers: Crew,
) -> None:
    results = play(workers, "SQLite", "A worker recovers", KILLED_ONCE)
    assert wrong(results) == {}
    assert outcomes(results) == {
        "read": {"1": 4, "2": 2},
        "idempotent": {"1": 4, "2": 2},
        "transactional": {"1": 6},
        "reconcile": {"1": 3, "1; the world was asked": 3},
        "once": {"1": 3, "1; a person said: did not happen": 1, "1; a person said: happened": 2},
    }


def test_the_same_on_postgresql(workers: Crew, postgres: str | None) -> None:
    if postgres is None:
        pytest.skip("no PostgreSQL")
    results = play(workers, "PostgreSQL", "A worker recovers", KILLED_ONCE[3:6])
    assert wrong(results) == {}
    assert len(results) == 2 * len(EFFECTS)


def test_a_decision_counts_once_wherever_the_person_and_the_program_after_them_are_killed(workers: Crew) -> None:
    deciding = play(workers, "SQLite", "An approval: the process in which a person decides", "approval_decided")
    columns = ("once, approve", "once, edit")
    going_on = play(workers, "SQLite", "An approval: the process that goes on", ("effect: after",), columns)
    assert wrong(deciding + going_on) == {}
    assert outcomes(deciding) == {"once, approve": {"1": 3}, "once, edit": {"1": 3}, "once, deny": {"0": 3}}
    assert outcomes(going_on) == {column: {"1; a person said: happened": 1} for column in columns}


def test_a_recovery_that_is_killed_as_well_is_recovered(workers: Crew) -> None:
    title = "Killed again while recovering: its effect has happened"
    results = play(workers, "SQLite", title, KILLED_TWICE)
    assert wrong(results) == {}
    assert {result.cell.column for result in results} == set(EFFECTS)


def test_an_approved_call_and_a_decision_survive_two_kills(workers: Crew, postgres: str | None) -> None:
    """On PostgreSQL, where there is one."""
    backend: Backend = "SQLite" if postgres is None else "PostgreSQL"
    deciding = play(workers, backend, "A decision, killed twice", "approval_decided, turn_woken: ", ("once, approve",))
    rows = (
        "effect: after",
        "append call_resolved, turn_woken: not committed",
        "append call_resolved, turn_woken: after",
    )
    going_on = play(workers, backend, "An approved call, killed again while recovering", rows)
    assert wrong(deciding + going_on) == {}
    assert outcomes(deciding) == {"once, approve": {"1": 3}}
    assert outcomes(going_on) == {
        "read, approve": {"3": 1},
        "idempotent, approve": {"3": 1},
        "transactional, approve": {"1": 1},
        "once, approve": {"1": 1, "1; a person said: happened": 1},
    }


def test_where_nobody_tells_the_outcome_the_call_never_runs_again_and_the_model_knows(workers: Crew) -> None:
    results = play(workers, "SQLite", "Nobody tells", ("effect: before", "effect: after"))
    assert wrong(results) == {}
    assert outcomes(results) == {"once": {"0": 1, "1": 1}}


def test_a_table_draws_points_that_are_alike_together(workers: Crew) -> None:
    results = play(workers, "SQLite", "Nobody tells", "effect: ")
    assert table_text(results).splitlines() == [
        "| killed at | once |",
        "|---|---|",
        "| `effect: before` | 0 |",
        "| `effect: after` | 1 |",
    ]
