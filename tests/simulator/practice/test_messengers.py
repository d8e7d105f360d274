"""A tool that carries what is said to the user: the practice model speaks through it, once in a turn."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from tests.simulator.practice.fake_desk import DESK_TOOLS, STRING, Conversation, FakeDesk, definition

SEND = definition("send_text_to_user", "Send a text.", text=STRING)


class Phone(FakeDesk):
    def run(self, name: str, given: Mapping[str, Any]) -> tuple[str, bool]:
        return ("sent", False) if name == "send_text_to_user" else super().run(name, given)


@pytest.mark.parametrize("choice", [None, {"type": "any"}, {"type": "tool", "name": "send_text_to_user"}])
def test_it_speaks_through_the_tool(choice: dict[str, Any] | None) -> None:
    conversation = Conversation([SEND], Phone(), tool_choice=None)
    conversation.messages.append({"role": "user", "content": "Hello!"})
    request = {**conversation.request(), **({"tool_choice": choice} if choice else {})}
    [block] = conversation.model.answer(request)["content"]
    assert (block["type"], block["name"]) == ("tool_use", "send_text_to_user")
    assert block["input"]["text"].startswith("Hello!")
    assert "practice model" in block["input"]["text"]


def test_it_looks_up_first_and_sends_once() -> None:
    conversation = Conversation([*DESK_TOOLS, SEND], Phone())
    conversation.send("Where is order 24601?")
    names = [[name for name, _ in round_] for round_ in conversation.calls]
    assert names == [["get_order_by_id"], ["send_text_to_user"]]
    assert "24601" in conversation.calls[1][0][1]["text"]
    conversation.send("Спасибо!")
    [[(_, given)]] = conversation.calls
    assert "Пожалуйста" in given["text"]
    assert "модель" not in given["text"]  # said once in a conversation


def test_with_none_it_calls_nothing() -> None:
    conversation = Conversation([SEND], Phone(), tool_choice={"type": "none"})
    conversation.send("Hello!")
    assert conversation.calls == []


def test_with_look_ups_only_it_promises_no_changes() -> None:
    conversation = Conversation([definition("get_my_orders", "The orders."), SEND], Phone())
    conversation.send("Hello!")
    [[(_, given)]] = conversation.calls
    assert "Offered here: get_my_orders." in given["text"]
    assert "cancel" not in given["text"]
