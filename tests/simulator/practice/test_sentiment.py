"""The practice model counts words to tell how a text feels: the lesson's extraction can be tried out without a key."""

from __future__ import annotations

import json
from typing import Any

import pytest

from turnkeeper.simulator.practice import PracticeModel
from turnkeeper.simulator.practice.sentiment import scores

SCORE = {"type": "number"}
SCHEMA = {
    "type": "object",
    "properties": {
        "positive_score": SCORE,
        "negative_score": SCORE,
        "neutral_score": SCORE,
        "mood": {"type": "string", "enum": ["positive", "negative", "neutral"]},
    },
    "required": ["positive_score", "negative_score", "neutral_score", "mood"],
}


def told(text: str) -> Any:
    request = {
        "messages": [{"role": "user", "content": text}],
        "output_config": {"format": {"type": "json_schema", "schema": SCHEMA}},
    }
    return json.loads(PracticeModel().answer(request)["content"][0]["text"])


@pytest.mark.parametrize(
    ("text", "mood"),
    [
        ("The product was okay, but the customer service was terrible. I'll never buy from them again.", "negative"),
        ("I love my cats! They are wonderful.", "positive"),
        ("The parcel arrived on Tuesday.", "neutral"),
        ("I don't love it, it is not good.", "negative"),
        ("Das Essen war wunderbar, danke!", "positive"),
        ("Ужасный сервис, очень плохо.", "negative"),
        ("我爱我的猫", "positive"),
        ("我不喜欢这个", "negative"),
    ],
)
def test_the_score_of_a_mood_is_the_highest_where_its_words_are(text: str, mood: str) -> None:
    found = told(text)
    assert found["mood"] == mood
    assert max(("positive", "negative", "neutral"), key=lambda one: found[f"{one}_score"]) == mood


@pytest.mark.parametrize("text", ["", "x", "love hate " * 50, "🐈" * 100, "не плохо", "a\ud83d"])
def test_scores_are_from_0_to_1_and_together_1(text: str) -> None:
    found = scores(text)
    assert all(0.0 <= one <= 1.0 for one in found.values())
    assert sum(found.values()) == pytest.approx(1.0)


def test_a_forced_call_is_filled_in_the_same_way() -> None:
    tool = {"name": "print_sentiment_scores", "description": "", "input_schema": SCHEMA}
    request = {
        "messages": [{"role": "user", "content": "I love my cats!"}],
        "tools": [tool],
        "tool_choice": {"type": "tool", "name": "print_sentiment_scores"},
    }
    [call] = PracticeModel().answer(request)["content"]
    assert call["input"] == {"positive_score": 0.8, "negative_score": 0.0, "neutral_score": 0.2, "mood": "positive"}


def test_other_numbers_and_choices_are_not_guessed_from_feelings() -> None:
    tool = {
        "name": "rate",
        "description": "Rate.",
        "input_schema": {
            "type": "object",
            "properties": {"stars": SCORE, "kind": {"type": "string", "enum": ["cat", "dog"]}},
            "required": ["stars", "kind"],
        },
    }
    message = {"role": "user", "content": "I love my dog, 4 stars"}
    request = {"messages": [message], "tools": [tool], "tool_choice": {"type": "any"}}
    [call] = PracticeModel().answer(request)["content"]
    assert call["input"] == {"stars": 4, "kind": "dog"}
