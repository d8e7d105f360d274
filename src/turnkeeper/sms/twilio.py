"""Twilio's Messages API as a channel. Its own library is not used: 51 MB for two requests.

Sources: https://www.twilio.com/docs/messaging/api/message-resource; what an error means:
https://www.twilio.com/docs/api/errors (20429: requests that are refused so were not carried out).
"""

from __future__ import annotations

import email.utils
import logging
import os
import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import anyio
import httpx2

from turnkeeper.errors import ConfigurationError
from turnkeeper.sms.channel import NotSentError, OutcomeUnknownError, checked_number

__all__ = ("Twilio",)

_log = logging.getLogger("turnkeeper.sms")

API = "https://api.twilio.com"
TRIAL = "Sent from your Twilio trial account - "
"""What Twilio writes before each text of an account that is on trial."""

_ACCOUNT = re.compile(r"AC[0-9a-fA-F]{32}")
_SERVICE = re.compile(r"MG[0-9a-fA-F]{32}")
_MOST_PAGES = 5
_NOT_TAKEN = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout)
"""Failures before the request went out."""


class Twilio:
    """Sends over one account.

    Args:
        account_sid: The account, `AC…`.
        auth_token: Its secret, or that of the API key `api_key` (`SK…`).
        sender: The number to send from, in E.164, or a messaging service, `MG…`.
        api_key: An API key to sign in with instead of the account.
        base_url: The API; another one for tests.
        timeout: Seconds for each silence.
        retries: Further attempts where the message was surely not taken: 429, or no connection.
        longest_wait: Seconds that a 429 may ask to wait.
        confirms_keywords: Twilio answers STOP, START and HELP itself, as it does unless its support switched that off.
        transport, sleep: An httpx2 transport and how to wait, for tests.

    ConfigurationError for what can't be used; no text of it holds a secret.
    """

    def __init__(  # noqa: PLR0913 - settings by name
        self,
        *,
        account_sid: str,
        auth_token: str,
        sender: str,
        api_key: str | None = None,
        base_url: str = API,
        timeout: float = 10.0,
        retries: int = 3,
        longest_wait: float = 20.0,
        confirms_keywords: bool = True,
        transport: httpx2.AsyncBaseTransport | None = None,
        sleep: Callable[[float], Awaitable[Any]] = anyio.sleep,
    ) -> None:
        if not _ACCOUNT.fullmatch(account_sid):
            raise ConfigurationError("Twilio's account SID is AC and 32 digits 0-9, a-f (TWILIO_ACCOUNT_SID)")
        if not auth_token.strip():
            raise ConfigurationError("Twilio's auth token is missing (TWILIO_AUTH_TOKEN)")
        self._sender = {"MessagingServiceSid": sender} if _SERVICE.fullmatch(sender) else {"From": _number(sender)}
        self.account_sid = account_sid
        self.confirms_keywords = confirms_keywords
        self._auth = (api_key or account_sid, auth_token)
        self._root = base_url.rstrip("/")
        self._timeout = timeout
        self._retries = retries
        self._longest_wait = longest_wait
        self._transport = transport
        self._sleep = sleep

    @classmethod
    def from_environment(cls, environ: Mapping[str, str] | None = None, **settings: Any) -> Twilio:
        """By TWILIO_ACCOUNT_SID, TWILIO_AUTH_TOKEN (or TWILIO_API_KEY and TWILIO_API_SECRET), and TWILIO_FROM."""
        found = os.environ if environ is None else environ
        key = found.get("TWILIO_API_KEY") or None
        secret = found.get("TWILIO_API_SECRET" if key else "TWILIO_AUTH_TOKEN", "")
        return cls(
            account_sid=found.get("TWILIO_ACCOUNT_SID", ""),
            auth_token=secret,
            api_key=key,
            sender=found.get("TWILIO_FROM", ""),
            **settings,
        )

    async def send(self, number: str, text: str) -> str:
        """Create the message; see the port."""
        form = {"To": number, **self._sender, "Body": text}
        for attempt in range(self._retries + 1):
            try:
                async with self._client() as client:
                    response = await client.post(self._messages, data=form)
            except _NOT_TAKEN as error:
                reason: NotSentError = NotSentError(f"Twilio can't be reached ({type(error).__name__})")
                wait = 0.5 * 2**attempt
            except httpx2.TransportError as error:
                raise OutcomeUnknownError(f"the connection to Twilio broke ({type(error).__name__})") from None
            else:
                if response.status_code != 429:
                    return _sid(response)
                reason = NotSentError("Twilio gets too many requests", error=_error(response)[0] or 20429)
                wait = _seconds(response) or 0.5 * 2**attempt
            if attempt == self._retries or wait > self._longest_wait:
                raise reason
            await self._sleep(wait)
        raise AssertionError("the last attempt returns or raises")

    async def find(self, number: str, text: str, *, since: float) -> list[str]:
        """Look through the newest messages to the number; see the port."""
        found: list[str] = []
        where: str | None = str(httpx2.URL(self._messages, params={"To": number, "PageSize": "100"}))
        try:
            async with self._client() as client:
                for _ in range(_MOST_PAGES):
                    if where is None:
                        break
                    response = await client.get(where)
                    if response.status_code != 200:
                        raise OutcomeUnknownError(f"Twilio's list can't be read (status {response.status_code})")
                    page = response.json()
                    recent = [one for one in page["messages"] if _created(one) >= since]
                    found += [str(one["sid"]) for one in recent if _is(one, text)]
                    more = page.get("next_page_uri") if len(recent) == len(page["messages"]) else None
                    where = f"{self._root}{more}" if isinstance(more, str) and more.startswith("/") else None
        except (httpx2.HTTPError, ValueError, KeyError, TypeError) as error:
            raise OutcomeUnknownError(f"Twilio's list can't be read ({type(error).__name__})") from None
        return found

    @property
    def _messages(self) -> str:
        return f"{self._root}/2010-04-01/Accounts/{self.account_sid}/Messages.json"

    def _client(self) -> httpx2.AsyncClient:
        return httpx2.AsyncClient(
            transport=self._transport, timeout=self._timeout, auth=self._auth, follow_redirects=False
        )


