"""The targets: each is a line with its aim, its figure and whether it is met."""

from __future__ import annotations

import sys
from typing import Any

from benchmarks.targets import Target, of_imports, of_requests, targets_table


def test_a_target_that_is_missed_shows() -> None:
    lines = targets_table(
        [Target("speed", "1.5", "1.2", True, "`x` 3.00"), Target("size", "2", "9", False)]
    ).splitlines()
    assert lines[2:] == ["| speed | 1.5 | 1.2 | yes | `x` 3.00 |", "| size | 2 | 9 | **no** |  |"]


def test_requests_are_judged_beside_the_floor_and_the_peers_of_the_same_cycle() -> None:
    cost = {"httpx2_loop": 1.0, "turnkeeper": 1.4, "peer": 1.3}

    def measure(client: str, scenario: dict[str, Any]) -> dict[str, Any]:
        one = cost[client]
        return {"per_request_ms": one, "wall_seconds": one, "growth_ms": [one + n * one / 100 for n in range(50)]}

    found = of_requests(measure, list(cost), 2)
    assert [(one.ours, one.met) for one in found] == [
        ("1.40", False),  # within 1.5 times the floor, and yet above a peer
        ("1.40", False),
        ("0.35", False),
        ("0.35", False),
        ("71%", False),
    ]
    assert found[0].others == "`peer` 1.30"
    cost["turnkeeper"] = 0.9
    assert all(one.met for one in of_requests(measure, list(cost), 2))


def test_importing_is_light() -> None:
    seconds, modules, _ = of_imports({"sdk_runner": sys.executable})
    assert modules.met
    assert int(modules.ours) < 100
    assert float(seconds.ours) > 0
