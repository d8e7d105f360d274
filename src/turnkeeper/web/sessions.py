"""Who is talking, kept in a signed cookie: nothing about a session is believed that this server didn't sign.

The value is `base64url(JSON) . base64url(HMAC-SHA256)`. It is made new on every login, so an id planted beforehand is
worth nothing; logging out ends it on the server as well, for as long as it would have been good.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from starlette.requests import HTTPConnection
from starlette.responses import Response

from turnkeeper.errors import ConfigurationError, InputError
from turnkeeper.types import Principal

__all__ = ("CUSTOMER_SECONDS", "STAFF_SECONDS", "Session", "Sessions")

CUSTOMER_SECONDS = 30 * 24 * 3600.0
STAFF_SECONDS = 8 * 3600.0
_LONGEST = 2_000
_MOST_ENDED = 10_000


@dataclass(frozen=True, slots=True)
class Session:
    """One signed-in (or anonymous) browser. `id` is the session's own, `expires_at` in seconds since 1970.

    `proven` sessions began when their customer proved who they are; `is_given` is one of the application around.
    """

    principal: Principal
    id: str
    expires_at: float
    proven: bool = False

    @property
    def is_given(self) -> bool:
        """Whether there is no cookie behind it."""
        return ":" in self.id


class Sessions:
    """Makes and reads the cookies. `secret` signs them: at least 16 bytes, the same in every process of a service."""

    def __init__(self, secret: bytes, clock: Callable[[], float]) -> None:
        if len(secret) < 16:
            raise ConfigurationError("the web's secret must be at least 16 bytes; `secrets.token_bytes(32)` makes one")
        self._key = hashlib.sha256(b"turnkeeper.web.session\x00" + secret).digest()
        self._clock = clock
        self._ended: dict[str, float] = {}

    def start(self, principal: Principal, *, proven: bool = False) -> Session:
        """A new session, with an id that nobody has seen before."""
        seconds = STAFF_SECONDS if principal.kind == "staff" else CUSTOMER_SECONDS
        return Session(principal, secrets.token_urlsafe(16), self._clock() + seconds, proven)

    def end(self, session: Session) -> None:
        """The session is over, here and for its open streams."""
        now = self._clock()
        if len(self._ended) >= _MOST_ENDED:
            self._ended = {one: until for one, until in self._ended.items() if until > now}
        self._ended[session.id] = session.expires_at

    def is_live(self, session: Session) -> bool:
        """Whether it has neither run out nor been ended."""
        return session.expires_at > self._clock() and session.id not in self._ended

    def read(self, connection: HTTPConnection, kind: str) -> Session | None:
        """The connection's session of that kind of principal, None if it has none that is good."""
        session = self.signed(connection, kind)
        return session if session is not None and self.is_live(session) else None

    def signed(self, connection: HTTPConnection, kind: str) -> Session | None:
        """The same, also where it is over: who held it, once."""
        session = self._signed(connection.cookies.get(cookie_name(kind, connection), ""))
        return session if session is not None and session.principal.kind == kind else None

    def opened(self, value: str) -> Session | None:
        """The session in a cookie's value; None where it isn't one of ours, or over."""
        session = self._signed(value)
        return session if session is not None and self.is_live(session) else None

    def _signed(self, value: str) -> Session | None:
        body, _, mark = value.partition(".")
        if not mark or len(value) > _LONGEST:
            return None
        try:
            if not hmac.compare_digest(_plain(mark), self._mark(body)):
                return None
            fields: dict[str, Any] = json.loads(_plain(body))
            who = Principal(fields["k"], fields["i"], fields["l"])
            return Session(who, fields["s"], float(fields["e"]), fields.get("p") == 1)
        except (ValueError, KeyError, TypeError, AttributeError, binascii.Error, InputError):
            return None

    def value(self, session: Session) -> str:
        """The cookie's value for a session."""
        who = session.principal
        fields = {"k": who.kind, "i": who.id, "l": who.level, "s": session.id, "e": session.expires_at}
        fields |= {"p": 1} if session.proven else {}
        body = _coded(json.dumps(fields, separators=(",", ":")).encode())
        return f"{body}.{_coded(self._mark(body))}"

    def put(self, response: Response, connection: HTTPConnection, session: Session) -> None:
        """Set the session's cookie on a response."""
        response.set_cookie(
            cookie_name(session.principal.kind, connection),
            self.value(session),
            max_age=int(session.expires_at - self._clock()),
            path="/",
            secure=_is_https(connection),
            httponly=True,
            samesite="strict" if session.principal.kind == "staff" else "lax",
        )

    def drop(self, response: Response, connection: HTTPConnection, kind: str) -> None:
        """Take the cookie back."""
        response.delete_cookie(cookie_name(kind, connection), path="/", secure=_is_https(connection), httponly=True)

    def _mark(self, body: str) -> bytes:
        return hmac.digest(self._key, body.encode(), "sha256")


def cookie_name(kind: str, connection: HTTPConnection) -> str:
    """One cookie for customers and one for staff; with the prefix that binds it to this very host on https."""
    name = "turnkeeper_staff" if kind == "staff" else "turnkeeper_customer"
    return f"__Host-{name}" if _is_https(connection) else name


def _is_https(connection: HTTPConnection) -> bool:
    return connection.url.scheme in ("https", "wss")


def _coded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def _plain(text: str) -> bytes:
    return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
