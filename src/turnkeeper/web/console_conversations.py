"""The console's conversations: the list, the search, one as a whole, and taking one over."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from typing import Annotated, Any

from pydantic import Field
from starlette.requests import Request
from starlette.responses import Response

from turnkeeper.core.events import Event, MessagesImported, ReplyReceived, TurnStarted
from turnkeeper.errors import JournalError, UnknownConversationError
from turnkeeper.journal import Summary
from turnkeeper.types import Principal
from turnkeeper.web.answers import Body, JSONAnswer, RefusedError, read_body
from turnkeeper.web.cleaning import visible
from turnkeeper.web.door import Door
from turnkeeper.web.ledger import Line
from turnkeeper.web.projection import StaffView, text_of_content
from turnkeeper.web.service import Service
from turnkeeper.web.sessions import Session
from turnkeeper.web.stafflog import is_staff_log
from turnkeeper.web.streams import conversation_stream
from turnkeeper.web.takeover import hand_back, say, take_over
from turnkeeper.wire.blocks import text_of
from turnkeeper.wire.json import decode, encode

__all__ = (
    "answer",
    "asked_number",
    "events",
    "give_back",
    "list_conversations",
    "one_event",
    "search",
    "show",
    "stop",
    "take",
    "who",
)

_MOST_LISTED = 100
_MOST_NAMES = 2_000
"""Lines of the list that one request of the search looks at."""
_MOST_READ = 100
"""Conversations that one request of the search reads."""
_AROUND = 60
"""Characters shown in front of what was found, and behind it."""
_LONGEST_ID = 255


def asked_number(request: Request, name: str, default: int, most: int) -> int:
    """A number in the address, from 0 to `most`. RefusedError (422) for what is none."""
    text = request.query_params.get(name, str(default))
    if not (text.isascii() and text.isdecimal() and len(text) < 16):
        raise RefusedError(422, "input", f"{name} is a number")
    return min(int(text), most)


def who(principal: Principal | None) -> dict[str, str] | None:
    """A principal as staff see them."""
    if principal is None:
        return None
    return {"kind": visible(principal.kind), "id": visible(principal.id), "level": visible(principal.level)}


async def list_conversations(request: Request, door: Door, session: Session) -> Response:
    """A page of the list: `show=all`, the newest change first, or `show=waiting`, the longest waiting first."""
    del session
    service = door.running
    offset = asked_number(request, "offset", 0, 10_000_000)
    limit = max(asked_number(request, "limit", 50, _MOST_LISTED), 1)
    shown = request.query_params.get("show", "all")
    if shown == "waiting":
        found = await service.journal.waiting(limit=limit + 1, offset=offset)
    elif shown == "all":
        found = await service.journal.conversations(limit=limit + 1, offset=offset)
    else:
        raise RefusedError(422, "input", "show is all or waiting")
    return JSONAnswer(
        {
            "conversations": await _rows(service, found[:limit]),
            "next": offset + limit if len(found) > limit else None,
            "now": service.now(),
        }
    )


async def _rows(service: Service, found: Iterable[Summary]) -> list[dict[str, Any]]:
    return [_row(one, await service.ledger.of(one)) for one in found if not is_staff_log(one)]


def _row(one: Summary, line: Line) -> dict[str, Any]:
    wait = line.wait
    return {
        "id": one.id,
        "title": visible(one.title),
        "principal": who(one.principal),
        "status": one.status or ("running" if one.turns else "new"),
        "taken_over": None if line.taken_over is None else visible(line.taken_over),
        "waiting": None if wait is None else {"for": wait.what, "since": wait.since},
        "turns": one.turns,
        "events": one.events,
        "cost": f"{line.whole.usd:f}",
        "priced": line.whole.priced,
        "readable": line.is_readable,
        "created_at": one.created_at,
        "updated_at": one.updated_at,
    }


# ----- search ---------------------------------------------------------------------------------------------------------


async def search(request: Request, door: Door, session: Session) -> Response:
    """Look for a text among titles, ids and people (`in=names`) or in what was said (`in=messages`).

    One request looks at a part of the conversations, however many there are; `next` is the offset to go on from.
    """
    del session
    service = door.running
    wanted = _folded(request.query_params.get("q", ""))
    if not wanted.strip() or len(wanted) > 200:
        raise RefusedError(422, "input", "q is the text to look for, 1 to 200 characters")
    offset = asked_number(request, "offset", 0, 10_000_000)
    place = request.query_params.get("in", "names")
    if place not in ("names", "messages"):
        raise RefusedError(422, "input", "in is names or messages")
    most = _MOST_NAMES if place == "names" else _MOST_READ
    summaries = await service.journal.conversations(limit=most, offset=offset)
    found = []
    looked = 0
    for one in summaries:
        looked += 1
        if is_staff_log(one):
            continue
        said = _named(one, wanted) if place == "names" else await _said(service, one, wanted)
        if said is not None:
            found.append(_row(one, await service.ledger.of(one)) | {"found": said})
        if len(found) == _MOST_LISTED:
            break
    more = looked < len(summaries) or len(summaries) == most
    return JSONAnswer({"conversations": found, "next": offset + looked if more else None, "now": service.now()})


def _folded(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold()


def _named(one: Summary, wanted: str) -> str | None:
    principal = one.principal
    names = [one.title, one.id, *((f"{principal.kind} {principal.id}",) if principal else ())]
    return next((visible(name) for name in names if wanted in _folded(name)), None)


async def _said(service: Service, one: Summary, wanted: str) -> str | None:
    """What was found in a conversation's messages and replies, with a few words around it."""
    try:
        stored = await service.journal.read(one.id)
    except JournalError:
        return None
    for event in stored:
        for text in _texts(event):
            folded = _folded(text)
            at = folded.find(wanted)
            if at >= 0:
                begin, end = max(_place(text, at) - _AROUND, 0), _place(text, at + len(wanted)) + _AROUND
                cut = " ".join(text[begin:end].split())
                return visible(("…" if begin else "") + cut + ("…" if end < len(text) else ""))
    return None


