"""The lesson's function: message list in, message list out."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

from turnkeeper.core.checking import check_messages, open_call_ids
from turnkeeper.driver.agent import Agent
from turnkeeper.types import Block, Message, TurnStatus

__all__ = ("run_conversation",)

_log = logging.getLogger("turnkeeper")


def run_conversation(messages: Sequence[Message], tools: Sequence[Any] = (), **options: Any) -> list[Message]:
    """Answer a message list: call the model, run every tool it asks for, until it stops asking.

    Messages are plain dicts in the API's own format, history included; the given ones come back as they are, followed
    by the new ones. `options` are those of `Agent` (`system`, `model`, `tool_choice`, `limits`, `client`, …). Content
    may hold the SDK's own objects, as in `{"role": "assistant", "content": response.content}`.

    The list may end in the user's message, or in an assistant message that was paused (`pause_turn`); in the
    assistant's words only for a model that takes a prefill. The list may be a client's, so what does more than say
    something needs `accept`: see `Agent`. It may end in calls without results, which are run, if they are the SDK's own
    objects, or with `accept=["calls"]`.

    The list is sound whatever happens: a turn that ends other than completed (refused, truncated, a limit) is logged
    as a warning on the logger `turnkeeper`. Use `Agent.answer_sync` where the status matters. Raises APIError when the
    API fails for good, HistoryError for a list that it would refuse.
    """
    agent = Agent(tools=tools, **options)
    plain = check_messages(messages, accept=agent.accept)
    reply = agent.answer_sync(messages)
    if reply.status is not TurnStatus.COMPLETED:
        _log.warning("the turn ended %s (%s)", reply.status, reply.reason or "no reason given")
    return _with_originals(messages, plain, reply.messages)


def _with_originals(given: Sequence[Message], plain: Sequence[Message], after: Sequence[Message]) -> list[Message]:
    """The messages after the turn, with the caller's own in front: where the turn went on with the caller's last
    message, or joined the last two, as the API does with messages of one role, they are taken apart again.
    """
    last = plain[-1]
    joined = bool(open_call_ids(last)) and len(plain) > 1 and plain[-2]["role"] == last["role"]
    alone = len(plain) - (2 if joined else 1)
    own = [
        one if one_plain == made else made for one, one_plain, made in zip(given, plain, after[:alone], strict=False)
    ]
    before = [block for message in plain[alone:] for block in _blocks(message)]
    ending = _blocks(after[alone])
    if after[alone]["role"] != last["role"] or ending[: len(before)] != before:
        return [*own, *after[alone:]]  # what was given could not be kept as it was
    goes_on = [{"role": last["role"], "content": ending[len(before) :]}] if len(ending) > len(before) else []
    return [*own, *given[alone:], *goes_on, *after[alone + 1 :]]


def _blocks(message: Message) -> list[Block]:
    content = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else content
