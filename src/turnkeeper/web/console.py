"""The operator's console: who may use it, and every path of it.

No handler of the console looks for its session itself: `routes` puts the check in front of each, and only signing in
goes without.
"""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable
from typing import Annotated

from anyio import CapacityLimiter, to_thread
from anyio.lowlevel import RunVar
from pydantic import Field
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from turnkeeper.types import Principal
from turnkeeper.web import console_conversations, console_figures, console_inbox, pages
from turnkeeper.web.answers import Body, JSONAnswer, RefusedError, read_body
from turnkeeper.web.door import Door, address_of, door_of
from turnkeeper.web.sessions import Session
from turnkeeper.web.staff import DEMO_COOKIE, is_name
from turnkeeper.web.streams import board_stream

__all__ = ("console_routes", "sign_in")

Handler = Callable[[Request, Door, Session], Awaitable[Response]]

_AT_ONCE = 2
"""Passwords that are checked at the same time: each takes 32 MB and a tenth of a second of a core."""
_limiter: RunVar[CapacityLimiter] = RunVar("turnkeeper_staff_checks")  # a loop has one


class SignInBody(Body):
    """A member of staff's name and password; a demo asks for a name only."""

    name: Annotated[str, Field(min_length=1, max_length=64)]
    password: Annotated[str, Field(max_length=1_000)] = ""


async def sign_in(request: Request) -> Response:
    """Begin a session of staff. It has an id of its own, whatever the browser had before."""
    door = door_of(request)
    body = await read_body(request, SignInBody)
    address = address_of(request)
    waits = [door.logins.take(key) for key in (f"address:{address}", f"name:{body.name}")]
    if any(waits):
        raise RefusedError(429, "too_many_requests", "too many tries; wait a moment", wait=max(waits))
    way = door.staff.way
    if way == "demo" and is_name(body.name) and body.name.isascii() and door.staff.session(request, door.sessions):
        session = Session(Principal("staff", body.name, "signed_in"), f"demo:{body.name}", float("inf"))
        response = JSONAnswer(_session(door, session))
        response.set_cookie(DEMO_COOKIE, body.name, path="/", httponly=True, samesite="strict")
    elif way == "password" and await _is_right(door, body):
        session = door.sessions.start(Principal("staff", body.name, "signed_in"))
        response = JSONAnswer(_session(door, session))
        door.sessions.put(response, request, session)
    else:
        await door.running.staff_log.write("sign_in_refused", body.name, address)
        door.running.metrics.count("refused", by="reason", value="sign_in")
        raise RefusedError(401, "sign_in", "that name and password are not those of anybody here")
    await door.running.staff_log.write("signed_in", body.name, address)
    return response


async def _is_right(door: Door, body: SignInBody) -> bool:
    limiter = _limiter.get(None)
    if limiter is None:
        limiter = CapacityLimiter(_AT_ONCE)
        _limiter.set(limiter)
    return await to_thread.run_sync(door.staff.check, body.name, body.password, limiter=limiter)


async def show_session(request: Request, door: Door, session: Session) -> Response:
    """Who one is to the console, and the server's time, by which everything here runs out."""
    del request
    return JSONAnswer(_session(door, session))


def _session(door: Door, session: Session) -> dict[str, object]:
    ends = None if session.expires_at == float("inf") else session.expires_at
    return {
        "name": session.principal.id,
        "way": door.staff.way,
        "expires_at": ends,
        "now": door.clock(),
        "title": door.title,
    }


async def sign_out(request: Request, door: Door, session: Session) -> Response:
    """End the session, here and in the browser; its open streams end too."""
    response = JSONAnswer({"signed_out": True})
    if door.staff.way == "demo":
        response.delete_cookie(DEMO_COOKIE, path="/", httponly=True, samesite="strict")
    else:
        door.sessions.end(session)
        door.sessions.drop(response, request, "staff")
    await door.running.staff_log.write("signed_out", session.principal.id, address_of(request))
    return response


def _for_staff(handler: Handler) -> Callable[[Request], Awaitable[Response]]:
    @functools.wraps(handler)
    async def checked(request: Request) -> Response:
        door = door_of(request)
        return await handler(request, door, door.employee(request))

    return checked


_ONE = "conversations/{conversation:path}"  # other doors give ids with slashes in them
_PATHS: tuple[tuple[str, str, Handler], ...] = (
    ("GET", "session", show_session),
    ("DELETE", "session", sign_out),
    ("GET", "changes", board_stream),
    ("GET", "conversations", console_conversations.list_conversations),
    ("GET", "search", console_conversations.search),
    ("GET", f"{_ONE}/events", console_conversations.events),
    ("GET", f"{_ONE}/events/{{seq:int}}", console_conversations.one_event),
    ("POST", f"{_ONE}/stop", console_conversations.stop),
    ("POST", f"{_ONE}/take-over", console_conversations.take),
    ("POST", f"{_ONE}/hand-back", console_conversations.give_back),
    ("POST", f"{_ONE}/messages", console_conversations.answer),
    ("GET", _ONE, console_conversations.show),
    ("GET", "inbox", console_inbox.show),
    ("POST", "approvals", console_inbox.decide),
    ("POST", "outcomes", console_inbox.resolve),
    ("GET", "usage", console_figures.usage),
    ("GET", "usage.csv", console_figures.usage_csv),
    ("GET", "audit", console_figures.audit),
    ("GET", "audit.csv", console_figures.audit_csv),
)


def console_routes() -> list[BaseRoute]:
    """The page, and `api/console/*`."""
    return [
        Route("/console", pages.console),
        Route("/api/console/session", sign_in, methods=["POST"]),
        *(Route(f"/api/console/{path}", _for_staff(one), methods=[method]) for method, path, one in _PATHS),
    ]
