"""A person answers in the model's place, and gives the conversation back.

While a conversation is taken over, nothing a customer writes becomes a turn: it is written down as a message, as are
the person's answers, and the model reads them all once it has the conversation back. That it is taken over is an event
of the journal, so it holds for every process, and after every crash.
"""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import anyio

from turnkeeper.core.checking import check_user_content
from turnkeeper.core.events import MessagesImported, TurnWarned
from turnkeeper.driver.leasing import held, new_holder
from turnkeeper.driver.loop import close_open_turn
from turnkeeper.driver.recorder import Recorder
from turnkeeper.errors import ConversationBusyError, InputError, UnknownConversationError
from turnkeeper.journal import Queued
from turnkeeper.types import Principal
from turnkeeper.web.projection import HANDED_BACK, TAKEN_OVER
from turnkeeper.web.service import Service
from turnkeeper.wire.json import encode

__all__ = ("hand_back", "say", "take_in", "take_over")

_MOST_WAITING = 100
_LEASE_SECONDS = 10.0


async def take_over(service: Service, conversation_id: str, *, by: Principal) -> None:
    """The person answers from now on: the turn that runs or waits is cancelled, messages that wait are theirs.

    ConversationBusyError if another process drives a turn, or another person has it; UnknownConversationError.
    """
    line = await service.ledger.line(conversation_id)
    if not line.seq:
        raise UnknownConversationError(f"no conversation {conversation_id!r} in this journal")
    if line.taken_over is None:
        await service.stop(conversation_id, principal=None)

    def begin(recorder: Recorder, who: str | None) -> None:
        if who == by.id:
            return
        if who is not None:
            raise ConversationBusyError(f"conversation {conversation_id!r} is in the hands of {who}")
        close_open_turn(recorder, at=service.now(), reason=TAKEN_OVER)
        recorder.stage(TurnWarned(at=service.now(), code=TAKEN_OVER, message=by.id))

    await _write(service, conversation_id, begin)
    async with _recorder(service, conversation_id) as recorder:
        await _hand_over(service, recorder, conversation_id)
    service.switchboard.announce(conversation_id)


async def hand_back(service: Service, conversation_id: str, *, by: Principal) -> None:
    """The model answers again, from the customer's next message on. InputError if nobody had taken it over."""

    def end(recorder: Recorder, who: str | None) -> None:
        if who is None:
            raise InputError(f"conversation {conversation_id!r} is not taken over")
        recorder.stage(TurnWarned(at=service.now(), code=HANDED_BACK, message=by.id))

    await _write(service, conversation_id, end)


async def say(service: Service, conversation_id: str, text: str, *, by: Principal) -> None:
    """The person's words to the customer. InputError unless it is they who have taken the conversation over."""
    check_user_content(text)

    def speak(recorder: Recorder, who: str | None) -> None:
        if who != by.id:
            raise InputError(f"take conversation {conversation_id!r} over before you answer in it")
        words = f"[{by.id}, a member of staff, answered in person:]\n{text}"
        recorder.stage(_message(service.now(), "assistant", words))

    await _write(service, conversation_id, speak)


async def take_in(service: Service, conversation_id: str, text: str, *, key: str, principal: Principal) -> bool:
    """A customer's message: the model's to answer, or the person's who has taken the conversation over.

    False if one of that key has come before. Errors are those of `Keeper.post`.
    """
    ledger, post = service.ledger, service.keeper.post
    if (await ledger.line(conversation_id)).taken_over is None:
        added = await post(conversation_id, text, key=key, principal=principal) == "queued"
        # Taken over in this very moment: whoever did it may have looked at the queue before the message was in it.
        if added and (await ledger.line(conversation_id)).taken_over is not None:
            async with _recorder(service, conversation_id) as recorder:
                await _hand_over(service, recorder, conversation_id)
    else:
        # Under the lease no worker can make a turn of the message between the two steps.
        async with _recorder(service, conversation_id) as recorder:
            added = await post(conversation_id, text, key=key, principal=principal) == "queued"
            await _hand_over(service, recorder, conversation_id)
    if added:
        service.metrics.count("messages")
        service.switchboard.announce(conversation_id)
    service.kick(conversation_id)
    return added


async def _hand_over(service: Service, recorder: Recorder, conversation_id: str) -> None:
    """Messages that wait become ones for the person who has the conversation, if somebody still has it.

    One that a crash left in the queue after it was written down is only taken out.
    """
    if (await service.ledger.line(conversation_id)).taken_over is None:
        return
    for queued in await service.journal.queued(conversation_id, limit=_MOST_WAITING):
        known = (one.key for one in recorder.turn_events if isinstance(one, MessagesImported))
        if queued.key not in known:
            recorder.stage(_from_queue(queued))
            await recorder.save()
        await service.journal.dequeue(conversation_id, queued.key)


@asynccontextmanager
async def _recorder(service: Service, conversation_id: str) -> AsyncIterator[Recorder]:
    """The conversation under its lease. ConversationBusyError if another keeps it for long."""
    with anyio.move_on_after(_LEASE_SECONDS) as waiting:
        async with held(service.journal, conversation_id, holder=new_holder(), clock=service.now, wait=True) as hold:
            waiting.deadline = math.inf
            recorder = Recorder(service.journal, conversation_id)
            recorder.token = hold.token
            await recorder.load()
            yield recorder
    if waiting.cancelled_caught:
        raise ConversationBusyError(f"conversation {conversation_id!r} is driven elsewhere; try again in a moment")


async def _write(service: Service, conversation_id: str, stage: Callable[[Recorder, str | None], None]) -> None:
    async with _recorder(service, conversation_id) as recorder:
        await _hand_over(service, recorder, conversation_id)
        stage(recorder, (await service.ledger.line(conversation_id)).taken_over)
        await recorder.save()
    service.switchboard.announce(conversation_id)
    service.kick(conversation_id)


def _from_queue(queued: Queued) -> MessagesImported:
    return MessagesImported(at=queued.at, messages=(f'{{"role":"user","content":{queued.content}}}',), key=queued.key)


def _message(at: float, role: str, text: str) -> MessagesImported:
    return MessagesImported(at=at, messages=(encode({"role": role, "content": text}),))
