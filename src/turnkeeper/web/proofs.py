"""The handlers of what customers prove and confirm beside the chat: the form for codes, cards, signing in and out."""

from __future__ import annotations

import hashlib
import uuid
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from turnkeeper.web.answers import Body, JSONAnswer, RefusedError, read_body
from turnkeeper.web.door import Door, address_of, conversation_id, door_of
from turnkeeper.web.proving import GO_ON, Proof, Prover
from turnkeeper.web.sessions import Session
from turnkeeper.web.takeover import take_in

if TYPE_CHECKING:
    from turnkeeper import desk

__all__ = ("CardBody", "CodeBody", "ContactBody", "NoBody", "TokenBody", "go_on", "proof_routes", "told_before")


class NoBody(Body):
    """Nothing but the wish."""


class CodeBody(Body):
    """A one-time code, as it was typed."""

    code: Annotated[str, Field(min_length=1, max_length=40)]


class ContactBody(Body):
    """The e-mail address, phone number or username of the account that somebody says is theirs."""

    contact: Annotated[str, Field(min_length=1, max_length=254)]


class CardBody(Body):
    """A customer's decision on a call of their own. `digest` is that of the card that was shown."""

    id: str
    digest: str
    decision: Literal["confirm", "withdraw"]


class TokenBody(Body):
    """A token of the identity provider."""

    token: Annotated[str, Field(min_length=1, max_length=8_000)]


def told_before(door: Door, request: Request, conversation: str, key: str) -> Proof | None:
    """What was answered to the same message or code before, also to the cookie that this very proof has replaced."""
    if door.prover is None:
        return None
    session = door.sessions.signed(request, "customer")
    return None if session is None else door.prover.told(session.principal, conversation, key)


async def go_on(door: Door, proof: Proof, conversation: str, *, admitted: bool) -> None:
    """Do what a right code is for: carry out what it confirms, or have the model go on with whom it knows now."""
    assert door.prover is not None
    service = door.running
    await door.prover.carry_out(service, proof, conversation)
    if proof.session is not None and admitted:
        await take_in(service, conversation, GO_ON, key=uuid.uuid4().hex, principal=proof.session.principal)


async def show(request: Request) -> Response:
    """Who the customer is, whether a code is waited for, and what they are to confirm."""
    door, prover, session, name = await _mine(request)
    return JSONAnswer(await prover.shown(door.running, session, name))


async def enter(request: Request) -> Response:
    """Try a code. The same one twice is answered alike."""
    door, name = door_of(request), conversation_id(request)
    prover = _prover(door)
    body = await read_body(request, CodeBody)
    key = "code " + hashlib.sha256(body.code.encode("utf-8", "surrogatepass")).hexdigest()
    proof, session = told_before(door, request, name, key), None
    if proof is None:
        _, _, session, _ = await _mine(request)
        _count(door, session)
        admitted = await prover.admits(door.running, session, name)
        proof = await prover.enter(session, name, body.code, key=key)
        await go_on(door, proof, name, admitted=admitted)
    current = proof.session or session or await door.admitted(request)
    answer = {"outcome": proof.outcome, "text": proof.text, "purpose": proof.purpose}
    response = JSONAnswer({**answer, "proof": await prover.shown(door.running, current, name)})
    if proof.session is not None:
        door.sessions.put(response, request, proof.session)
    return response


async def again(request: Request) -> Response:
    """Have the last code sent once more."""
    door, prover, session, name = await _asking(request, NoBody)
    return await _sent(door, prover, session, name, await prover.again(session, name, address_of(request)))


async def new_contact(request: Request) -> Response:
    """Have a code sent to the new contact of a change that waits."""
    door, prover, session, name = await _asking(request, NoBody)
    return await _sent(door, prover, session, name, await prover.new_contact(session, name))


async def identify(request: Request) -> Response:
    """Have a code sent to the account that somebody says is theirs."""
    body = await read_body(request, ContactBody)
    door, prover, session, name = await _asking(request)
    refused = await prover.identify(session, name, body.contact, address_of(request))
    return await _sent(door, prover, session, name, refused)


async def decide(request: Request) -> Response:
    """Confirm or withdraw one's own call."""
    body = await read_body(request, CardBody)
    door, prover, session, name = await _asking(request)
    confirmed = body.decision == "confirm"
    refused = await prover.decide(door.running, session, name, body.id, digest=body.digest, confirmed=confirmed)
    return await _sent(door, prover, session, name, refused)


async def sign_in(request: Request) -> Response:
    """Sign in with a token of the identity provider; the session's cookie is made anew."""
    door = door_of(request)
    prover, session = _prover(door), await door.admitted(request)
    wait = door.logins.take(address_of(request))
    if wait:
        raise RefusedError(429, "too_many_requests", "too many sign-ins from this address", wait=wait)
    anew = await prover.sign_in(session, (await read_body(request, TokenBody)).token)
    response = JSONAnswer({"signed_in": True})
    if anew is not None:
        door.sessions.put(response, request, anew)
    return response


async def leave(request: Request) -> Response:
    """End the session: nothing that was proven in it counts any more."""
    door = door_of(request)
    prover, session = _prover(door), await door.admitted(request)
    await read_body(request, NoBody)
    await prover.leave(session)
    response = JSONAnswer({"left": True})
    door.sessions.drop(response, request, "customer")
    return response


def proof_routes() -> list[Route]:
    """Paths, methods, handlers."""
    one = "/api/conversations/{conversation}/proof"
    return [
        Route(one, show, methods=["GET"]),
        Route(f"{one}/code", enter, methods=["POST"]),
        Route(f"{one}/again", again, methods=["POST"]),
        Route(f"{one}/new-contact", new_contact, methods=["POST"]),
        Route(f"{one}/contact", identify, methods=["POST"]),
        Route(f"{one}/card", decide, methods=["POST"]),
        Route("/api/session/sign-in", sign_in, methods=["POST"]),
        Route("/api/session/leave", leave, methods=["POST"]),
    ]


def _prover(door: Door) -> Prover:
    if door.prover is None:
        raise RefusedError(404, "not_found", "nothing is proven at this service")
    return door.prover


async def _mine(request: Request) -> tuple[Door, Prover, Session, str]:
    """What the handlers begin with: the conversation is the session's own, whether proof of that has run out or not."""
    door, name = door_of(request), conversation_id(request)
    prover = _prover(door)
    session = await door.admitted(request)
    await door.running.belongs(name, session.principal)
    return door, prover, session, name


async def _asking(request: Request, body: type[Body] | None = None) -> tuple[Door, Prover, Session, str]:
    """The same for what changes something."""
    if body is not None:
        await read_body(request, body)
    door, prover, session, name = await _mine(request)
    _count(door, session)
    return door, prover, session, name


def _count(door: Door, session: Session) -> None:
    door.check_message(session.principal, "")


async def _sent(door: Door, prover: Prover, session: Session, name: str, refused: desk.Refusal | None) -> Response:
    answer = None if refused is None else {"code": refused.code, "text": refused.text}
    return JSONAnswer({"refused": answer, "proof": await prover.shown(door.running, session, name)})
