"""What a handler needs: the service, the sessions, the limits; found on the application's state."""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from starlette.requests import Request

from turnkeeper.types import Principal
from turnkeeper.web.answers import RefusedError
from turnkeeper.web.proving import Prover
from turnkeeper.web.rates import Buckets, Rates, Slots
from turnkeeper.web.service import Service
from turnkeeper.web.sessions import Session, Sessions
from turnkeeper.web.staff import Staff

__all__ = ("Customer", "Door", "address_of", "checked_conversation", "conversation_id", "door_of", "name_of")

Customer = Callable[[Request], Principal | None]
"""Who the customer of a request is, as the application around this one knows them; None for an anonymous one."""
_ID = re.compile(r"[A-Za-z0-9_.:@+-]{1,128}")


@dataclass(kw_only=True)
class Door:
    """Everything that the handlers share. `service` is there while the application runs."""

    sessions: Sessions
    rates: Rates
    staff: Staff
    clock: Callable[[], float]
    customer: Customer | None = None
    title: str = "Turnkeeper"
    features: Mapping[str, Any] = field(default_factory=dict)
    metrics_token: str | None = None
    service: Service | None = None
    prover: Prover | None = None

    def __post_init__(self) -> None:
        self.messages = Buckets(self.rates.messages, self.clock)
        self.logins = Buckets(self.rates.logins, self.clock)
        self.new_sessions = Buckets(self.rates.sessions, self.clock)
        self.streams_of_principal = Slots(self.rates.streams_per_principal)
        self.streams_of_address = Slots(self.rates.streams_per_address)

    @property
    def running(self) -> Service:
        """The service. RefusedError while the application isn't running."""
        if self.service is None:
            raise RefusedError(503, "starting", "the service is starting; try again in a moment", wait=1)
        return self.service

    def session(self, request: Request) -> Session | None:
        """The customer's session: the cookie's, or that of the application around."""
        if self.customer is not None:
            who = self.customer(request)
            if who is not None:
                return Session(who, f"given:{name_of(who)}", self.clock() + 3600, proven=True)
        return self.sessions.read(request, "customer")

    def is_still(self, request: Request, session: Session) -> bool:
        """Whether a request that was let in with that session would be now, as the same principal with that level."""
        # whichever door it was let in by: an application around this one may hold its staff's conversations, too
        again = (self.session(request), self.staff.session(request, self.sessions))
        return any(one is not None and (one.id, one.principal) == (session.id, session.principal) for one in again)

    def signed(self, request: Request) -> Session:
        """The customer's session. RefusedError (401) without one."""
        session = self.session(request)
        if session is None:
            raise _no_session()
        return session

    async def known(self, request: Request) -> Session | None:
        """The customer's session; None too for a cookie from before its customer proved who they are."""
        session = self.session(request)
        if session is not None and self.prover is not None and not await self.prover.is_current(session):
            return None
        return session

    async def admitted(self, request: Request) -> Session:
        """The same. RefusedError (401) without one."""
        session = await self.known(request)
        if session is None:
            raise _no_session()
        return session

    def fresh(self, request: Request) -> Session:
        """A session for a customer whom nobody knows yet."""
        wait = self.new_sessions.take(address_of(request))
        if wait:
            raise RefusedError(429, "too_many_requests", "too many new sessions from this address", wait=wait)
        return self.sessions.start(Principal("customer", f"web-{secrets.token_urlsafe(12)}", "anonymous"))

    def check_message(self, who: Principal, text: str) -> None:
        """RefusedError for a message that is too long (413) or one too many (429)."""
        if len(text) > self.rates.text:
            raise RefusedError(413, "too_large", f"a message has at most {self.rates.text} characters")
        wait = self.messages.take(name_of(who))
        if wait:
            raise RefusedError(429, "too_many_messages", "too many messages in a short time", wait=wait)

    def employee(self, request: Request) -> Session:
        """The staff session. RefusedError (401) without one."""
        session = self.staff.session(request, self.sessions)
        if session is None:
            raise RefusedError(401, "sign_in", "sign in as staff first: POST api/console/session")
        return session


def _no_session() -> RefusedError:
    return RefusedError(401, "no_session", "begin a session first: POST api/session")


def door_of(request: Request) -> Door:
    """The door that this request came through."""
    door = request.app.state.door
    assert isinstance(door, Door)
    return door


def name_of(who: Principal) -> str:
    """A principal in one word, whatever their level: what limits are counted by."""
    return f"{who.kind}:{who.id}"


def address_of(request: Request) -> str:
    """The address that the request came from, as the server knows it."""
    return request.client.host if request.client else ""


def conversation_id(request: Request) -> str:
    """The id in the path. RefusedError (404) for what is no id that this door gives or takes."""
    return checked_conversation(str(request.path_params["conversation"]))


def checked_conversation(name: str) -> str:
    """The id. RefusedError (404) for what is no id that this door gives or takes."""
    if not _ID.fullmatch(name):
        raise RefusedError(404, "unknown_conversation", "there is no such conversation")
    return name