def _number(sender: str) -> str:
    try:
        return checked_number(sender)
    except Exception:  # noqa: BLE001 - one text for all that a sender can't be
        raise ConfigurationError(
            "the sender is a phone number in E.164 or a messaging service, MG and 32 digits (TWILIO_FROM)"
        ) from None


def _sid(response: httpx2.Response) -> str:
    """The id of a message that was taken, or what went wrong."""
    code, said = _error(response)
    if 400 <= response.status_code < 500:
        raise NotSentError(f"Twilio refused the message: {said or response.status_code}", error=code)
    if response.status_code not in (200, 201):
        raise OutcomeUnknownError(f"Twilio failed (status {response.status_code})")
    try:
        made = response.json()
        sid = str(made["sid"])
    except (ValueError, KeyError, TypeError):
        raise OutcomeUnknownError("Twilio's answer can't be read") from None
    if made.get("status") in ("failed", "undelivered", "canceled"):
        raise NotSentError(f"Twilio could not send the message ({made['status']})", error=made.get("error_code"))
    return sid


def _error(response: httpx2.Response) -> tuple[int | None, str]:
    """Number and text of an error."""
    if response.status_code < 400:
        return None, ""
    try:
        body = response.json()
        code, said = body.get("code"), str(body.get("message") or "")
    except (ValueError, AttributeError):
        return None, ""
    return (code if isinstance(code, int) else None), said[:200]


def _seconds(response: httpx2.Response) -> float | None:
    after = response.headers.get("retry-after", "").strip()
    return float(after) if after.isdigit() else None


def _created(message: dict[str, Any]) -> float:
    return email.utils.parsedate_to_datetime(message["date_created"]).timestamp()


def _is(message: dict[str, Any], text: str) -> bool:
    body, outbound = message.get("body"), str(message.get("direction", "")).startswith("outbound")
    return outbound and body in (text, f"{TRIAL}{text}")
