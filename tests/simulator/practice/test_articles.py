"""An encyclopedia as the only tool: the subject of a question is looked up, once in a conversation, and quoted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from tests.simulator.practice.fake_desk import STRING, Conversation, FakeDesk, definition

ARTICLE = definition("get_article", "Read an article.", search_term=STRING, section_={"type": "string"})


class Shelf(FakeDesk):
    """Articles as `get_article` gives them."""

    texts: Mapping[str, str] = {
        "Ada Lovelace": "Ada Lovelace was an English writer. She was born in 1815. She died in London.",
        "Charles Babbage": "Charles Babbage (1791–1871) was a mathematician, e.g. in Cambridge.",
        "北京": "北京是首都。北京有很多人。",
    }

    def run(self, name: str, given: Mapping[str, Any]) -> tuple[str, bool]:
        term = given["search_term"]
        if term not in self.texts:
            return f"No article fits {term!r}.", True
        article = f"{term} <https://en.wikipedia.org/wiki/X>\n[From Wikipedia.]\n\n{self.texts[term]}"
        return f'<untrusted-1a2b source="get_article">\nText from outside.\n{article}\n</untrusted-1a2b>', False


def talk(*texts: str, system: str = "") -> list[tuple[list[dict[str, Any]], str]]:
    conversation = Conversation([ARTICLE], Shelf(), system=system)
    told = []
    for text in texts:
        said = conversation.send(text)
        told.append(([given for round_ in conversation.calls for _, given in round_], said))
    return told


@pytest.mark.parametrize(
    ("question", "subjects"),
    [
        ("Who was Ada Lovelace?", ["Ada Lovelace"]),
        ("Compare Ada Lovelace and Charles Babbage", ["Ada Lovelace", "Charles Babbage"]),
        ("What is photosynthesis?", ["photosynthesis"]),
        ('Tell me something about the "Tour de France"', ["Tour de France"]),
        ("Кто такая Ада Лавлейс?", ["Ада Лавлейс"]),
        ("Qui était Émilie du Châtelet ?", ["Émilie du Châtelet"]),
        ("Wer war Käthe Kollwitz?", ["Käthe Kollwitz"]),
        ("北京是什么？", ["北京"]),
        ("谁是鲁迅？", ["鲁迅"]),
        ("What is the capital of Peru?", ["Peru"]),
    ],
)
def test_the_subject_of_a_question_is_looked_up(question: str, subjects: list[str]) -> None:
    [(calls, _)] = talk(question)
    assert calls == [{"search_term": subject} for subject in subjects]


@pytest.mark.parametrize("text", ["Hello!", "Thanks", "What is 12 * 7?", "Tell me a joke", "Who are you?", "🤷"])
def test_what_needs_no_article_gets_none(text: str) -> None:
    [(calls, said)] = talk(text)
    assert calls == []
    assert said


def test_the_sentence_that_fits_the_question_is_quoted_with_its_title() -> None:
    [(_, first), (_, born), (_, both)] = talk(
        "Who was Ada Lovelace?", "When was Ada Lovelace born?", "Compare Ada Lovelace and Charles Babbage"
    )
    assert first.startswith("Ada Lovelace: Ada Lovelace was an English writer.\n")
    assert "practice model" in first
    assert born == "Ada Lovelace: She was born in 1815."
    assert (
        both.splitlines()[1] == "Charles Babbage: Charles Babbage (1791–1871) was a mathematician, e.g. in Cambridge."
    )


def test_an_article_that_was_read_before_is_not_asked_for_again() -> None:
    [(first, _), (second, _), (third, _)] = talk(
        "Who was Ada Lovelace?", "Where is Ada Lovelace buried?", "Compare Ada Lovelace and Charles Babbage"
    )
    assert (len(first), second, third) == (1, [], [{"search_term": "Charles Babbage"}])


def test_a_missing_article_is_told_and_looked_for_anew_when_asked_again() -> None:
    [(_, said), (again, _)] = talk("Who was Qwertz Uiop?", "Who was Qwertz Uiop?")
    assert "get_article reported an error" in said
    assert again == [{"search_term": "Qwertz Uiop"}]


def test_answers_stand_in_tags_where_the_prompt_asks_for_them() -> None:
    [(_, said)] = talk("北京是什么？", system="Put the answer in <answer> tags.")
    assert said.startswith("<answer>北京: 北京是首都。")
    assert said.endswith("</answer>")
