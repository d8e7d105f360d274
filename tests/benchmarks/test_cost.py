"""What docs/cost.md says a conversation costs is what the simulator's ledger comes to."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from benchmarks.cost.__main__ import PEERS, hold, row

PAGE = Path(__file__).resolve().parents[2] / "docs" / "cost.md"


@pytest.mark.slow
@pytest.mark.parametrize("peer", ["turnkeeper_agent", "turnkeeper_without_caching"])
def test_the_page_has_the_ledgers_numbers(peer: str) -> None:
    api, _ = hold(peer, sys.executable)
    cost = api.cost()
    assert cost is not None
    wanted = row(peer, api, cost).rsplit("|", 2)[0]
    assert wanted in PAGE.read_text("utf-8")


def test_no_library_of_the_page_is_cheaper() -> None:
    rows = [line for line in PAGE.read_text("utf-8").splitlines() if line.startswith("| `")]
    times = {line.split("`")[1]: float(line.rsplit("|", 2)[1]) for line in rows if line.split("`")[1] in PEERS}
    assert set(times) == set(PEERS)
    assert times.pop("turnkeeper_agent") == 1.0
    assert min(times.values()) > 5