def _place(text: str, at: int) -> int:
    """Where in the text the character stands that is at `at` of its folded form: ß, for one, is two letters there."""
    length = 0
    for number, letter in enumerate(text):
        if length >= at:
            return number
        length += len(_folded(letter))
    return len(text)


def _texts(event: Event) -> Iterable[str]:
    if isinstance(event, TurnStarted) and event.content is not None:
        yield text_of_content(event.content)
    elif isinstance(event, MessagesImported):
        for message in event.messages:
            yield text_of_content(encode(decode(message).get("content")))
    elif isinstance(event, ReplyReceived):
        yield text_of([decode(block) for block in event.blocks])


# ----- one conversation -----------------------------------------------------------------------------------------------


def _name(request: Request) -> str:
    """The id in the path: any that a journal can hold, since other doors give other ids."""
    name = str(request.path_params["conversation"])
    if not 0 < len(name) <= _LONGEST_ID or not name.isprintable():
        raise RefusedError(404, "unknown_conversation", "there is no such conversation")
    return name


def _view(service: Service) -> StaffView:
    def effect_of(tool: str) -> str | None:
        found = service.keeper.agent.tools.get(tool)
        return None if found is None else found.effect

    return StaffView(service.make_filter, effect_of)


async def _stored(service: Service, name: str) -> list[Event]:
    stored = await service.journal.read(name)
    if not stored:
        await service.owner(name)  # its first message may still wait for its turn
    return stored


async def show(request: Request, door: Door, session: Session) -> Response:
    """The conversation as it stands: every event as staff see it, and its line in the list."""
    del session
    service, name = door.running, _name(request)
    view = _view(service)
    items = [item for event in await _stored(service, name) if (item := view.take(event)) is not None]
    return JSONAnswer({"id": name, "last": view.seq, "items": items, "now": service.now()})


async def events(request: Request, door: Door, session: Session) -> Response:
    """The event stream, with the progress of calls and the model's own text as it streams in."""
    service, name = door.running, _name(request)
    last = len(await _stored(service, name))
    return await conversation_stream(request, door, session, name, view=_view(service), raw=True, last=last)


async def one_event(request: Request, door: Door, session: Session) -> Response:
    """One event with all its fields, also those that are too long for the transcript."""
    del session
    service, name, seq = door.running, _name(request), int(request.path_params["seq"])
    stored = await service.journal.read(name, after=seq - 1) if 0 < seq < 10**12 else []
    if not stored:
        raise UnknownConversationError(f"no event {seq} in conversation {name!r}")
    whole = StaffView.whole(stored[0])
    return JSONAnswer({"seq": seq, "at": stored[0].at, **whole})


async def stop(request: Request, door: Door, session: Session) -> Response:
    """End the turn that runs or waits."""
    del session
    return JSONAnswer({"stopped": await door.running.stop(_name(request), principal=None)}, 202)


async def take(request: Request, door: Door, session: Session) -> Response:
    """Answer in the model's place from now on."""
    await take_over(door.running, _name(request), by=session.principal)
    return JSONAnswer({"taken_over": session.principal.id})


async def give_back(request: Request, door: Door, session: Session) -> Response:
    """Leave the conversation to the model again."""
    await hand_back(door.running, _name(request), by=session.principal)
    return JSONAnswer({"taken_over": None})


class AnswerBody(Body):
    """What a member of staff says to the customer."""

    text: Annotated[str, Field(min_length=1)]


async def answer(request: Request, door: Door, session: Session) -> Response:
    """Say something to the customer of a conversation that one has taken over."""
    body = await read_body(request, AnswerBody)
    if len(body.text) > door.rates.text:
        raise RefusedError(413, "too_large", f"a message has at most {door.rates.text} characters")
    await say(door.running, _name(request), body.text, by=session.principal)
    return JSONAnswer({"said": True}, 201)
