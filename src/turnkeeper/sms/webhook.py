"""Twilio's webhook as an ASGI application: checked, kept, acknowledged at once; the answer goes out on its own way."""

from __future__ import annotations

import contextlib
import logging
import re
from collections.abc import AsyncIterator, Callable, Mapping
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlsplit

from turnkeeper.errors import ConfigurationError, InputError
from turnkeeper.sms.bot import Bot
from turnkeeper.sms.channel import Incoming
from turnkeeper.sms.signature import SETTINGS_HEADER, SIGNATURE_HEADER, is_genuine

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response

__all__ = ("MOST_BYTES", "webhook")

_log = logging.getLogger("turnkeeper.sms")

MOST_BYTES = 64 * 1024
"""Of a form; Twilio's have a few hundred."""
TWIML = b'<?xml version="1.0" encoding="UTF-8"?><Response/>'
"""An answer that says nothing to the phone."""

_MESSAGE = re.compile(r"(?:SM|MM)[0-9a-fA-F]{32}")
_FORM = "application/x-www-form-urlencoded"


def webhook(
    opening: Callable[[], contextlib.AbstractAsyncContextManager[Bot]],
    *,
    public_url: str,
    account_sid: str,
    auth_token: str,
    shared_keys: Mapping[str, str] | None = None,
) -> Starlette:
    """The application that Twilio's webhook for incoming messages is pointed at; it opens the bot when it starts.

    Args:
        opening: Opens the bot, such as `lambda: open_bot(…)`.
        public_url: The address exactly as Twilio has it. Signatures are checked against this, whatever host, scheme or
            port a request names.
        account_sid, auth_token: The account; messages of others are refused.
        shared_keys: Secrets of shared keys by their id, where webhooks are signed with those.

    ConfigurationError for an address that is none, or is not https (except on this machine).
    """
    try:
        from starlette.applications import Starlette  # noqa: PLC0415 - an extra
        from starlette.routing import Route  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise ConfigurationError(f"the webhook needs {error.name}: install turnkeeper[web]") from None

    parts = urlsplit(public_url)
    if parts.scheme not in ("https", "http") or not parts.hostname or parts.username or parts.fragment:
        raise ConfigurationError(f"{public_url}: the webhook's address is https://HOST/PATH, as Twilio has it")
    if parts.scheme == "http" and parts.hostname not in ("127.0.0.1", "localhost", "::1"):
        raise ConfigurationError(f"{public_url}: texts and numbers of people must not travel in the open; use https")
    if not auth_token:
        raise ConfigurationError("without the auth token nobody can tell Twilio's requests from others")

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        async with opening() as bot:
            app.state.bot = bot
            yield

    async def receive(request: Request) -> Response:
        fields = await _fields(request)
        if isinstance(fields, int):
            return _said(fields)
        genuine = is_genuine(
            public_url,
            fields,
            signature=request.headers.get(SIGNATURE_HEADER, ""),
            settings=request.headers.get(SETTINGS_HEADER, ""),
            auth_token=auth_token,
            shared_keys=shared_keys,
        )
        given = dict(fields)
        if not genuine or given.get("AccountSid") != account_sid:
            _log.warning("a request that Twilio did not sign for this account and address was refused")
            return _said(403)
        try:
            await request.app.state.bot.receive(_incoming(given))
        except InputError as error:  # signed, so it is Twilio's; it won't get better by coming again
            _log.warning("a message can't be answered: %s", error)
        return _said(200)

    return Starlette(routes=[Route(parts.path or "/", receive, methods=["POST"])], lifespan=lifespan)


def _incoming(given: Mapping[str, str]) -> Incoming:
    """The message of a form. InputError if it is not one from a phone."""
    name, kind = given.get("MessageSid", ""), given.get("OptOutType", "").lower()
    if not _MESSAGE.fullmatch(name):
        raise InputError("the form has no MessageSid")
    text = written = given.get("Body", "")
    media = given.get("NumMedia", "0")
    if media not in ("", "0"):
        text = f"{text}\n[The user also sent {media} picture(s) or file(s), which can't be seen here.]".strip()
    if not text.strip():
        text = "[The message was empty.]"
    handled = kind if kind in ("stop", "start", "help") else ""
    return Incoming(id=name, number=given.get("From", ""), text=text, handled=handled, written=written)


async def _fields(request: Request) -> list[tuple[str, str]] | int:
    """The form's fields, or the status that refuses the request."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != _FORM:
        return 415
    length = request.headers.get("content-length", "0")
    if not length.isdigit() or int(length) > MOST_BYTES:
        return 413
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MOST_BYTES:
            return 413
    try:
        return parse_qsl(body.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=200)
    except ValueError:
        return 400


def _said(status: int) -> Response:
    from starlette.responses import Response  # noqa: PLC0415 - an extra

    headers = {"Cache-Control": "no-store"}
    if status == 200:
        return Response(TWIML, media_type="text/xml", headers=headers)
    return Response(status_code=status, headers=headers)
