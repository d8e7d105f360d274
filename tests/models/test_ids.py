"""Every form of a model id leads to the one row of the catalogue."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnkeeper.models import base_id, catalogue, find

FORMS = (
    "{}",
    "{}-latest",
    "{}-20251101",
    "anthropic.{}",
    "anthropic.{}-20251101-v1:0",
    "anthropic.{}-v1",
    "us.anthropic.{}-20251101-v1:0",
    "us-gov.anthropic.{}-v2:0",
    "global.anthropic.{}-v1:0",
    "apac.anthropic.{}-v1:0",
    "arn:aws:bedrock:us-east-1::foundation-model/anthropic.{}-20251101-v1:0",
    "arn:aws:bedrock:eu-central-1:123456789012:inference-profile/eu.anthropic.{}-v1:0",
    "{}@20251101",
    "{}@latest",
    "{}@default",
)
IDS = [model.id for model in catalogue()]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("model_id", IDS)
def test_a_model_is_found_by_every_form_of_its_id(model_id: str, form: str) -> None:
    found = find(form.format(model_id))
    assert (found.id, found.known) == (model_id, True)


@pytest.mark.parametrize(
    "model_id",
    [
        "",
        " claude-opus-5-5",
        "claude-opus-5-5\n",
        "claude-opus-9",
        "claude-opus-5-5-2025",
        "Claude-Opus-5-5",
        "claude-opus-5-5:free",
        "anthropic/claude-opus-5-5",
        "gpt-6",
        "qwen3:8b",
        "модель-ИИ 🐻",
        "arn:aws:bedrock:us-east-1::application-inference-profile/claude",
    ],
)
def test_an_unknown_id_gives_a_model_that_allows_everything_and_has_no_price(model_id: str) -> None:
    model = find(model_id)
    assert (model.id, model.known) == (model_id, False)
    assert (model.input_price, model.output_price, model.prices(1)) == (None, None, None)
    assert (model.context_window, model.max_output, model.cache_minimum) == (None, None, None)
    assert (model.forced_tool_choice, model.sampling, model.window_overflow) == ("unknown", "unknown", "unknown")
    assert (model.thinking_rejected, model.effort_levels, model.system_role) == ((), None, None)
    assert model.prefill
    assert not model.conversation_binding


@given(st.text())
def test_any_text_has_a_base_id_that_is_its_own_base_id(text: str) -> None:
    assert base_id(base_id(text)) == base_id(text)
    assert find(text).id in {text, base_id(text)}
