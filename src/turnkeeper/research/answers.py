"""What of a model's text is the answer: the inside of its `<answer>` tags; see `turnkeeper.tagged`."""

from __future__ import annotations

from turnkeeper import tagged

__all__ = ("AnswerFilter", "extract_answer")


class AnswerFilter(tagged.TagFilter):
    """A filter for one reply of the model that streams in."""

    def __init__(self) -> None:
        super().__init__("answer")


def extract_answer(text: str) -> str:
    """The answer in a finished text; the whole text where the model set no tags."""
    return tagged.extract("answer", text)
