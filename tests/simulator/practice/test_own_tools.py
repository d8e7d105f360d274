"""Tools of the user's own: called when a message plainly means one, never guessed at."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from tests.simulator.practice.fake_desk import DESK_TOOLS, STRING, Conversation, FakeDesk, definition
from turnkeeper.simulator.practice import PracticeModel

NUMBER = {"type": "number"}
CLOCK = definition(
    "get_current_datetime",
    "Current date and time.",
    timezone_={"type": "string", "description": 'IANA name, such as "Europe/Berlin".', "default": "UTC"},
)
CALCULATOR = definition(
    "calculator",
    "Do arithmetic.",
    operation={"type": "string", "enum": ["add", "subtract", "multiply", "divide"]},
    operand1=NUMBER,
    operand2=NUMBER,
)
WEATHER = definition(
    "get_weather",
    "Weather in a place.",
    location=STRING,
    unit_={"type": "string", "enum": ["celsius", "fahrenheit"]},
)
ARTICLE = definition("get_article", "Retrieve an encyclopedia article.", search_term=STRING)
ALL = [CLOCK, CALCULATOR, WEATHER, ARTICLE]


class Echo(FakeDesk):
    """Every tool answers with the values it was given."""

    def run(self, name: str, given: Mapping[str, Any]) -> tuple[str, bool]:
        return f"{name} says {', '.join(str(value) for value in given.values()) or 'now'}", False


class Broken(FakeDesk):
    """Every tool fails, the first `failures` times."""

    message = "The service timed out, try again."
    failures = 99

    def run(self, name: str, given: Mapping[str, Any]) -> tuple[str, bool]:
        self.failures -= 1
        return (self.message, True) if self.failures >= 0 else ("12:00", False)


def talk(text: str, tools: list[dict[str, Any]]) -> tuple[list[list[tuple[str, dict[str, Any]]]], str]:
    conversation = Conversation(tools, Echo())
    said = conversation.send(text)
    return conversation.calls, said


@pytest.mark.parametrize(
    ("text", "zone"),
    [
        ("What time is it in Berlin?", "Europe/Berlin"),
        ("time in new york please", "America/New_York"),
        ("What time is it in America/Argentina/Ushuaia?", "America/Argentina/Ushuaia"),
        ("Hello! What's the time in UTC?", "UTC"),
        ("Который час в Москве?", "Europe/Moscow"),
        ("Quelle heure est-il à Londres ?", "Europe/London"),
        ("Wie spät ist es in München?", "Europe/Berlin"),
        ("现在东京几点？", "Asia/Tokyo"),
    ],
)
def test_the_time_in_a_city_is_asked_of_the_clock_in_that_zone(text: str, zone: str) -> None:
    calls, said = talk(text, ALL)
    assert calls == [[("get_current_datetime", {"timezone": zone})]]
    assert f"get_current_datetime says {zone}" in said


def test_what_may_be_left_out_is_left_out() -> None:
    assert talk("What time is it?", ALL)[0] == [[("get_current_datetime", {})]]


def test_two_cities_make_two_calls_in_one_reply() -> None:
    calls, said = talk("What time is it in Berlin and Tokyo?", ALL)
    zones = ["Europe/Berlin", "Asia/Tokyo"]
    assert calls == [[("get_current_datetime", {"timezone": zone}) for zone in zones]]
    assert all(zone in said for zone in zones)


def test_a_follow_up_means_the_tool_of_the_turn_before() -> None:
    conversation = Conversation(ALL, Echo())
    conversation.send("What time is it in Berlin?")
    said = conversation.send("And in Tokyo?")
    assert conversation.calls == [[("get_current_datetime", {"timezone": "Asia/Tokyo"})]]
    assert "practice model" not in said


@pytest.mark.parametrize(
    ("text", "name", "given"),
    [
        (
            "What is 1984135 * 9343116?",
            "calculator",
            {"operation": "multiply", "operand1": 1984135, "operand2": 9343116},
        ),
        ("умножь 12 на 7.5", "calculator", {"operation": "multiply", "operand1": 12, "operand2": 7.5}),
        (
            "What's the weather in San Francisco in celsius?",
            "get_weather",
            {"location": "San Francisco", "unit": "celsius"},
        ),
        ("北京的天气", "get_weather", {"location": "北京"}),
        ("Find the article “Émilie du Châtelet”", "get_article", {"search_term": "Émilie du Châtelet"}),
    ],
)
def test_arguments_come_from_the_message(text: str, name: str, given: dict[str, Any]) -> None:
    assert talk(text, ALL)[0] == [[(name, given)]]


@pytest.mark.parametrize("text", ["Tell me a joke", "what's up", "weather?", "🤷", "compare apples with oranges"])
def test_what_no_tool_is_plainly_meant_for_gets_an_honest_answer(text: str) -> None:
    calls, said = talk(text, ALL)
    assert calls == []
    assert "practice model" in said
    assert "get_weather" in said


def test_two_tools_that_fit_equally_well_are_none() -> None:
    twins = [definition("send_note", "Send a note."), definition("drop_note", "Drop a note.")]
    calls, said = talk("a note please", twins)
    assert calls == []
    assert "send_note, drop_note" in said


def test_a_passing_error_is_tried_once_more_and_then_told() -> None:
    conversation = Conversation([CLOCK], Broken())
    said = conversation.send("What time is it?")
    assert len(conversation.calls) == 2
    assert "get_current_datetime reported an error: The service timed out, try again." in said
    recovered = Broken()
    recovered.failures = 1
    conversation = Conversation([CLOCK], recovered)
    assert conversation.send("What time is it?").startswith("12:00")


def test_an_error_that_will_not_pass_is_not_tried_again() -> None:
    broken = Broken()
    broken.message = "Bad argument: timezone"
    conversation = Conversation([CLOCK], broken)
    assert "Bad argument: timezone" in conversation.send("What time is it?")
    assert len(conversation.calls) == 1


def test_without_tools_it_says_that_it_can_do_nothing() -> None:
    reply = PracticeModel().answer({"messages": [{"role": "user", "content": "What is the capital of Peru?"}]})
    assert reply["stop_reason"] == "end_turn"
    assert "No tools are offered" in reply["content"][0]["text"]
    assert "practice model" in reply["content"][0]["text"]


def test_server_tools_and_toolsets_are_left_to_the_server() -> None:
    tools = [{"type": "web_search_20250305", "name": "web_search"}, {"type": "computer_toolset_20260801"}, CLOCK]
    request = {"messages": [{"role": "user", "content": "search the web for time"}], "tools": tools}
    names = [block.get("name") for block in PracticeModel().answer(request)["content"]]
    assert names == ["get_current_datetime"]


def test_the_desk_and_a_tool_of_the_users_own_live_side_by_side() -> None:
    class Both(FakeDesk):
        def do_get_current_datetime(self, **given: str) -> str:
            return "12:00"

    conversation = Conversation([*DESK_TOOLS, CLOCK], Both())
    assert "12:00" in conversation.send("Hi, what time is it in Oslo?")
    assert "Processing" in conversation.send("and where is order 13579?")
