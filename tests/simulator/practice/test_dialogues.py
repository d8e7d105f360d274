"""Dialogues with the desk in every language, from data: which calls are made, and which facts the answers hold."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.simulator.practice.fake_desk import DESK_TOOLS, Conversation, FakeDesk
from turnkeeper.simulator.practice.phrasebook import built_in

FILES = sorted((Path(__file__).parent / "dialogues").glob("*.toml"))


def written(name: str, given: dict[str, Any]) -> str:
    """A call as the dialogues write it: its name, then its values; those of `update_contact` with their names."""
    bare = {"key", "value", "order_id", "customer_id"}
    return " ".join([name, *(str(value) if key in bare else f"{key}={value}" for key, value in given.items())])


def dialogues() -> Iterator[Any]:
    for file in FILES:
        data = tomllib.loads(file.read_text("utf-8"))
        for dialogue in data["dialogue"]:
            yield pytest.param(data["language"], dialogue, id=f"{data['language']}: {dialogue['name']}")


def test_every_language_of_the_phrasebook_has_a_dozen_dialogues() -> None:
    counts = {file.stem: len(tomllib.loads(file.read_text("utf-8"))["dialogue"]) for file in FILES}
    assert counts.keys() == built_in().languages.keys()
    assert min(counts.values()) >= 12


@pytest.mark.parametrize(("language", "dialogue"), list(dialogues()))
def test_the_dialogue_makes_these_calls_and_tells_these_facts(language: str, dialogue: dict[str, Any]) -> None:
    conversation = Conversation(DESK_TOOLS)
    texts = []
    for turn in dialogue["turn"]:
        texts.append(conversation.send(turn["user"]))
        rounds = [" + ".join(written(*call) for call in calls) for calls in conversation.calls]
        assert rounds == turn.get("calls", []), texts[-1]
        assert [fact for fact in turn["says"] if fact not in texts[-1]] == [], texts[-1]
        assert [fact for fact in turn.get("never", []) if fact in texts[-1]] == []
    note = built_in().language(language).say("note")
    assert [text.count(note) for text in texts] == [1, *[0] * (len(texts) - 1)]
    for order, status in dialogue.get("orders", {}).items():
        assert conversation.desk.orders[order]["status"] == status


def test_results_may_be_printed_python_values() -> None:
    conversation = Conversation(DESK_TOOLS, FakeDesk(render=repr))
    said = conversation.send("Show my orders, my email is john@gmail.com")
    for fact in ("24601", "Wireless Headphones", "Shipped", "13579", "Processing", "90357"):
        assert fact in said
