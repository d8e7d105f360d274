"""What every request passes before a handler sees it: its host, its origin, its size, its rate; and the headers of
every answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from urllib.parse import urlsplit

import anyio
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from turnkeeper.web.answers import refusal, unforeseen
from turnkeeper.web.proxies import Proxies
from turnkeeper.web.rates import Buckets, Rates

__all__ = ("CSP", "Guard", "host_of")

CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; font-src 'self';"
    " form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script';"
    " trusted-types turnkeeper"
)
"""`trusted-types` names the one policy that may put server-made HTML into a page."""

HEADERS = {
    "content-security-policy": CSP,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    "x-frame-options": "DENY",
}
_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
_BODY_SECONDS = 20.0
_CLOSE = {"connection": "close"}
"""For answers that are given before the whole body has come."""


class Guard:
    """The outermost layer. `hosts` are the names under which the service is reached, without port."""

    def __init__(
        self, app: ASGIApp, *, hosts: Iterable[str], rates: Rates, clock: Callable[[], float], proxies: Proxies
    ) -> None:
        self._app = app
        self._proxies = proxies
        self._hosts = frozenset(one.lower() for one in hosts)
        self._rates = rates
        self._posts = Buckets(rates.posts, clock)
        self._reads = Buckets(rates.reads, clock)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: D102 - ASGI
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        sender = _Sender(send)
        headers = Headers(scope=scope)
        scope = self._proxies.seen_through(scope, headers)
        answer = self._refusal(scope, headers)
        try:
            body = b"" if answer is not None else await self._body(scope, headers, receive)
        except TimeoutError:
            answer = refusal(408, "timeout", "the body did not come in time", _CLOSE)
        else:
            if body is None:
                answer = refusal(413, "too_large", f"a body has at most {self._rates.body} bytes", _CLOSE)
        if answer is not None:
            await answer(scope, receive, sender)
            return
        assert body is not None
        try:
            await self._app(scope, _again(body, receive), sender)
        except Exception as error:
            if sender.begun:  # the server cuts the connection: what came is not the whole
                raise
            await unforeseen(scope, error)(scope, receive, sender)

    def _refusal(self, scope: Scope, headers: Headers) -> Response | None:
        host = headers.get("host", "")
        if host_of(host) not in self._hosts and "*" not in self._hosts:
            # a name that leads here and isn't ours: DNS rebinding makes another site's script the same origin
            return refusal(421, "unknown_host", "this service doesn't answer to that host name")
        changes = scope["method"] not in _SAFE
        if changes and not _is_own(headers, scope, host):
            return refusal(403, "foreign_origin", "a change must come from a page of this service (the Origin header)")
        address = str((scope.get("client") or ("",))[0])
        wait = (self._posts if changes else self._reads).take(address)
        if wait:
            return refusal(429, "too_many_requests", "too many requests from this address", wait=wait)
        return None

    async def _body(self, scope: Scope, headers: Headers, receive: Receive) -> bytes | None:
        """The body, read whole before anything is done; None if it is too large."""
        if scope["method"] in _SAFE:
            return b""
        announced = headers.get("content-length", "0")
        if not announced.isdecimal() or int(announced[:20]) > self._rates.body:
            return None
        body = bytearray()
        with anyio.fail_after(_BODY_SECONDS):
            while True:
                message = await receive()
                if message["type"] != "http.request":
                    return bytes(body)
                body += message.get("body", b"")
                if len(body) > self._rates.body:
                    return None
                if not message.get("more_body", False):
                    return bytes(body)


def host_of(host: str) -> str:
    """A Host header's name: without port, IPv6 without brackets, small letters. Empty for what is none."""
    try:
        return (urlsplit(f"//{host}").hostname or "").rstrip(".").lower()
    except ValueError:
        return ""


def _is_own(headers: Headers, scope: Scope, host: str) -> bool:
    """Whether a change comes from a page of this very origin. Browsers always say; scripts say it on purpose."""
    origin = headers.get("origin")
    if origin is None:
        return headers.get("sec-fetch-site") == "same-origin"
    return origin.lower() == f"{scope['scheme']}://{host}".lower()


def _again(body: bytes, receive: Receive) -> Receive:
    """Receive for the application: the body that was read, then what comes (a disconnect)."""
    given = False

    async def once_more() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return once_more


class _Sender:
    """Sends an answer with the headers that every one has; `begun` once it has begun."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.begun = False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.begun = True
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers.setdefault(name, value)
            headers.setdefault("cache-control", "no-store")
        await self._send(message)
