"""What is remembered of sent replies, and what the digest of a conversation covers."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.simulator.rules.asked import ask, assistant, call, result, thinking, tool, user
from turnkeeper.simulator.rules import RememberedReplies, SentReplies, prefix_digest

MARK = {"type": "ephemeral"}
CONVERSATION = ask(
    user("Где заказ?"),
    assistant([thinking("one"), {"type": "text", "text": "Ищу."}, call("a")]),
    user([result("a", [{"type": "text", "text": "в пути"}])]),
    system="Ты помощник.",
    tools=[tool()],
)
Change = Callable[[dict[str, Any]], None]


def changed(change: Change) -> str:
    request = copy.deepcopy(CONVERSATION)
    change(request)
    return prefix_digest(request)


def block(request: dict[str, Any], message: int, index: int) -> dict[str, Any]:
    found: dict[str, Any] = request["messages"][message]["content"][index]
    return found


def split(request: dict[str, Any]) -> None:
    blocks = request["messages"][1]["content"]
    request["messages"][1:2] = [assistant(blocks[:2]), assistant(blocks[2:])]


FREE: dict[str, Change] = {
    "a cache mark on a message": lambda request: block(request, 1, 1).update(cache_control=MARK),
    "a cache mark on a result": lambda request: block(request, 2, 0).update(cache_control=MARK),
    "a cache mark inside a result": lambda request: block(request, 2, 0)["content"][0].update(cache_control=MARK),
    "a cache mark on a tool": lambda request: request["tools"][0].update(cache_control=MARK),
    "a cache mark on the system prompt": lambda request: request.update(
        system=[{"type": "text", "text": "Ты помощник.", "cache_control": MARK}]
    ),
    "the automatic cache mark": lambda request: request.update(cache_control=MARK),
    "a null member": lambda request: block(request, 1, 1).update(citations=None),
    "the direct caller": lambda request: block(request, 1, 2).update(caller={"type": "direct"}),
    "text in blocks instead of a string": lambda request: request["messages"][0].update(
        content=[{"type": "text", "text": "Где заказ?"}]
    ),
    "blank text": lambda request: request["messages"][1]["content"].insert(1, {"type": "text", "text": "\n"}),
    "leading thinking left out": lambda request: request["messages"][1]["content"].pop(0),
    "one message in two": split,
    "other sampling": lambda request: request.update(max_tokens=1, model="claude-fable-5-1"),
    "the order of members": lambda request: request["messages"].__setitem__(
        2, dict(reversed(request["messages"][2].items()))
    ),
}
BOUND: dict[str, Change] = {
    "another text": lambda request: block(request, 1, 1).update(text="Ищу!"),
    "another input": lambda request: block(request, 1, 2).update(input={"город": "Берлин 🐨"}),
    "another result": lambda request: block(request, 2, 0)["content"][0].update(text="потерян"),
    "another system prompt": lambda request: request.update(system="Ты не помощник."),
    "no system prompt": lambda request: request.pop("system"),
    "another tool": lambda request: request["tools"].append(tool("second")),
    "another description": lambda request: request["tools"][0].update(description="ищет"),
    "a message more": lambda request: request["messages"].append(user("ещё")),
    "a message less": lambda request: request["messages"].pop(),
    "another role": lambda request: request["messages"][0].update(role="assistant"),
}


@pytest.mark.parametrize("change", FREE.values(), ids=FREE.keys())
def test_the_digest_stays_the_same_with(change: Change) -> None:
    assert changed(change) == prefix_digest(CONVERSATION)


@pytest.mark.parametrize("change", BOUND.values(), ids=BOUND.keys())
def test_the_digest_changes_with(change: Change) -> None:
    assert changed(change) != prefix_digest(CONVERSATION)


def test_the_changes_that_matter_have_digests_of_their_own() -> None:
    assert len({changed(change) for change in BOUND.values()}) == len(BOUND)


@given(
    st.dictionaries(
        st.sampled_from(["system", "tools", "messages", "имя"]),
        st.recursive(
            st.none() | st.integers() | st.text() | st.floats(),
            lambda inner: (
                st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["role", "content", "type"]), inner)
            ),
            max_leaves=8,
        ),
    )
)
def test_anything_has_a_digest(request: dict[str, Any]) -> None:
    assert prefix_digest(request) == prefix_digest(copy.deepcopy(request))


def test_replies_are_remembered_by_signature_data_and_call() -> None:
    content = [thinking("подпись", "текст"), {"type": "redacted_thinking", "data": "AAA="}, call("a")]
    memory = RememberedReplies()
    memory.remember(CONVERSATION, content, model="claude-opus-5-5")
    sent: SentReplies = memory
    content[0]["thinking"] = "изменён"
    for key in ("подпись", "AAA=", "a"):
        reply = sent.reply_with(key)
        assert reply is not None
        assert (reply.model, len(reply.content)) == ("claude-opus-5-5", 3)
    assert sent.signature_known("подпись")
    assert not sent.signature_known("a")
    assert sent.original_block("подпись") == thinking("подпись", "текст")
    assert sent.prefix_digest_for("AAA=") == prefix_digest(CONVERSATION)


def test_nothing_is_known_of_what_was_not_sent() -> None:
    sent = RememberedReplies()
    assert not sent.signature_known("")
    assert (sent.prefix_digest_for("x"), sent.original_block("x"), sent.reply_with("x")) == (None, None, None)
