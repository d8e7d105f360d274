"""Working off what waits in a conversation: its open turn first, then the messages of its inbox, one after another."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from turnkeeper.core.checking import check_user_content
from turnkeeper.core.events import TurnStarted
from turnkeeper.core.machine import Phase
from turnkeeper.driver.conditions import check_same
from turnkeeper.driver.conversation import Conversation, MovedOnError
from turnkeeper.driver.names import checked_name
from turnkeeper.driver.people import overdue
from turnkeeper.driver.records import reply_of
from turnkeeper.driver.reply import Reply
from turnkeeper.driver.turn import Turn
from turnkeeper.errors import (
    APIError,
    ConversationBusyError,
    ToolChoiceUnmet,
    UnconfirmedError,
    UnknownConversationError,
)
from turnkeeper.journal import Journal, Queued
from turnkeeper.types import Principal
from turnkeeper.updates import CallFinished, CallStarted, TurnEnded, Update
from turnkeeper.wire.json import encode

if TYPE_CHECKING:
    from turnkeeper.driver.keeper import Keeper

__all__ = ("Inject", "Left", "Stop", "Watch", "WorkedOff", "post", "recoverable", "work_off")

_log = logging.getLogger("turnkeeper")

Left = Literal["nothing", "more", "person", "busy", "stopped"]
"""Why working off ended: nothing waits; there is more, but enough was done; a person is waited for; another driver is
at work; it was told to stop."""

Stop = Callable[[], bool]
"""Asked between two steps: whether to leave the rest to somebody else."""

Inject = Callable[[str, Principal | None], Mapping[str, Any]]
"""The tools' Injected parameters for a turn of that conversation in that principal's name."""

Watch = Callable[[Conversation, Update], Awaitable[None]]
"""Told each update of the turns that are driven; the turn goes on when it returns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkedOff:
    """What `keeper.work_off` did: the replies of the turns that it drove to an end, and why it ended itself."""

    conversation_id: str
    replies: tuple[Reply, ...]
    left: Left


async def post(
    journal: Journal,
    conversation_id: str,
    content: str | Sequence[Mapping[str, Any]],
    *,
    key: str,
    principal: Principal | None,
    now: float,
    accept: Collection[str] = (),
) -> Literal["queued", "duplicate"]:
    """See `Keeper.post`."""
    body = check_user_content(content, accept=accept)
    name = checked_name(conversation_id)
    added = await journal.enqueue(name, encode(body), key=key, principal=principal, now=now)
    if not added:
        await _check_same(journal, name, body, key)
    return "queued" if added else "duplicate"


async def _check_same(journal: Journal, name: str, body: Any, key: str) -> None:
    """InputError where the key is that of another message, which waits or has become a turn."""
    before = await journal.message(name, key)
    if before is not None and before.content:
        check_same(TurnStarted(content=before.content), body, key=key, conversation_id=name)
        return
    for event in await journal.read(name):
        if isinstance(event, TurnStarted) and event.key == key:
            check_same(event, body, key=key, conversation_id=name)


async def work_off(
    keeper: Keeper,
    conversation_id: str,
    *,
    turns: int | None,
    stop: Stop | None,
    inject: Inject | None,
    watch: Watch | None = None,
) -> WorkedOff:
    """See `Keeper.work_off`."""
    replies: list[Reply] = []

    def ended(left: Left) -> WorkedOff:
        return WorkedOff(conversation_id=conversation_id, replies=tuple(replies), left=left)

    conversation = keeper.unopened(checked_name(conversation_id))
    conversation.of_anybody = True
    while True:
        step = await _next_step(keeper, conversation)
        if isinstance(step, str):
            return ended(step)
        if turns is not None and len(replies) >= turns:
            return ended("more")
        if stop is not None and stop():
            return ended("stopped")
        try:
            reply = await _drive(conversation, step, stop, inject, watch)
        except MovedOnError:
            continue
        except UnconfirmedError as error:
            if step.message is None:
                raise
            _log.warning("message %r of conversation %s was dropped: %s", step.message.key, conversation_id, error)
            await keeper.journal.dequeue(conversation_id, step.message.key)
            continue
        except ConversationBusyError:
            return ended("busy")
        if reply is None:
            return ended("stopped")
        replies.append(reply)


