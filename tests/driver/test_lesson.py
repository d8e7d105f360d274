"""The lesson's function and the lists it is given: SDK objects, bad values, endings, messages of one role in a row."""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from typing import Any

import pytest
from anthropic.types import Message, TextBlock, ToolUseBlock, Usage

import turnkeeper as tk
from tests.driver.conftest import sent
from turnkeeper.errors import HistoryError
from turnkeeper.testing import MessagesAPI, call, script, text

OPUS = "claude-opus-4-8"
QUESTION = {"role": "user", "content": "который час?"}


def clock() -> str:
    """The time."""
    return "12:00"


def answered(
    given: list[Any], *replies: Any, model: str = OPUS, strict: bool = True, accept: Sequence[str] = ()
) -> tuple[list[Any], MessagesAPI]:
    api = MessagesAPI(script(*replies), strict=strict)
    return tk.run_conversation(given, tools=[clock], client=api, model=model, accept=accept), api


def refused(given: list[Any]) -> HistoryError:
    """How a list is refused; no request may go out."""
    api = MessagesAPI(script("never"))
    with pytest.raises(HistoryError) as raised:
        tk.run_conversation(given, tools=[clock], client=api, model=OPUS)
    assert list(api.requests) == []
    return raised.value


def test_a_list_that_ends_in_the_assistants_words_is_refused_before_any_request() -> None:
    error = refused([QUESTION, {"role": "assistant", "content": "It is"}])
    assert error.path == "messages.1"
    assert f"{OPUS} doesn't continue them; end it with a user's message" in str(error)
    assert refused([QUESTION, {"role": "assistant", "content": [text("It is")]}]).path == "messages.1"


def test_a_model_that_takes_a_prefill_goes_on_from_the_assistants_words() -> None:
    given = [QUESTION, {"role": "assistant", "content": "It is"}]
    after, api = answered(given, " noon.", model="claude-opus-4-5")
    assert after == [*given, {"role": "assistant", "content": [text(" noon.")]}]
    api.assert_all_accepted()


SEARCH = {"type": "web_search_20250305", "name": "web_search"}
PAUSED = [
    {"type": "text", "text": "Ищу."},
    {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "чай"}},
]


def test_a_list_that_ends_in_a_paused_turn_is_sent_on_as_it_is_and_goes_on() -> None:
    given: list[Any] = [QUESTION, {"role": "assistant", "content": PAUSED}]
    api = MessagesAPI(script("Нашёл."))
    after = tk.run_conversation(given, tools=[SEARCH], client=api, model=OPUS)
    assert sent(api, 0)["messages"] == given
    assert after == [*given, {"role": "assistant", "content": [text("Нашёл.")]}]
    assert all(new is old for new, old in zip(after, given, strict=False))


def test_an_agent_answers_only_what_the_model_can_go_on_from() -> None:
    agent = tk.Agent(model=OPUS, client=MessagesAPI(script("never")))
    with pytest.raises(HistoryError, match="doesn't continue them"):
        agent.answer_sync([QUESTION, {"role": "assistant", "content": "It is"}])


def test_an_unknown_model_may_take_a_prefill() -> None:
    given = [QUESTION, {"role": "assistant", "content": "It is"}]
    assert answered(given, " noon.", model="qwen3-coder:30b", strict=False)[0][:2] == given


def test_the_sdks_own_blocks_are_sent_as_the_api_wrote_them() -> None:
    given = [
        QUESTION,
        {
            "role": "assistant",
            "content": [
                TextBlock(type="text", text="Смотрю.", citations=None),
                ToolUseBlock.model_validate(
                    {"type": "tool_use", "id": "toolu_1", "name": "clock", "input": {}, "caller": {"type": "direct"}}
                ),
            ],
        },
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": [text("12:00")]}]},
    ]
    after, api = answered(given, "Полдень.")
    assert all(new is old for new, old in zip(after, given, strict=False))
    assert after[3:] == [{"role": "assistant", "content": [text("Полдень.")]}]
    assert sent(api, 0)["messages"][1]["content"] == [
        {"type": "text", "text": "Смотрю.", "citations": None},
        {"type": "tool_use", "id": "toolu_1", "name": "clock", "input": {}, "caller": {"type": "direct"}},
    ]


def test_calls_in_the_sdks_own_blocks_are_run() -> None:
    block = ToolUseBlock(type="tool_use", id="toolu_1", name="clock", input={})
    after, _ = answered([QUESTION, {"role": "assistant", "content": [block]}], "Noon.")
    assert after[2]["content"][0]["content"] == "12:00"


def test_a_whole_reply_of_the_sdk_is_refused_with_what_to_give_instead() -> None:
    usage = Usage(input_tokens=1, output_tokens=1)
    whole = Message(id="msg_1", content=[], model=OPUS, role="assistant", type="message", usage=usage)
    assert 'give {"role": message.role, "content": message.content}' in str(refused([QUESTION, whole, QUESTION]))


def image(data: Any, media_type: str = "image/png") -> list[dict[str, Any]]:
    source = {"type": "base64", "media_type": media_type, "data": data}
    return [{"role": "user", "content": [{"type": "image", "source": source}]}]


def endless() -> list[Any]:
    block: dict[str, Any] = {"type": "text", "text": "x"}
    block["more"] = block
    return [{"role": "user", "content": [block]}]


@pytest.mark.parametrize(
    ("given", "path", "says"),
    [
        (image(b"\x89PNG"), "messages.0.content.0.source.data", "give base64.b64encode(data).decode()"),
        (
            [{"role": "user", "content": [{"type": "text", "text": "x", "score": math.nan}]}],
            "messages.0.content.0.score",
            "can't be written as a JSON number",
        ),
        (
            [{"role": "user", "content": [{"type": "text", "text": "x", "n": 10**5000}]}],
            "messages.0.content.0.n",
            "can't be written as a JSON number",
        ),
        (
            [{"role": "user", "content": [{"type": "text", "text": "x", "at": {"when": object()}}]}],
            "messages.0.content.0.at.when",
            "a object has no JSON form",
        ),
        ([{"role": "user", "content": [{"type": "text", "text": "x", 7: 1}]}], "messages.0.content.0", "the key 7"),
        ([{"role": "user", "content": b"x"}], "messages.0.content", "bytes can't be sent"),
        (endless(), "messages.0.content.0" + ".more" * 106, "nested too deeply, or contains itself"),
    ],
)
def test_what_json_can_not_carry_is_named_with_its_place(given: list[Any], path: str, says: str) -> None:
    error = refused(given)
    assert error.path == path
    assert says in str(error)


def test_two_assistant_messages_before_open_calls_come_back_as_two() -> None:
    given = [
        QUESTION,
        {"role": "assistant", "content": "Let me look."},
        {"role": "assistant", "content": [call("clock", id="toolu_1")]},
    ]
    before = copy.deepcopy(given)
    after, api = answered(given, "Noon.", accept=["calls"])
    assert given == before
    assert all(new is old for new, old in zip(after, given, strict=False))
    assert [message["role"] for message in after] == ["user", "assistant", "assistant", "user", "assistant"]
    assert after[3]["content"][0]["tool_use_id"] == "toolu_1"
    api.assert_all_accepted()
    again, api = answered([*after, {"role": "user", "content": "спасибо"}], "Bye.")
    assert again[:5] == after
    api.assert_all_accepted()


def test_content_in_a_tuple_is_content() -> None:
    given = [{"role": "user", "content": (text("x"),)}]
    after, api = answered(given, "ok")
    assert after[0] is given[0]
    assert sent(api, 0)["messages"][0]["content"] == [text("x")]
