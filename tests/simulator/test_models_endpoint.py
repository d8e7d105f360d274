"""GET /v1/models and /v1/models/{id}, as the SDK reads them."""

from __future__ import annotations

from tests.simulator.asking import ask_raw
from turnkeeper.models import catalogue
from turnkeeper.testing import MessagesAPI


def test_the_list_pages_through_the_whole_catalogue() -> None:
    client = MessagesAPI().sync_client()
    assert [model.id for model in client.models.list(limit=4)] == [model.id for model in catalogue()]


def test_a_page_says_where_it_begins_and_ends() -> None:
    ids = [model.id for model in catalogue()]
    page = ask_raw(MessagesAPI(), method="GET", path=f"/v1/models?limit=2&after_id={ids[0]}").json
    assert [model["id"] for model in page["data"]] == ids[1:3]
    assert (page["first_id"], page["last_id"], page["has_more"]) == (ids[1], ids[2], True)
    last = ask_raw(MessagesAPI(), method="GET", path=f"/v1/models?before_id={ids[2]}").json
    assert [model["id"] for model in last["data"]] == ids[:2]
    assert last["has_more"] is False


def test_a_model_is_described_with_its_limits() -> None:
    model = MessagesAPI().sync_client().models.retrieve("claude-opus-5-5")
    assert model.id == "claude-opus-5-5"
    assert model.display_name == "Claude Opus 5.5"
    assert (model.max_input_tokens, model.max_tokens) == (1_000_000, 128_000)
    assert (model.line, model.lifecycle) == ("opus", "active")
    assert model.created_at.isoformat() == "2026-09-22T00:00:00+00:00"


def test_a_dated_id_finds_its_model() -> None:
    answer = ask_raw(MessagesAPI(), method="GET", path="/v1/models/claude-haiku-4-5-20251001")
    assert answer.json["id"] == "claude-haiku-4-5"


def test_an_unknown_model_is_not_found() -> None:
    answer = ask_raw(MessagesAPI(), method="GET", path="/v1/models/claude-99")
    assert (answer.status, answer.json["error"]) == (
        404,
        {"type": "not_found_error", "message": "model: claude-99"},
    )
