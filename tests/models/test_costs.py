"""What a request costs, to the cent's last fraction."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnkeeper.models import Model, PriceBand, catalogue, find
from turnkeeper.types import Usage

TOKENS = st.integers(0, 10_000_000)
USAGES = st.builds(
    Usage,
    input_tokens=TOKENS,
    output_tokens=TOKENS,
    cache_read_input_tokens=TOKENS,
    cache_write_5m_input_tokens=TOKENS,
    cache_write_1h_input_tokens=TOKENS,
)


@pytest.mark.parametrize(
    ("model_id", "usage", "dollars"),
    [
        ("claude-opus-5-5", Usage(input_tokens=1_000_000), "4"),
        ("claude-opus-5-5", Usage(output_tokens=1_000_000), "20"),
        ("claude-opus-5-5", Usage(cache_read_input_tokens=1_000_000), "0.2"),
        ("claude-opus-5-5", Usage(cache_write_5m_input_tokens=1_000_000), "5"),
        ("claude-opus-5-5", Usage(cache_write_1h_input_tokens=1_000_000), "8"),
        ("claude-sonnet-5", Usage(cache_read_input_tokens=1_000_000), "0.2"),
        ("claude-sonnet-5-5", Usage(cache_read_input_tokens=1_000_000), "0.1"),
        ("claude-fable-5-1", Usage(cache_read_input_tokens=1_000_000), "0.25"),
        ("claude-haiku-4-5-20251001", Usage(input_tokens=1), "0.000001"),
        (
            "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
            Usage(
                input_tokens=3,
                output_tokens=7,
                cache_read_input_tokens=11,
                cache_write_5m_input_tokens=13,
                cache_write_1h_input_tokens=17,
            ),
            "0.00026805",
        ),
        ("claude-opus-5-5", Usage(), "0"),
    ],
)
def test_a_request_costs_what_the_price_list_says(model_id: str, usage: Usage, dollars: str) -> None:
    assert find(model_id).cost(usage) == Decimal(dollars)


@pytest.mark.parametrize(
    ("usage", "dollars"),
    [
        (Usage(input_tokens=100_000, output_tokens=1_000), "0.0105"),
        (Usage(input_tokens=100_001, output_tokens=1_000), "0.0525005"),
        (Usage(input_tokens=1, cache_read_input_tokens=100_000), "0.0050005"),
        (Usage(input_tokens=1, cache_read_input_tokens=60_000, cache_write_1h_input_tokens=40_000), "0.0430005"),
    ],
)
def test_the_price_band_is_chosen_by_all_prompt_tokens_and_holds_for_the_whole_request(
    usage: Usage, dollars: str
) -> None:
    assert find("claude-haiku-5-5").cost(usage) == Decimal(dollars)


def test_the_highest_band_that_the_prompt_passes_counts() -> None:
    one, two = PriceBand(10, Decimal(2), Decimal(0)), PriceBand(20, Decimal(3), Decimal(0))
    model = Model(id="three-bands", input_price=Decimal(1), output_price=Decimal(0), price_bands=(one, two))
    assert [model.prices(tokens) for tokens in (10, 11, 21)] == [
        (Decimal(1), Decimal(0)),
        (Decimal(2), Decimal(0)),
        (Decimal(3), Decimal(0)),
    ]


def test_there_is_no_cost_without_a_price() -> None:
    assert find("модель").cost(Usage(input_tokens=1)) is None
    assert find("claude-mythos-preview").cost(Usage()) is None


def test_an_unknown_price_of_cache_reads_matters_only_where_the_cache_was_read() -> None:
    model = Model(id="no-read-price", input_price=Decimal(1), output_price=Decimal(1))
    assert model.cost(Usage(input_tokens=5)) == Decimal("0.000005")
    assert model.cost(Usage(cache_read_input_tokens=5)) is None


@given(st.sampled_from([model for model in catalogue() if model.input_price is not None]), USAGES, TOKENS)
def test_more_tokens_never_cost_less(model: Model, usage: Usage, more: int) -> None:
    cost, higher = model.cost(usage), model.cost(usage + Usage(input_tokens=more))
    assert cost is not None
    assert higher is not None
    assert higher >= cost >= 0
