"""The AG-UI endpoint: one request, one ordered stream of events."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Any, Literal

from ag_ui.core import BaseEvent
from sse_starlette import ServerSentEvent
from starlette.requests import Request
from starlette.responses import Response

from turnkeeper.web.answers import RefusedError, read_body
from turnkeeper.web.standard.agui import Run, data_of, messages_of
from turnkeeper.web.standard.asking import Asker, Believed, Looked, SentMessage, checked_id
from turnkeeper.web.standard.deciding import Answer, UnusableError, decide
from turnkeeper.web.standard.following import Target, follow
from turnkeeper.web.standard.history import Message
from turnkeeper.web.streams import held_slot, stream_of

__all__ = ("run_agent",)

_NOT_OURS = frozenset({"system", "developer", "reasoning", "activity"})
"""Roles of messages that a client may have of its own making."""


class _Resume(Believed):
    interruptId: str  # noqa: N815 - the protocol's own name
    status: Literal["resolved", "cancelled"]
    payload: Any = None


class RunInput(Believed):
    """What is believed of a `RunAgentInput`."""

    threadId: str  # noqa: N815
    runId: str  # noqa: N815
    parentRunId: str | None = None  # noqa: N815
    protocolVersion: str | None = None  # noqa: N815
    messages: list[SentMessage]
    resume: list[_Resume] | None = None


async def run_agent(request: Request, asker: Asker) -> Response:
    """Begin or go on with a run, or tell it once more."""
    asked = await read_body(request, RunInput)
    looked = await asker.look(asked.threadId)
    parent = checked_id(asked.parentRunId) if asked.parentRunId is not None else None
    name, version = checked_id(asked.runId), asked.protocolVersion
    run = Run(looked.conversation, name, parent=parent, calls=asker.calls, version=version)
    if asked.resume:
        await asker.refuse_news(looked, asked.messages)
        return await _resumed(request, asker, asked, looked, run)
    target, before = await asker.ask(looked, asked.messages)
    return _answered(request, asker, run, looked, target, _opening(run, before, asked.messages))


async def _resumed(request: Request, asker: Asker, asked: RunInput, looked: Looked, run: Run) -> Response:
    """Answers to what a run ended with. What can't be taken ends this run with RUN_ERROR."""
    about, conversation = looked.about, looked.conversation
    answers = [Answer(one.interruptId, one.status == "cancelled", one.payload) for one in asked.resume or ()]
    opening = _opening(run, about.history.messages, asked.messages)
    try:
        waiting = tuple(about.fold.waiting.values())
        await decide(asker.service, conversation, answers, by=asker.who, waiting=waiting, owner=looked.owner)
    except UnusableError as error:
        return _stream(request, asker, conversation, _told([*opening, run.failed(error.code, str(error))]))
    target = Target(turn=about.history.turn, key=None, after=about.parked)
    return _answered(request, asker, run, looked, target, opening)


def _opening(run: Run, before: Sequence[Message], sent: Sequence[SentMessage]) -> list[BaseEvent]:
    """How a run begins: with all messages, if the client hasn't just these."""
    theirs = [one.id for one in sent if one.role not in _NOT_OURS]
    if theirs == [one.id for one in messages_of(before)]:
        return [run.started()]
    return [run.started(), run.snapshot(before)]


def _answered(
    request: Request, asker: Asker, run: Run, looked: Looked, target: Target, opening: list[BaseEvent]
) -> Response:
    async def events() -> AsyncGenerator[BaseEvent]:
        for event in opening:
            yield event
        async with aclosing(follow(asker.service, looked.conversation, target, run, calls=asker.calls)) as following:
            async for event in following:
                yield event

    return _stream(request, asker, looked.conversation, events())


async def _told(events: Sequence[BaseEvent]) -> AsyncGenerator[BaseEvent]:
    for event in events:
        yield event


def _stream(request: Request, asker: Asker, name: str, events: AsyncGenerator[BaseEvent]) -> Response:
    conversation = None if asker.staff else name

    async def lines() -> AsyncGenerator[ServerSentEvent]:
        async with aclosing(events):
            try:
                with held_slot(request, asker.door, asker.session):
                    async for event in events:
                        asker.service.metrics.count("events")
                        yield ServerSentEvent(data=data_of(event), sep="\n")
            except RefusedError as error:
                run = Run("", "")
                yield ServerSentEvent(data=data_of(run.failed(error.code, str(error))), sep="\n")

    return stream_of(request, asker.door, asker.session, lines(), conversation=conversation)
