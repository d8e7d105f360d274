"""The clock that stands still and the ids that count."""

from __future__ import annotations

import asyncio
import datetime

import pytest

from turnkeeper.testing import FixedClock, FixedIds


def test_the_clock_moves_only_when_it_is_told() -> None:
    clock = FixedClock()
    assert clock() == clock() == 1_796_000_400
    assert clock.now() == datetime.datetime(2026, 11, 30, 1, tzinfo=datetime.UTC)
    clock.advance(90)
    assert clock.now().isoformat() == "2026-11-30T01:01:30+00:00"


def test_the_clock_can_start_anywhere() -> None:
    assert FixedClock(5)() == 5
    assert FixedClock(datetime.datetime(1970, 1, 2, tzinfo=datetime.UTC))() == 86_400


def test_sleeping_takes_no_time() -> None:
    clock = FixedClock(0)
    asyncio.run(clock.sleep(3600))
    asyncio.run(clock.sleep(0.5))
    assert clock() == 3600.5
    assert clock.slept == (3600, 0.5)


def test_time_does_not_go_back() -> None:
    with pytest.raises(ValueError, match="a clock doesn't go back by 1 seconds"):
        FixedClock().advance(-1)


def test_ids_count_per_prefix() -> None:
    ids = FixedIds()
    assert [ids("toolu"), ids("msg"), ids("toolu")] == ["toolu_000001", "msg_000001", "toolu_000002"]
