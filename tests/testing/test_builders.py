"""The short ways to write replies give plain dicts in the API's own format."""

from __future__ import annotations

from turnkeeper import testing
from turnkeeper.testing import call, reply, text, thinking


def test_blocks() -> None:
    assert text("ы", citations=[]) == {"type": "text", "text": "ы", "citations": []}
    assert call("f") == {"type": "tool_use", "name": "f", "input": {}}
    assert call("f", {"a": 1}, id="toolu_1", caller={"type": "direct"}) == {
        "type": "tool_use",
        "id": "toolu_1",
        "name": "f",
        "input": {"a": 1},
        "caller": {"type": "direct"},
    }
    assert call("f", raw_input='{"a') == {"type": "tool_use", "name": "f", "input": {}, "raw_input": '{"a'}
    assert call("f", id="")["id"] == ""
    assert thinking("hm") == {"type": "thinking", "thinking": "hm"}
    assert thinking(signature="s") == {"type": "thinking", "thinking": "", "signature": "s"}


def test_a_reply_of_texts_and_blocks() -> None:
    assert reply("a", call("f"), stop_reason=None) == {
        "content": [{"type": "text", "text": "a"}, {"type": "tool_use", "name": "f", "input": {}}],
        "stop_reason": None,
    }
    assert reply() == {"content": []}


def test_a_reply_does_not_share_its_blocks() -> None:
    block = text("a")
    made = reply(block)
    block["text"] = "b"
    assert made["content"][0]["text"] == "a"


def test_every_name_of_the_package_loads() -> None:
    assert [name for name in testing.__all__ if getattr(testing, name, None) is None] == []
    assert set(testing.__all__) <= set(dir(testing))
    assert not hasattr(testing, "no_such_name")
