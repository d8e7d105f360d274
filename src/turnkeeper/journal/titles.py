"""A conversation's title: the beginning of its first message that has text."""

from __future__ import annotations

from collections.abc import Iterable

from turnkeeper.core.events import Event, MessagesImported, TurnStarted
from turnkeeper.journal.ids import storable
from turnkeeper.wire.blocks import text_of
from turnkeeper.wire.json import decode

__all__ = ("TITLE_LENGTH", "title_of")

TITLE_LENGTH = 60
"""Characters shown of the message."""


def title_of(events: Iterable[Event]) -> str:
    """One line, at most TITLE_LENGTH characters; empty while no message has text."""
    for event in events:
        text = " ".join(storable(_text_in(event)).split())
        if text:
            return text if len(text) <= TITLE_LENGTH else text[: TITLE_LENGTH - 1] + "…"
    return ""


def _text_in(event: Event) -> str:
    """A message's text; none where it isn't one, because a title is no reason to refuse an event."""
    try:
        if isinstance(event, TurnStarted) and event.content is not None:
            content = decode(event.content)
        elif isinstance(event, MessagesImported) and event.messages:
            content = decode(event.messages[0])["content"]
        else:
            return ""
    except (ValueError, LookupError, TypeError):
        return ""
    if isinstance(content, list):
        return text_of(block for block in content if isinstance(block, dict))
    return content if isinstance(content, str) else ""
