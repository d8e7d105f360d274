"""The benchmark's tables, from measurements made up here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from benchmarks.pages import write
from benchmarks.report import Results, growth_table, requests_table, spread_line, versions_line


def run(per_request_ms: float, growth_ms: list[float] | None = None, **versions: str) -> dict[str, Any]:
    return {"seconds": 1.5, "per_request_ms": per_request_ms, "growth_ms": growth_ms or [], "versions": versions}


def test_a_ratio_is_taken_within_each_cycle_and_its_median_shown() -> None:
    results = Results()
    for floor, ours in ((1.0, 2.0), (2.0, 4.0), (1.0, 3.0)):
        results.add("floor", "sync", run(floor))
        results.add("ours", "sync", run(ours))
    assert requests_table(results, ["floor", "ours"], ["sync"], "floor").splitlines() == [
        "| client | sync |",
        "|---|---:|",
        "| `floor` | 1.00 (1.00) |",
        "| `ours` | 3.00 (2.00) |",
    ]
    assert spread_line(results, ["floor"], ["sync"]) == "Runs of the same kind differ by up to 100%."


def test_a_client_that_failed_is_said_to_have_failed() -> None:
    results = Results()
    results.add("floor", "sync", run(1.0))
    results.add("ours", "sync", None)
    assert requests_table(results, ["floor", "ours"], ["sync"], "floor").endswith("| `ours` | failed |")
    assert growth_table(results, ["ours"], "sync", 10).endswith("| `ours` | failed | failed |")


def test_growth_shows_the_mean_around_a_round() -> None:
    results = Results()
    results.add("ours", "growth", run(1.0, [float(at) for at in range(1, 100)]))
    assert growth_table(results, ["ours"], "growth", 30).splitlines() == [
        "| client | round 10 | round 30 | whole conversation |",
        "|---|---:|---:|---:|",
        "| `ours` | 10.00 | 30.00 | 1.50 s |",
    ]


def test_versions_are_told_once_each() -> None:
    results = Results()
    results.add("a", "sync", run(1.0, anthropic="2.14.0"))
    results.add("b", "sync", run(1.0, anthropic="2.14.0", turnkeeper="0.1.0"))
    assert versions_line(results) == "anthropic 2.14.0, turnkeeper 0.1.0"


def test_tables_go_between_the_marks_and_nowhere_else(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("Before.\n<!-- measured -->\nold\n<!-- /measured -->\nAfter.\n", "utf-8")
    write(page, "нов")
    assert page.read_text("utf-8") == "Before.\n<!-- measured -->\nнов\n<!-- /measured -->\nAfter.\n"


def test_a_page_without_the_marks_is_left_alone(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("Nothing here.\n", "utf-8")
    with pytest.raises(SystemExit, match="has no place for the tables"):
        write(page, "new")
    assert page.read_text("utf-8") == "Nothing here.\n"
