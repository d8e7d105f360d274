"""The customer's part of the JSON API. The server owns the history: a customer sends only the newest message."""

from __future__ import annotations

import uuid
from typing import Annotated

from pydantic import Field
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from turnkeeper.journal import Summary
from turnkeeper.web.answers import Body, JSONAnswer, RefusedError, read_body
from turnkeeper.web.door import Door, address_of, conversation_id, door_of
from turnkeeper.web.projection import CustomerView
from turnkeeper.web.proofs import go_on, told_before
from turnkeeper.web.proving import Proof
from turnkeeper.web.sessions import Session
from turnkeeper.web.streams import conversation_stream
from turnkeeper.web.takeover import take_in
from turnkeeper.web.transcripts import as_markdown

__all__ = (
    "MessageBody",
    "begin_session",
    "events",
    "export",
    "list_conversations",
    "new_conversation",
    "send_message",
    "show_conversation",
    "show_session",
    "stop",
)

_LONGEST_KEY = 200
_MOST_LISTED = 200


class MessageBody(Body):
    """A customer's message."""

    text: Annotated[str, Field(min_length=1)]


async def begin_session(request: Request) -> Response:
    """The session, a new one if the browser has none."""
    door = door_of(request)
    session = await door.known(request)
    answer = session or door.fresh(request)
    response = JSONAnswer(_session(door, answer))
    if session is None:
        door.sessions.put(response, request, answer)
    return response


async def show_session(request: Request) -> Response:
    """Who the customer is to this door."""
    door = door_of(request)
    return JSONAnswer(_session(door, await door.admitted(request)))


def _session(door: Door, session: Session) -> dict[str, object]:
    who = session.principal
    return {
        "kind": who.kind,
        "level": who.level,
        "title": door.title,
        "codes": door.prover is not None,
        "features": dict(door.features),
    }


async def list_conversations(request: Request) -> Response:
    """The customer's own conversations, the newest change first."""
    door = door_of(request)
    session = await door.admitted(request)
    found = await door.running.journal.conversations(principal=session.principal, limit=_MOST_LISTED)
    return JSONAnswer({"conversations": [line_of(one) for one in found]})


def line_of(one: Summary) -> dict[str, object]:
    """One conversation of a list."""
    return {
        "id": one.id,
        "title": one.title,
        "status": one.status or ("running" if one.turns else "new"),
        "created_at": one.created_at,
        "updated_at": one.updated_at,
    }


async def new_conversation(request: Request) -> Response:
    """An id for a new conversation, which begins with its first message."""
    door = door_of(request)
    await door.admitted(request)
    return JSONAnswer({"id": uuid.uuid4().hex}, 201)


async def send_message(request: Request) -> Response:
    """Take a message in: durable, once for each Idempotency-Key; the answer comes on the event stream.

    One that holds a one-time code is not taken in; the answer says what became of the code.
    """
    door, name = door_of(request), conversation_id(request)
    key = request.headers.get("idempotency-key", "")
    if not key or len(key) > _LONGEST_KEY or not key.isprintable():
        raise RefusedError(400, "idempotency_key", f"send an Idempotency-Key header: 1 to {_LONGEST_KEY} characters")
    if (told := told_before(door, request, name, key)) is not None:
        return _typed(door, request, name, key, told)
    session, service = await door.admitted(request), door.running
    body = await read_body(request, MessageBody)
    door.check_message(session.principal, body.text)
    if door.prover is not None:
        admitted = await door.prover.admits(service, session, name)
        proof = await door.prover.receive(session, name, body.text, key=key, client=address_of(request))
        if proof is not None:
            await go_on(door, proof, name, admitted=admitted)
            return _typed(door, request, name, key, proof)
    await service.admit(name, session.principal)  # its turn would be refused, where nobody sees it
    added = await take_in(service, name, body.text, key=key, principal=session.principal)
    return JSONAnswer({"conversation": name, "key": key, "status": "queued" if added else "duplicate"}, 202)


def _typed(door: Door, request: Request, name: str, key: str, proof: Proof) -> Response:
    """The answer to a message that was none for the model."""
    answer = {"conversation": name, "key": key, "status": "kept_back", "outcome": proof.outcome, "text": proof.text}
    response = JSONAnswer(answer, 202)
    if proof.session is not None:
        door.sessions.put(response, request, proof.session)
    return response


async def show_conversation(request: Request) -> Response:
    """The conversation as it stands: the items of its event stream, all at once."""
    door, name = door_of(request), conversation_id(request)
    service = door.running
    await service.own(name, (await door.admitted(request)).principal)
    view = CustomerView(service.make_filter)
    items = [item for event in await service.journal.read(name) if (item := view.take(event)) is not None]
    return JSONAnswer({"id": name, "last": view.seq, "items": items})


async def events(request: Request) -> Response:
    """The event stream."""
    door, name = door_of(request), conversation_id(request)
    session, service = await door.admitted(request), door.running
    last = await service.own(name, session.principal)
    view = CustomerView(service.make_filter)
    return await conversation_stream(request, door, session, name, view=view, raw=False, last=last)


async def stop(request: Request) -> Response:
    """End the turn that runs."""
    door, name = door_of(request), conversation_id(request)
    session, service = await door.admitted(request), door.running
    await service.own(name, session.principal)
    return JSONAnswer({"stopped": await service.stop(name, principal=session.principal)}, 202)


async def export(request: Request) -> Response:
    """The customer's own transcript, to keep: JSON, or Markdown with `?format=markdown`."""
    door, name = door_of(request), conversation_id(request)
    service = door.running
    await service.own(name, (await door.admitted(request)).principal)
    view = CustomerView(service.make_filter)
    items = [item for event in await service.journal.read(name) if (item := view.take(event)) is not None]
    disposition = {"content-disposition": 'attachment; filename="conversation.md"'}
    if request.query_params.get("format") == "markdown":
        return PlainTextResponse(as_markdown(items), headers=disposition, media_type="text/markdown")
    return JSONAnswer(
        {"conversation": name, "items": items},
        headers={"content-disposition": 'attachment; filename="conversation.json"'},
    )
