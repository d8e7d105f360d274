"""The catalogue is complete, says where each row comes from, and is checked while it is read."""

from __future__ import annotations

import datetime
import typing

import pytest
from anthropic._data import DEPRECATED_MODELS
from anthropic.types.model_param import ModelParam

from turnkeeper.errors import ConfigurationError
from turnkeeper.models import Model, PriceBand, catalogue, find, read_catalogue

ROW = """
[[model]]
id = "claude-тест"
context_window = 1
max_output = 1
input_price = "0.5"
output_price = "1"
sources = ["https://example.org/страница"]
read = 2026-11-30
"""
SDK_MODELS = [name for member in typing.get_args(ModelParam) for name in typing.get_args(member)]


@pytest.mark.parametrize("model_id", SDK_MODELS)
def test_every_model_that_the_sdk_names_is_known(model_id: str) -> None:
    assert find(model_id).known


def test_the_sdks_end_of_life_dates_are_the_catalogues() -> None:
    known = {name: day for name, day in DEPRECATED_MODELS.items() if find(name).known}
    assert known
    for name, day in known.items():
        end = find(name).end_of_life
        assert end is not None
        assert day in {
            end.isoformat(),
            f"{end:%B} {end.day}, {end.year}",
            f"{end:%B} {end.day}{_suffix(end)}, {end.year}",
        }


def _suffix(day: datetime.date) -> str:
    return "th" if 11 <= day.day <= 13 else {1: "st", 2: "nd", 3: "rd"}.get(day.day % 10, "th")


@pytest.mark.parametrize("model", catalogue(), ids=[model.id for model in catalogue()])
def test_every_row_says_where_and_when_it_was_read(model: Model) -> None:
    assert model.known
    assert model.sources
    assert all(source.startswith("https://") for source in model.sources)
    assert model.read is not None
    assert model.read >= datetime.date(2026, 1, 1)


@pytest.mark.parametrize("model", catalogue(), ids=[model.id for model in catalogue()])
def test_the_fields_of_a_row_agree_with_each_other(model: Model) -> None:
    assert (model.thinking_default == "always_on") <= ("disabled" in model.thinking_rejected)
    assert model.effort_default is None or model.effort_default in (model.effort_levels or ())
    assert (model.max_output or 0) <= (model.context_window or 0)
    assert (model.input_price is None) == (model.output_price is None)
    assert model.image_limit == (100 if model.context_window == 200_000 else 600)


def test_the_catalogue_is_read_once() -> None:
    assert find("claude-opus-5-5") is find("claude-opus-5-5-latest")


def test_a_row_takes_the_defaults_and_its_own_values_win() -> None:
    (model,) = read_catalogue('[defaults]\nprefill = false\nsampling = "removed"\n' + ROW + 'sampling = "accepted"\n')
    assert (model.id, model.prefill, model.sampling) == ("claude-тест", False, "accepted")


def test_unknown_is_no_value() -> None:
    (model,) = read_catalogue(ROW + 'cache_minimum = "unknown"\nsystem_role = "unknown"\ncache_read_rate = "unknown"\n')
    assert (model.cache_minimum, model.system_role, model.cache_read_rate) == (None, None, None)


def test_price_bands_are_read() -> None:
    (model,) = read_catalogue(ROW + 'price_bands = [{ above = 9, input_price = "1", output_price = "2.50" }]\n')
    assert [(band.above, str(band.output_price)) for band in model.price_bands] == [(9, "2.50")]
    assert all(isinstance(band, PriceBand) for band in model.price_bands)


@pytest.mark.parametrize(
    ("added", "words"),
    [
        ('цена = "1"\n', "not TOML"),
        ('price = "1"\n', "claude-тест has an unknown field price"),
        ('forced_tool_choice = "perhaps"\n', "claude-тест.forced_tool_choice is 'perhaps'; known are yes, no"),
        ("forced_tool_choice = true\n", "claude-тест.forced_tool_choice is True"),
        ("cache_read_rate = 0.1\n", "claude-тест.cache_read_rate must be a decimal number as text, not 0.1"),
        ('cache_read_rate = "десять"\n', "claude-тест.cache_read_rate is no decimal number: 'десять'"),
        ('cache_read_rate = "-1"\n', "claude-тест.cache_read_rate can't be '-1'"),
        ('cache_read_rate = "NaN"\n', "claude-тест.cache_read_rate can't be 'NaN'"),
        ("cache_minimum = true\n", "claude-тест.cache_minimum must be a whole number, not True"),
        ('cache_minimum = "512"\n', "claude-тест.cache_minimum must be a whole number, not '512'"),
        ('released = "2026-01-01"\n', "claude-тест.released must be a date"),
        ("prefill = 1\n", "claude-тест.prefill must be true or false, not 1"),
        ('prefill = "unknown"\n', "claude-тест.prefill must be true or false, not 'unknown'"),
        ('thinking_rejected = "enabled"\n', "claude-тест.thinking_rejected must be a list, not 'enabled'"),
        ("note = 5\n", "claude-тест.note must be a text, not 5"),
        ('unsettled = ["prise"]\n', "claude-тест calls unsettled what no field is: prise"),
        ("price_bands = 3\n", "claude-тест.price_bands must be a list, not 3"),
        ("price_bands = [{ above = 1 }]\n", "claude-тест.price_bands needs above, input_price and output_price"),
        (ROW, "the catalogue has claude-тест twice"),
    ],
)
def test_a_mistake_in_a_row_is_named(added: str, words: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        read_catalogue(ROW + added)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('[[model]]\nid = "claude-x"\n', "claude-x lacks sources, read, context_window"),
        ("[[model]]\nread = 2026-01-01\n", "row 0 lacks id, sources"),
        ("model = 5\n", "needs a table [defaults] and tables [[model]]"),
        ("defaults = []\n", "needs a table [defaults] and tables [[model]]"),
        ("model = [1]\n", "needs a table [defaults] and tables [[model]]"),
        ("[[model]\n", "not TOML"),
    ],
)
def test_a_text_that_is_no_catalogue_is_refused(text: str, words: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        read_catalogue(text)
    assert words in str(caught.value)


def test_structured_output_is_there_from_4_5_on_and_where_no_page_says_so_it_is_not_used() -> None:
    without = [model.id for model in catalogue() if model.structured_output is not True]
    assert without == ["claude-mythos-preview"]
    assert find("claude-mythos-preview").structured_output is None
    assert find("qwen3").structured_output is None
