"""The rules inside the exchange: the first fault answers, is recorded, and uses up no reply."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.simulator.asking import REQUEST, ask
from turnkeeper.testing import MessagesAPI, call, reply, text, thinking

TOOLS = [{"name": "f", "input_schema": {"type": "object"}}]
UNANSWERED = [
    {"role": "user", "content": "Los"},
    {"role": "assistant", "content": [{"type": "tool_use", "id": "toolu_1", "name": "f", "input": {}}]},
    {"role": "user", "content": "Und?"},
]


def test_a_call_without_its_result_is_refused_as_the_api_does() -> None:
    api = MessagesAPI("unused")
    answer = ask(api, messages=UNANSWERED, tools=TOOLS)
    assert (answer.status, answer.json["error"]["type"]) == (400, "invalid_request_error")
    assert (
        "`tool_use` ids were found without `tool_result` blocks immediately after: toolu_1"
        in (answer.json["error"]["message"])
    )
    (record,) = api.refusals
    assert record.refusal is not None
    assert record.refusal.rule
    assert record.refusal.repair
    assert api.unused_replies == 1
    with pytest.raises(AssertionError) as caught:
        api.assert_all_accepted()
    lines = str(caught.value).splitlines()
    assert lines[0] == "1 of 1 requests were refused:"
    assert lines[1] == "  request 1, POST /v1/messages: 400 invalid_request_error"
    assert f"(rule {record.refusal.rule}, at {record.refusal.path})" in lines[2]
    assert lines[3] == f"    to repair: {record.refusal.repair}"


def test_count_tokens_checks_the_same_shapes() -> None:
    api = MessagesAPI()
    body = {"messages": UNANSWERED, "tools": TOOLS, "model": "claude-opus-5-5"}
    answer = ask(api, path="/v1/messages/count_tokens", **body)
    assert answer.status == 400
    assert [record.path for record in api.refusals] == ["/v1/messages/count_tokens"]


def test_without_the_rules_anything_that_is_json_is_answered() -> None:
    api = MessagesAPI(["a", "b"], strict=False)
    assert ask(api, messages=UNANSWERED).status == 200
    assert ask(api, model=None, messages=5, max_tokens="viele").status == 200
    api.assert_all_accepted()


def test_an_unknown_model_is_not_found() -> None:
    answer = ask(MessagesAPI("unused"), model="claude-99")
    assert (answer.status, answer.json["error"]) == (404, {"type": "not_found_error", "message": "model: claude-99"})


def exchange_of(first: MessagesAPI, **fields: Any) -> list[Any]:
    """A conversation up to the results of its first call."""
    content = ask(first, tools=TOOLS, **fields).json["content"]
    results = [
        {"type": "tool_result", "tool_use_id": block["id"], "content": "42"}
        for block in content
        if block["type"] == "tool_use"
    ]
    return [*REQUEST["messages"], {"role": "assistant", "content": content}, {"role": "user", "content": results}]


def test_thinking_that_comes_back_as_it_was_is_accepted() -> None:
    api = MessagesAPI([reply(thinking("hm"), call("f")), "fertig"])
    assert ask(api, messages=exchange_of(api), tools=TOOLS).status == 200


def test_thinking_is_known_again_by_another_simulator() -> None:
    """A conversation outlives the simulator that answered it."""
    messages = exchange_of(MessagesAPI([reply(thinking("hm"), call("f"))]))
    assert ask(MessagesAPI("fertig"), messages=messages, tools=TOOLS).status == 200


@pytest.mark.parametrize("same_simulator", [True, False])
def test_changed_thinking_is_refused(same_simulator: bool) -> None:
    first = MessagesAPI([reply(thinking("hm"), call("f")), "unused"])
    messages = exchange_of(first)
    messages[1]["content"][0]["thinking"] = "anders"
    api = first if same_simulator else MessagesAPI("unused")
    answer = ask(api, messages=messages, tools=TOOLS, model="claude-opus-4-6", thinking={"type": "adaptive"})
    assert answer.status == 400


def test_a_foreign_signature_is_refused() -> None:
    api = MessagesAPI([reply(thinking("hm"), call("f")), "unused"])
    messages = exchange_of(api)
    messages[1]["content"][0]["signature"] = "AAAA"
    answer = ask(api, messages=messages, tools=TOOLS)
    assert answer.status == 400
    assert "Invalid `signature` in `thinking` block" in answer.json["error"]["message"]


@pytest.mark.parametrize("same_simulator", [True, False])
def test_thinking_is_bound_to_its_conversation(same_simulator: bool) -> None:
    first = MessagesAPI([reply(thinking("hm"), call("f")), "unused"])
    messages = exchange_of(first)
    messages[0] = {"role": "user", "content": "ein anderer Anfang"}
    answer = ask(first if same_simulator else MessagesAPI("unused"), messages=messages, tools=TOOLS)
    assert answer.status == 400
    assert "bound to a different conversation" in answer.json["error"]["message"]


def test_a_scripted_signature_is_known_to_the_simulator_that_sent_it() -> None:
    api = MessagesAPI([reply(thinking("hm", signature="sig-1"), call("f")), "fertig"])
    assert ask(api, messages=exchange_of(api), tools=TOOLS).status == 200


def test_redacted_thinking_comes_back_too() -> None:
    api = MessagesAPI([reply({"type": "redacted_thinking"}, text("ja"), call("f")), "fertig"])
    assert ask(api, messages=exchange_of(api), tools=TOOLS).status == 200


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 9) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)
FIELDS = ["model", "max_tokens", "messages", "tools", "system", "tool_choice", "thinking", "stream", "thread", "betas"]


@settings(max_examples=150)
@given(st.dictionaries(st.sampled_from(FIELDS), VALUES), st.booleans())
def test_any_json_object_is_answered(fields: dict[str, Any], strict: bool) -> None:
    api = MessagesAPI("ok", strict=strict)
    answer = ask(api, **fields)
    assert answer.status in (200, 400, 404)
    assert api.requests[0].status == answer.status
