"""The `usage` object of a reply, as the counts that are billed."""

from __future__ import annotations

from typing import Any

import pytest

from turnkeeper.types import Usage


def test_cache_writes_are_split_by_lifetime() -> None:
    usage = {
        "input_tokens": 1,
        "output_tokens": 2,
        "cache_read_input_tokens": 3,
        "cache_creation_input_tokens": 50,
        "cache_creation": {"ephemeral_5m_input_tokens": 10, "ephemeral_1h_input_tokens": 40},
    }
    expected = Usage(
        input_tokens=1,
        output_tokens=2,
        cache_read_input_tokens=3,
        cache_write_5m_input_tokens=10,
        cache_write_1h_input_tokens=40,
        requests=1,
    )
    assert Usage.of(usage) == expected
    assert Usage.of({**usage, "cache_creation": None}).cache_write_5m_input_tokens == 50
    del usage["cache_creation_input_tokens"]
    assert Usage.of(usage) == expected


@pytest.mark.parametrize("count", ["12", 1.5, True, None, [], {}, -3, 2**60, pytest.param(10**4000, id="huge")])
def test_what_is_no_count_is_nought(count: Any) -> None:
    usage = {
        "input_tokens": count,
        "output_tokens": 7,
        "cache_read_input_tokens": count,
        "cache_creation_input_tokens": count,
        "cache_creation": {"ephemeral_5m_input_tokens": count, "ephemeral_1h_input_tokens": count},
        "iterations": [{"input_tokens": count}],
    }
    assert Usage.of(usage) == Usage(output_tokens=7, requests=1)


@pytest.mark.parametrize("part", ["many", 5, [1], True])
def test_parts_of_another_type_are_passed_over(part: Any) -> None:
    usage = {"input_tokens": 4, "cache_creation_input_tokens": 9, "cache_creation": part, "iterations": part}
    assert Usage.of(usage) == Usage(input_tokens=4, cache_write_5m_input_tokens=9, requests=1)
    assert Usage.of(part) == Usage(requests=1)
    assert Usage.of(None) == Usage(requests=1)


def test_the_steps_of_a_reply_are_summed_where_they_say_more_than_the_counts_beside_them() -> None:
    compacted = {
        "input_tokens": 10,
        "output_tokens": 20,
        "iterations": [
            {
                "type": "compaction",
                "input_tokens": 180_000,
                "output_tokens": 3_500,
                "cache_creation_input_tokens": 100,
                "cache_creation": {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 100},
            },
            {"type": "message", "input_tokens": 10, "output_tokens": 20},
        ],
    }
    assert Usage.of(compacted) == Usage(
        input_tokens=180_010, output_tokens=3_520, cache_write_1h_input_tokens=100, requests=1
    )
    for steps in ([], None, [None, 5], [{"input_tokens": 1}]):
        assert Usage.of({**compacted, "iterations": steps}) == Usage(input_tokens=10, output_tokens=20, requests=1)
