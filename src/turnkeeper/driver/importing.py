"""Messages that were there before, as the events they stand for."""

from __future__ import annotations

from typing import Any

from turnkeeper.core.events import CallRequest, ReplyReceived
from turnkeeper.core.replies import Action
from turnkeeper.core.tool_choice import MET
from turnkeeper.wire.json import encode

__all__ = ("as_reply",)


def as_reply(content: list[dict[str, Any]], now: float) -> ReplyReceived:
    """An imported assistant message with open calls, as the reply it once was."""
    calls = tuple(
        CallRequest(id=block["id"], name=str(block.get("name")), index=index)
        for index, block in enumerate(content)
        if block.get("type") == "tool_use"
    )
    return ReplyReceived(
        at=now,
        number=0,
        blocks=tuple(encode(block) for block in content),
        stop_reason="tool_use",
        usage={},
        action=Action.RUN_CALLS,
        kept=True,
        calls=calls,
        choice=MET,  # a round of calls has been: a forced choice would ask for a second one
    )