@dataclass(frozen=True, slots=True)
class _Step:
    """A turn to drive: the open one, or that of `message`; as things stood after event `after`."""

    message: Queued | None
    principal: Principal | None
    after: int


async def _next_step(keeper: Keeper, conversation: Conversation) -> _Step | Left:
    """What comes next; messages that can never become a turn are taken out on the way."""
    journal = keeper.journal
    while True:
        recorder = conversation.recorder
        await recorder.load()
        if recorder.state.phase is Phase.PARKED and not overdue(recorder, keeper.agent.now()):
            return "person"
        if conversation.is_open:
            return _Step(None, await _principal_of_open_turn(keeper, conversation), recorder.last)
        queue = await journal.queued(conversation.id, limit=1)
        if not queue:
            return "nothing"
        message = queue[0]
        if message.key in recorder.keys:  # by a journal that knew no inbox yet
            await journal.dequeue(conversation.id, message.key)
            continue
        try:
            conversation.speak_as(message.principal)
        except UnknownConversationError:
            _log.warning(
                "message %r of conversation %s was dropped: it is another principal's", message.key, conversation.id
            )
            await journal.dequeue(conversation.id, message.key)
            continue
        return _Step(message, message.principal, recorder.last)


async def _principal_of_open_turn(keeper: Keeper, conversation: Conversation) -> Principal | None:
    """Who sent its message; the conversation's owner where it did not come through the inbox."""
    begun = conversation.recorder.begun
    sent = None
    if begun is not None and begun.principal is not None:
        return Principal(**begun.principal)
    if begun is not None and begun.key is not None:
        sent = await keeper.journal.message(conversation.id, begun.key)
    return conversation.recorder.owner if sent is None else sent.principal


async def _drive(
    conversation: Conversation, step: _Step, stop: Stop | None, inject: Inject | None, watch: Watch | None
) -> Reply | None:
    """The turn's reply; None if it was left open for `stop`."""
    conversation.speak_as(step.principal, None if inject is None else inject(conversation.id, step.principal))
    content, key = (step.message.content, step.message.key) if step.message is not None else (None, None)
    turn = conversation.take_up(content, key, after=step.after)
    try:
        if stop is None and watch is None:
            return await turn
        return await _drive_until(conversation, turn, stop, watch)
    except APIError as error:  # the turn has ended as failed, and the next message is no worse for it
        _log.warning("a turn of conversation %s failed: %s (%s)", conversation.id, error.kind, error.status)
        return reply_of(conversation.recorder, conversation.id)
    except ToolChoiceUnmet as error:  # likewise
        _log.warning("a turn of conversation %s failed: %s", conversation.id, error)
        return reply_of(conversation.recorder, conversation.id)


async def _drive_until(conversation: Conversation, turn: Turn, stop: Stop | None, watch: Watch | None) -> Reply | None:
    """Drive the turn in steps, telling each; once `stop` says so, leave it where no call is under way."""
    running: set[str] = set()
    async with turn:
        async for update in turn:
            if isinstance(update, CallStarted):
                running.add(update.call_id)
            elif isinstance(update, CallFinished):
                running.discard(update.call_id)
            if watch is not None:
                await watch(conversation, update)
            if stop is not None and not running and stop() and not isinstance(update, TurnEnded):
                break
    return turn.reply


async def recoverable(keeper: Keeper, *, now: float, limit: int) -> list[str]:
    """Conversations that could go on by themselves and that no lease holds at that time, each once.

    Those with an open turn first, then those whose approvals have expired, then those in which messages wait.
    """
    journal = keeper.journal
    found = [summary.id for summary in await journal.unfinished(now=now, limit=limit)]
    latest = keeper.agent.now() - keeper.agent.approval_seconds
    found += [
        summary.id
        for summary in await journal.waiting(limit=limit)
        if summary.status == "awaiting_approval" and summary.updated_at <= latest
    ]
    found += await journal.backlog(now=now, limit=limit)
    return list(dict.fromkeys(found))
