"""The lesson's function: message list in, message list out."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from itertools import zip_longest
from typing import Any

from turnkeeper.driver.agent import Agent
from turnkeeper.types import Message, TurnStatus

__all__ = ("run_conversation",)

_log = logging.getLogger("turnkeeper")


def run_conversation(messages: Sequence[Message], tools: Sequence[Any] = (), **options: Any) -> list[Message]:
    """Answer a message list: call the model, run every tool it asks for, until it stops asking.

    Messages are plain dicts in the API's own format, history included; the given ones come back as they are, followed
    by the new ones. `options` are those of `Agent` (`system`, `model`, `tool_choice`, `limits`, `client`, …). The list
    may end in the user's message, or in an assistant message whose calls have no results yet.

    The list is sound whatever happens: a turn that ends other than completed (refused, truncated, a limit) is logged
    as a warning on the logger `turnkeeper`. Use `Agent.answer_sync` where the status matters. Raises APIError when the
    API fails for good, HistoryError for a list that it would refuse.
    """
    reply = Agent(tools=tools, **options).answer_sync(messages)
    if reply.status is not TurnStatus.COMPLETED:
        _log.warning("the turn ended %s (%s)", reply.status, reply.reason or "no reason given")
    after = reply.messages
    return [given if given == made else made for given, made in zip_longest(messages, after) if made is not None]
