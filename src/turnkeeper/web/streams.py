"""Event streams: what `Service.follow` gives, as server-sent events.

Each event of the journal has its number as the stream's id, so `Last-Event-ID` brings back exactly what is missing;
text that streams in has none. The data is one line of JSON, in which no line break can stand.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import aclosing, contextmanager
from typing import Any

import anyio
from sse_starlette import ServerSentEvent
from starlette.requests import Request
from starlette.responses import Response

from turnkeeper.web.answers import RefusedError
from turnkeeper.web.door import Door, address_of, name_of
from turnkeeper.web.live import BOARD
from turnkeeper.web.projection import View
from turnkeeper.web.service import CaughtUp, Delta, Durable, Progress
from turnkeeper.web.sessions import Session
from turnkeeper.web.watching import Entitled, WatchedResponse
from turnkeeper.wire.json import encode

__all__ = ("HEARTBEAT_SECONDS", "board_stream", "conversation_stream", "held_slot", "place_asked_for", "stream_of")

HEARTBEAT_SECONDS = 15
SEND_SECONDS = 60.0
"""How long a reader may take nothing before its stream is ended; it can come back to where it was."""
RETRY_MILLISECONDS = 1_000
_LONGEST_ID = 15
_OF_PRINCIPAL = "too many event streams are open; close one"
_OF_ADDRESS = "too many event streams from this address"


def place_asked_for(request: Request, last: int) -> int:
    """The event after which the reader wants to go on: Last-Event-ID, else `?after=`, else 0.

    What is no number of this conversation (`last` is its newest) is 0 as well: everything comes again, with its
    numbers, and a reader that knows them loses nothing.
    """
    asked = request.headers.get("last-event-id")
    if asked is None:
        asked = request.query_params.get("after", "0")
    if not (asked.isascii() and asked.isdecimal() and len(asked) <= _LONGEST_ID):
        return 0
    return int(asked) if int(asked) <= last else 0


async def conversation_stream(
    request: Request, door: Door, session: Session, conversation: str, *, view: View, raw: bool, last: int
) -> Response:
    """The stream of one conversation through that view; `last` is the number of its newest event."""
    service = door.running
    _check_room(request, door, session)
    after = place_asked_for(request, last)

    async def lines() -> AsyncGenerator[ServerSentEvent]:
        with held_slot(request, door, session):
            yield ServerSentEvent(comment="turnkeeper", retry=RETRY_MILLISECONDS)
            # From the first event on: what comes before `after` is needed to understand what comes behind it.
            async with aclosing(service.follow(conversation, raw=raw)) as items:
                async for item in items:
                    if isinstance(item, Durable):
                        if item.seq <= after:
                            view.skip(item.event)
                        elif (seen := view.take(item.event)) is not None:
                            service.metrics.count("events")
                            yield _event(seen, item.seq)
                    elif isinstance(item, Delta):
                        fields = {"reply": item.reply, "offset": item.offset, "text": item.text}
                        yield _event({"type": "delta", **fields})
                    elif isinstance(item, Progress) and raw:
                        fields = {"call_id": item.call_id, "message": item.message, "fraction": item.fraction}
                        yield _event({"type": "progress", **fields})
                    elif isinstance(item, CaughtUp):
                        yield _event({"type": "caught_up", "last": item.last})

    return stream_of(request, door, session, lines(), conversation=None if raw else conversation)


async def board_stream(request: Request, door: Door, session: Session) -> Response:
    """A stream that says when anything changed anywhere: at most once in a while, since whoever reads looks anew."""
    service = door.running
    _check_room(request, door, session)

    async def lines() -> AsyncGenerator[ServerSentEvent]:
        with held_slot(request, door, session), service.switchboard.reading(BOARD) as channel:
            yield ServerSentEvent(comment="turnkeeper", retry=RETRY_MILLISECONDS)
            seen = -1
            while True:
                seen = await channel.changed(seen)
                yield _event({"type": "changed", "at": service.now()})
                await anyio.sleep(0.5)

    return stream_of(request, door, session, lines())


def _check_room(request: Request, door: Door, session: Session) -> None:
    """The same while the answer has not begun, so that it can still be a refusal; nothing is counted."""
    if door.streams_of_principal.is_full(name_of(session.principal)):
        raise _too_many(_OF_PRINCIPAL)
    if door.streams_of_address.is_full(address_of(request)):
        raise _too_many(_OF_ADDRESS)


def _too_many(what: str) -> RefusedError:
    return RefusedError(429, "too_many_streams", what, wait=5)


@contextmanager
def held_slot(request: Request, door: Door, session: Session) -> Iterator[None]:
    """Count an open stream. RefusedError where the principal or the address has too many."""
    who, address = name_of(session.principal), address_of(request)
    if not door.streams_of_principal.take(who):
        raise _too_many(_OF_PRINCIPAL)
    try:
        if not door.streams_of_address.take(address):
            raise _too_many(_OF_ADDRESS)
        try:
            yield
        finally:
            door.streams_of_address.give_back(address)
    finally:
        door.streams_of_principal.give_back(who)


def stream_of(
    request: Request,
    door: Door,
    session: Session,
    lines: AsyncGenerator[ServerSentEvent],
    *,
    conversation: str | None = None,
) -> Response:
    """An answer that streams these for as long as the session is good.

    With `conversation`, the reader's own, also only while they may read it: see `Entitled`.
    """
    entitled = Entitled(request, door, session, conversation)
    response = WatchedResponse(
        _while_live(entitled, lines), sep="\n", ping=HEARTBEAT_SECONDS, send_timeout=SEND_SECONDS
    )
    response.holds = entitled.holds
    return response


async def _while_live(entitled: Entitled, lines: AsyncGenerator[ServerSentEvent]) -> AsyncIterator[ServerSentEvent]:
    async with aclosing(lines):
        async for line in lines:
            if not entitled.is_live():
                return
            yield line


def _event(data: dict[str, Any], seq: int | None = None) -> ServerSentEvent:
    return ServerSentEvent(data=encode(data), id=None if seq is None else str(seq))
