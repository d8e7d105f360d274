"""Whatever a request holds, there is an answer of the right form, in a reasonable time."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.simulator.practice.fake_desk import DESK_TOOLS, Conversation, FakeDesk
from turnkeeper.simulator.practice import PracticeModel

MODEL = PracticeModel()

scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(exclude_categories=()))
anything = st.recursive(scalars, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=8)
phrases = st.sampled_from(
    ["cancel", "it", "order", "24601", "13579", "my orders", "john@gmail.com", "123-456-7890", "change my email to",
     "отмени", "заказ", "第一个", "取消", "annuler", "stornieren", "both", "the first one", "yes", "no", "\ud800",
     "\u202e", "who are you", "user name is", "Berlin", '"x"', "#", "@", "３", "🦄", "\x00", "\n"]
)  # fmt: skip
texts = st.lists(phrases, max_size=6).map(" ".join) | st.text(st.characters(exclude_categories=()), max_size=40)
ids = st.sampled_from(["toolu_1", "toolu_2"])
names = st.sampled_from([tool["name"] for tool in DESK_TOOLS] + ["get_time", "", "a__cancel_order"])
blocks = st.one_of(
    st.fixed_dictionaries({"type": st.just("text"), "text": texts | anything}),
    st.fixed_dictionaries({"type": st.just("tool_use"), "id": ids, "name": names | anything, "input": anything}),
    st.fixed_dictionaries(
        {"type": st.just("tool_result"), "tool_use_id": ids | anything, "content": texts | anything},
        optional={"is_error": st.booleans() | anything},
    ),
    st.fixed_dictionaries({"type": st.sampled_from(["image", "thinking", "document", "new_thing"])}),
    anything,
)
messages = st.fixed_dictionaries(
    {
        "role": st.sampled_from(["user", "assistant", "system"]) | anything,
        "content": texts | st.lists(blocks, max_size=4),
    }
)
schemas = st.recursive(
    st.fixed_dictionaries(
        {}, optional={"type": st.sampled_from(["string", "integer", "array"]) | anything, "enum": anything}
    ),
    lambda inner: st.fixed_dictionaries(
        {},
        optional={
            "type": st.just("object") | anything,
            "properties": st.dictionaries(st.sampled_from(["timezone", "order_id", "n", "query"]), inner) | anything,
            "required": st.lists(st.sampled_from(["timezone", "n", "zz"])) | anything,
            "items": inner,
            "anyOf": st.lists(inner, max_size=2) | anything,
            "$ref": st.just("#") | anything,
        },
    ),
    max_leaves=6,
)
tools = st.lists(
    st.sampled_from(DESK_TOOLS)
    | st.fixed_dictionaries({"name": names, "input_schema": schemas}, optional={"description": anything})
    | anything,
    max_size=8,
)
choices = st.sampled_from(
    [{"type": "auto"}, {"type": "any"}, {"type": "none"}, {"type": "tool", "name": "cancel_order"}]
)
requests = st.fixed_dictionaries(
    {"messages": st.lists(messages | anything, max_size=8) | anything},
    optional={
        "system": texts | anything,
        "tools": tools | anything,
        "tool_choice": choices | anything,
        "output_config": st.fixed_dictionaries(
            {"format": st.fixed_dictionaries({"type": st.just("json_schema"), "schema": schemas})}
        ),
    },
)


def check(reply: dict[str, Any]) -> None:
    assert reply.keys() == {"content", "stop_reason"}
    kinds = {block["type"] for block in reply["content"]}
    assert kinds == ({"tool_use"} if reply["stop_reason"] == "tool_use" else {"text"})
    assert all(block["text"].strip() for block in reply["content"] if block["type"] == "text")
    assert all(isinstance(block["input"], dict) for block in reply["content"] if block["type"] == "tool_use")
    json.dumps(reply, ensure_ascii=False).encode("utf-8")


@settings(max_examples=300, deadline=None)
@given(requests)
def test_every_request_gets_a_reply_of_the_right_form(request: dict[str, Any]) -> None:
    check(MODEL.answer(request))


@settings(max_examples=150, deadline=None)
@given(st.lists(texts, min_size=1, max_size=5))
def test_no_conversation_at_the_desk_goes_on_calling(said: list[str]) -> None:
    conversation = Conversation(DESK_TOOLS, FakeDesk(), model=MODEL)
    for text in said:
        conversation.send(text, rounds=40)


@settings(max_examples=100, deadline=None)
@given(st.lists(texts, min_size=1, max_size=4), st.lists(st.tuples(texts, st.booleans()), min_size=1, max_size=5))
def test_no_results_keep_it_calling(said: list[str], answers: list[tuple[str, bool]]) -> None:
    class Odd(FakeDesk):
        def run(self, name: str, given: Any) -> tuple[str, bool]:
            return answers[len(name) % len(answers)]

    conversation = Conversation(DESK_TOOLS, Odd(), model=MODEL)
    for text in said:
        conversation.send(text, rounds=40)


@pytest.mark.parametrize(
    "request_body",
    [
        {},
        {"messages": []},
        {"messages": None, "tools": None, "system": None},
        {"messages": [{"role": "user", "content": []}]},
        {"messages": [{"role": "user", "content": [{"type": "image", "source": {}}]}]},
        {"messages": [{"role": "assistant", "content": "Hm"}], "tools": DESK_TOOLS},
        {"messages": [{"role": "user", "content": "cancel 13579 \ud83d"}], "tools": DESK_TOOLS},
    ],
)
def test_an_odd_request_is_answered(request_body: dict[str, Any]) -> None:
    check(MODEL.answer(request_body))


@pytest.mark.parametrize(
    "unit", ["a", "a.", "1 ", "1-", "cancel ", "@", "(", '"', "in A ", "#1 ", "取消", "user name is x1 "]
)
def test_a_very_long_message_takes_no_more_than_a_moment(unit: str) -> None:
    check(MODEL.answer({"messages": [{"role": "user", "content": unit * 20_000}], "tools": DESK_TOOLS}))


def test_a_deep_result_and_a_deep_schema_are_survived() -> None:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(400):
        schema = {"type": "object", "properties": {"a": schema}, "required": ["a"]}
    tool = {"name": "dig", "input_schema": schema}
    check(
        MODEL.answer(
            {"messages": [{"role": "user", "content": "dig"}], "tools": [tool], "tool_choice": {"type": "any"}}
        )
    )
    call = {"type": "tool_use", "id": "t", "name": "get_order_by_id", "input": {"order_id": "13579"}}
    result = {"type": "tool_result", "tool_use_id": "t", "content": "[" * 100_000}
    talk = [
        {"role": "user", "content": "where is 13579"},
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": [result]},
    ]
    check(MODEL.answer({"messages": talk, "tools": DESK_TOOLS}))
