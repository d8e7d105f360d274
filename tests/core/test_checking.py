"""A caller's message list: what is refused, where, and how to mend it."""

from __future__ import annotations

from typing import Any

import pytest

from turnkeeper.core.checking import check_messages, check_user_content
from turnkeeper.errors import HistoryError

USER = {"role": "user", "content": "hi"}


def call(call_id: str = "a") -> dict[str, Any]:
    return {"role": "assistant", "content": [{"type": "tool_use", "id": call_id, "name": "f", "input": {}}]}


def results(*ids: str, before: tuple[dict[str, Any], ...] = ()) -> dict[str, Any]:
    blocks = [{"type": "tool_result", "tool_use_id": one, "content": "x"} for one in ids]
    return {"role": "user", "content": [*before, *blocks]}


@pytest.mark.parametrize(
    ("messages", "path", "says"),
    [
        ([], "messages", "the list is empty"),
        ([5], "messages.0", "an object with role and content"),
        ([{"role": "bot", "content": "x"}], "messages.0", "must be user, assistant or system, not 'bot'"),
        ([{"role": "assistant", "content": "x"}], "messages.0", "first message must be the user's"),
        ([{"role": "user", "content": "  "}], "messages.0", "the text is empty"),
        ([{"role": "user", "content": []}], "messages.0", "non-empty list"),
        ([{"role": "user"}], "messages.0", "must be text or"),
        ([{"role": "user", "content": ["x"]}], "messages.0.content.0", '"type"'),
        ([{"role": "user", "content": [{"type": "text", "text": " "}]}], "messages.0.content.0", "leave the block out"),
        ([USER, call(), USER], "messages.2", "no tool_result for a; add one"),
        ([USER, call(), results("b")], "messages.2", "'b' has no tool_use in the message before it; remove it"),
        ([USER, call(), results("a", "a")], "messages.2", "two tool_result blocks; keep one"),
        ([USER, results("a")], "messages.1", "no tool_use in the message before"),
        (
            [USER, call(), results("a", before=({"type": "text", "text": "x"},))],
            "messages.2",
            "before all other blocks",
        ),
        ([USER, call(""), USER], "messages.1", "has no id"),
        ([USER, call(), results("a"), call()], "messages.3", "was used before"),
        ([{"role": "user", "content": call()["content"]}], "messages.0", "belong in assistant messages"),
    ],
)
def test_each_fault_is_named_with_its_place(messages: list[Any], path: str, says: str) -> None:
    with pytest.raises(HistoryError) as raised:
        check_messages(messages)
    assert raised.value.path == path
    assert says in str(raised.value)


def test_sound_lists_pass_also_with_open_calls_at_the_end() -> None:
    check_messages([USER])
    check_messages([USER, USER, call(), results("a"), {"role": "assistant", "content": "ok"}, USER])
    check_messages([USER, call()])


@pytest.mark.parametrize("content", ["", " \n\t", [], None, 5, [{"type": "text", "text": ""}], [{}]])
def test_a_blank_message_is_refused(content: Any) -> None:
    with pytest.raises(HistoryError):
        check_user_content(content)
