"""How a message reaches a customer: the port, and what is behind it. Nothing here writes a log of what it sends.

A courier carries one kind of contact. `Post` hands messages to couriers after the answer was given, so that how long an
answer takes says nothing about whether there was something to send.
"""

from __future__ import annotations

import logging
import smtplib
import sys
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from email.message import EmailMessage
from typing import Literal, Protocol, TypeAlias
from urllib.parse import parse_qs, unquote, urlsplit

import turnkeeper as tk

__all__ = ("Carried", "ConsoleCourier", "Courier", "Notice", "Post", "SMSCourier", "SMTPCourier", "smtp_courier")

_log = logging.getLogger("turnkeeper.desk")

Carried: TypeAlias = Literal["email", "phone"]
"""The kinds of contact that something can be sent to."""


@dataclass(frozen=True, slots=True)
class Notice:
    """What is sent to one contact on file: `to` is an address or a number. Its repr shows nothing of either."""

    kind: Carried
    to: str
    subject: str
    text: str

    def __repr__(self) -> str:
        return f"Notice({self.kind})"


class Courier(Protocol):
    """Carries notices; raises what it likes where it can't."""

    def send(self, notice: Notice) -> None:
        """Send it now."""


class ConsoleCourier:
    """Shows the message instead of sending it: for a demo, whose customers have no telephones."""

    def __init__(self, write: Callable[[str], object] = sys.stderr.write) -> None:
        self._write = write

    def send(self, notice: Notice) -> None:
        """Write the message out."""
        where = "e-mail" if notice.kind == "email" else "SMS"
        self._write(f"  ✉ {where} to {notice.to}: {notice.text}\n")


class SMTPCourier:
    """Sends e-mail through a server. `security` is `starttls`, `tls` or `none`; `timeout` in seconds."""

    def __init__(
        self,
        host: str,
        port: int = 587,
        *,
        sender: str,
        user: str | None = None,
        password: str | None = None,
        security: Literal["starttls", "tls", "none"] = "starttls",
        timeout: float = 15.0,
    ) -> None:
        self._host, self._port, self._sender = host, port, sender
        self._user, self._password = user, password
        self._security, self._timeout = security, timeout

    def send(self, notice: Notice) -> None:
        """Send it; smtplib's errors and OSError are raised."""
        mail = EmailMessage()
        mail["From"], mail["To"], mail["Subject"] = self._sender, notice.to, notice.subject
        mail["Auto-Submitted"] = "auto-generated"  # RFC 3834: no answering machine answers it
        mail.set_content(notice.text)
        kind = smtplib.SMTP_SSL if self._security == "tls" else smtplib.SMTP
        with kind(self._host, self._port, timeout=self._timeout) as server:
            if self._security == "starttls":
                server.starttls()
            if self._user is not None:
                server.login(self._user, self._password or "")
            server.send_message(mail)


_SECURITY: Mapping[str, Literal["starttls", "tls", "none"]] = {"smtp": "starttls", "smtps": "tls", "smtp+plain": "none"}


def smtp_courier(url: str) -> SMTPCourier:
    """The courier that a URL means: `smtp://user:password@host:587?from=desk@example.com`.

    `smtp` encrypts with STARTTLS, `smtps` from the beginning, `smtp+plain` not at all. ConfigurationError, without
    repeating the URL, for anything else.
    """
    try:
        parts = urlsplit(url)
        security, port = _SECURITY[parts.scheme], parts.port
        (sender,) = parse_qs(parts.query)["from"]
        host = parts.hostname or ""
    except (KeyError, ValueError):
        host = sender = ""
    if not host or "@" not in sender:
        raise tk.errors.ConfigurationError(
            "a mail server is smtp://USER:PASSWORD@HOST:PORT?from=ADDRESS (or smtps://, or smtp+plain://)"
        )
    user = unquote(parts.username) if parts.username else None
    password = unquote(parts.password) if parts.password else None
    default = 465 if security == "tls" else 587
    return SMTPCourier(host, port or default, sender=sender, user=user, password=password, security=security)


class SMSCourier:
    """Sends texts with a function of (number, text), such as that of an SMS provider."""

    def __init__(self, send: Callable[[str, str], object]) -> None:
        self._send = send

    def send(self, notice: Notice) -> None:
        """Send it; what the function raises is raised."""
        self._send(notice.to, notice.text)


class Post:
    """Hands notices to the courier of their kind, beside the caller. `close` waits for what is on its way.

    `at_once` sends before `send` returns. A courier that fails is logged by the name of its error only: the customer
    asks for another code.
    """

    def __init__(self, couriers: Mapping[Carried, Courier], *, at_once: bool = False) -> None:
        self._couriers = dict(couriers)
        self._workers = None if at_once else ThreadPoolExecutor(2, thread_name_prefix="desk-post")

    @property
    def kinds(self) -> frozenset[Carried]:
        """The kinds of contact that something can be sent to."""
        return frozenset(self._couriers)

    def send(self, *notices: Notice) -> None:
        """Send them, each by the courier of its kind; those without one are not sent, and the log says so."""
        for notice in notices:
            if self._workers is None:
                self._carry(notice)
            else:
                self._workers.submit(self._carry, notice)

    def close(self) -> None:
        """Wait until everything is sent."""
        if self._workers is not None:
            self._workers.shutdown(wait=True)

    def _carry(self, notice: Notice) -> None:
        courier = self._couriers.get(notice.kind)
        if courier is None:
            _log.warning("there is no courier for a contact of kind %s; a message was not sent", notice.kind)
            return
        try:
            courier.send(notice)
        except Exception as error:  # noqa: BLE001 - its text may hold the message
            _log.warning("a message to a contact of kind %s could not be sent (%s)", notice.kind, type(error).__name__)
