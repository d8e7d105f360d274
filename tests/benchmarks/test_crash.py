"""The benchmark of crashes: the program of Turnkeeper, killed once, and what is said of an ending."""

from __future__ import annotations

import sys

import pytest

from benchmarks.crash.__main__ import POINTS, Ending, hold, main, table


def test_a_program_that_is_killed_after_its_effect_goes_on_without_a_second_one() -> None:
    ending, versions = hold("turnkeeper_once", sys.executable, "after the effect")
    assert ending == Ending(1, "")
    assert set(versions) == {"turnkeeper", "anthropic"}


def test_a_table_has_a_row_for_each_program_and_a_column_for_each_point() -> None:
    found = dict.fromkeys(POINTS, Ending(1, "")) | {"after the effect": Ending(2, "message 1 is there 2 times")}
    assert table({"sdk_runner": found}).splitlines()[2] == (
        "| `sdk_runner` | 1 | 1 | 2, message 1 is there 2 times | 1 | 1 | 1 |"
    )


def test_a_program_that_is_not_there_is_an_error_of_usage(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["no_such_program=python"])
    assert "PROGRAM=PYTHON, with a program of turnkeeper_once" in capsys.readouterr().err
