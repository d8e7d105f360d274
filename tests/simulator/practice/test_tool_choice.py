"""`tool_choice` is obeyed: none, any, a named tool, and one call at a time."""

from __future__ import annotations

import json
from typing import Any

from tests.simulator.practice.fake_desk import DESK_TOOLS, STRING, Conversation, definition
from turnkeeper.simulator.practice import PracticeModel

NUMBER = {"type": "number"}


def ask(text: str, tools: list[dict[str, Any]], **fields: Any) -> dict[str, Any]:
    return PracticeModel().answer({"messages": [{"role": "user", "content": text}], "tools": tools, **fields})


def calls(reply: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    return [(block["name"], block["input"]) for block in reply["content"] if block["type"] == "tool_use"]


def test_none_means_no_calls_and_an_honest_text() -> None:
    reply = ask("Cancel order 13579", DESK_TOOLS, tool_choice={"type": "none"})
    assert reply["stop_reason"] == "end_turn"
    assert [block["type"] for block in reply["content"]] == ["text"]
    assert "can't use any tools" in reply["content"][0]["text"]


def test_any_means_a_call_even_for_a_greeting() -> None:
    reply = ask("Hello!", DESK_TOOLS, tool_choice={"type": "any"})
    assert reply["stop_reason"] == "tool_use"
    assert len(calls(reply)) == 1
    assert ask("What about 24601?", DESK_TOOLS, tool_choice={"type": "any"})["content"] == [
        {"type": "tool_use", "name": "get_order_by_id", "input": {"order_id": "24601"}}
    ]


def test_a_named_tool_is_called_with_the_best_arguments_there_are() -> None:
    wanted = {"type": "tool", "name": "get_user_info"}
    reply = ask("Find my account, john@gmail.com", DESK_TOOLS, tool_choice=wanted)
    assert calls(reply) == [("get_user_info", {"key": "email", "value": "john@gmail.com"})]
    cancel = {"type": "tool", "name": "cancel_order"}
    assert calls(ask("13579, cancel", DESK_TOOLS, tool_choice=cancel)) == [("cancel_order", {"order_id": "13579"})]
    (name, given), *more = calls(ask("Привет 👋", DESK_TOOLS, tool_choice=cancel))
    assert (name, set(given), more) == ("cancel_order", {"order_id"}, [])


def note(words: str) -> str:
    return f"[From the application, not from the user: In your next reply, {words}.]"


def test_a_choice_that_the_application_says_in_words_is_obeyed_and_not_taken_for_the_users() -> None:
    named = note("call the tool `get_user_info` and no other tool")
    assert calls(ask(f"john@gmail.com\n{named}", DESK_TOOLS)) == [
        ("get_user_info", {"key": "email", "value": "john@gmail.com"})
    ]
    assert calls(ask(f"Hello!\n{note('call at least one of your tools')}", DESK_TOOLS)) != []
    assert calls(ask(f"Cancel order 13579\n{note('answer in text and call no tool')}", DESK_TOOLS)) == []
    told = [{"role": "user", "content": "john@gmail.com"}, {"role": "system", "content": named}]
    assert calls(PracticeModel().answer({"messages": told, "tools": DESK_TOOLS}))[0][0] == "get_user_info"


def test_what_was_said_of_an_earlier_reply_holds_no_longer() -> None:
    told = [{"role": "user", "content": f"Hello!\n{note('call at least one of your tools')}"}]
    later = [*told, {"role": "assistant", "content": "Hi."}, {"role": "user", "content": "Thanks!"}]
    assert calls(PracticeModel().answer({"messages": later, "tools": DESK_TOOLS})) == []


def test_a_tool_that_is_not_offered_is_not_called() -> None:
    reply = ask("Hello", DESK_TOOLS, tool_choice={"type": "tool", "name": "launch_rockets"})
    assert calls(reply) == []


def test_with_parallel_calls_off_the_calls_come_one_after_the_other() -> None:
    conversation = Conversation(DESK_TOOLS, tool_choice={"type": "auto", "disable_parallel_tool_use": True})
    said = conversation.send("Cancel orders 24601 and 13579")
    assert [[name for name, _ in calls] for calls in conversation.calls] == [
        ["get_order_by_id"],
        ["get_order_by_id"],
        ["cancel_order"],
        ["cancel_order"],
    ]
    assert "24601 (Wireless Headphones) can't be cancelled" in said
    assert "13579 (Smartphone Case) is cancelled" in said


def test_a_forced_extraction_fills_numbers_enums_lists_and_nested_objects() -> None:
    tool = definition(
        "record",
        "Store what the text says.",
        mood={"type": "string", "enum": ["good", "bad"]},
        score=NUMBER,
        email={"type": "string", "format": "email"},
        tags={"type": "array", "items": {"type": "string"}},
        day={"type": "string", "format": "date"},
        address={"type": "object", "properties": {"city": STRING}, "required": ["city"]},
        note={"anyOf": [{"type": "null"}, STRING]},
        is_spam={"type": "boolean"},
    )
    text = 'A bad day in Lima, 2026-11-30: I give it 0.5, tags "rain" and "wind", mail ana@example.org'
    (_, given), *_ = calls(ask(text, [tool], tool_choice={"type": "tool", "name": "record"}))
    assert given["mood"] == "bad"
    assert given["email"] == "ana@example.org"
    assert given["tags"] == ["rain", "wind"]
    assert given["day"] == "2026-11-30"
    assert given["address"] == {"city": "Lima"}
    assert given["is_spam"] is False
    assert isinstance(given["note"], str)


def test_a_demanded_json_format_is_answered_with_json_alone() -> None:
    schema = {
        "type": "object",
        "properties": {"name": STRING, "age": {"type": "integer"}, "home": {"$ref": "#/$defs/Home"}},
        "required": ["name", "age", "home"],
        "$defs": {"Home": {"type": "object", "properties": {"country": STRING}, "required": ["country"]}},
    }
    reply = ask('"Ана" is 42', [], output_config={"format": {"type": "json_schema", "schema": schema}})
    assert reply["stop_reason"] == "end_turn"
    given = json.loads(reply["content"][0]["text"])
    assert (given["name"], given["age"]) == ("Ана", 42)
    assert set(given["home"]) == {"country"}
