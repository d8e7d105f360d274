"""What of a model's text the user reads at the desk: the inside of its `<reply>` tags; see `turnkeeper.tagged`."""

from __future__ import annotations

from turnkeeper import tagged

__all__ = ("ReplyFilter", "extract_reply")


class ReplyFilter(tagged.TagFilter):
    """A filter for one reply of the model that streams in."""

    def __init__(self) -> None:
        super().__init__("reply")


def extract_reply(text: str) -> str:
    """What a user should read of a finished text."""
    return tagged.extract("reply", text)
