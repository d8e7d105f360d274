"""MediaWiki's API over HTTP, politely: named, with time-outs, waiting when asked to, and at the allowed hosts only.

Facts: https://www.mediawiki.org/wiki/API:Etiquette, https://www.mediawiki.org/wiki/Manual:Maxlag_parameter,
https://foundation.wikimedia.org/wiki/Policy:Wikimedia_Foundation_User-Agent_Policy.
"""

from __future__ import annotations

import email.utils
import json
import logging
import re
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from importlib import metadata
from typing import Any
from urllib.parse import urlsplit

import anyio
import httpx2

from turnkeeper.errors import ConfigurationError, ToolError

__all__ = ("SITE", "Wiki", "user_agent")

_log = logging.getLogger("turnkeeper.research")

SITE = "https://{language}.wikipedia.org/w/api.php"
"""Where the encyclopedia of a language has its API."""
MAXLAG = 5
"""Seconds that the servers may lag behind before they ask to come back later."""

_LANGUAGE = re.compile(r"[a-z]{2,12}(?:-[a-z]{2,12}){0,3}")
_MOST_REDIRECTS = 3
_TRANSIENT = frozenset({"maxlag", "ratelimited", "readonly", "internal_api_error_DBConnectionError"})


class _AgainError(Exception):
    """The server asks to come back, after `seconds` if it said so."""

    def __init__(self, reason: str, seconds: float | None) -> None:
        super().__init__(reason)
        self.seconds = seconds


def _utc_now() -> datetime:
    return datetime.now(UTC)


class Wiki:
    """One wiki family, by default Wikipedia.

    Args:
        language: The edition that is asked unless a call names another.
        site: The address of the API; `{language}` in it stands for the edition. Its host is the only one that is ever
            asked, also behind a redirect.
        contact: An e-mail address or web page of whoever runs this; it stands in the User-Agent, as Wikimedia asks.
        timeout: Seconds for connecting and for each silence, and the time of one request in all.
        most_bytes: A longer answer is refused before it is read whole.
        retries: Further attempts after a lost connection, a time-out, 429, 5xx, or `maxlag`.
        longest_wait: The longest time that the server may ask to wait; beyond it the model is told.
        transport: An httpx2 transport, for tests.
        sleep, now: How to wait, and the time; replaced in tests.

    ConfigurationError for an address or language that can't be used.
    """

    def __init__(  # noqa: PLR0913 - settings by name
        self,
        *,
        language: str = "en",
        site: str = SITE,
        contact: str | None = None,
        timeout: float = 10.0,
        most_bytes: int = 4_000_000,
        retries: int = 2,
        longest_wait: float = 10.0,
        transport: httpx2.AsyncBaseTransport | None = None,
        sleep: Callable[[float], Awaitable[Any]] = anyio.sleep,
        now: Callable[[], datetime] = _utc_now,
    ) -> None:
        parts = urlsplit(site.replace("{language}", "en"))
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.username:
            raise ConfigurationError(f"{site}: a wiki's API has an address such as {SITE}")
        self.site = site
        self.has_languages = "{language}" in site
        if not _LANGUAGE.fullmatch(language):
            raise ConfigurationError(
                f"{language!r}: a language is named by its code in lower case, such as en or pt-br"
            )
        self.language = language
        self._agent = user_agent(contact)
        self._timeout = timeout
        self._most_bytes = most_bytes
        self._retries = retries
        self._longest_wait = longest_wait
        self._transport = transport
        self._sleep = sleep
        self._now = now

    async def query(self, language: str | None = None, /, **parameters: str | int) -> dict[str, Any]:
        """One `action=query`: the whole answer as JSON. ToolError says in words for the model what went wrong."""
        url = self._address(language)
        given = {"action": "query", "format": "json", "formatversion": 2, "maxlag": MAXLAG, **parameters}
        asked = httpx2.URL(url, params={name: str(value) for name, value in given.items()})
        for attempt in range(self._retries + 1):
            try:
                with anyio.fail_after(self._timeout * 2):
                    return await self._once(asked, {urlsplit(url).netloc.lower()}, urlsplit(url).scheme)
            except _AgainError as again:
                wait = again.seconds if again.seconds is not None else 0.5 * 2**attempt
                reason = str(again)
            except (httpx2.TimeoutException, TimeoutError):
                wait, reason = 0.5 * 2**attempt, "the encyclopedia did not answer in time"
            except httpx2.TransportError as error:
                wait, reason = 0.5 * 2**attempt, "the encyclopedia can't be reached"
                _log.warning("%s: %s (%s)", url, reason, type(error).__name__)
            if wait > self._longest_wait:
                raise ToolError(f"{_sentence(reason)} It asks to wait {wait:.0f} seconds; go on without it for now.")
            if attempt < self._retries:
                await self._sleep(wait)
        raise ToolError(f"{_sentence(reason)} Go on without it, and say so.")

    def _address(self, language: str | None) -> str:
        if language is None or language == self.language:
            return self.site.replace("{language}", self.language)
        if not self.has_languages:
            raise ToolError(f"This encyclopedia has one language only ({self.language}); leave language out.")
        if not _LANGUAGE.fullmatch(language):
            raise ToolError(f"{language!r} is no code of a language; write one such as en, de or zh.")
        return self.site.replace("{language}", language)

    async def _once(self, url: httpx2.URL, allowed: set[str], scheme: str) -> dict[str, Any]:
        """One request, with the redirects that stay at the allowed host and don't leave https."""
        headers = {"User-Agent": self._agent, "Accept": "application/json"}
        async with httpx2.AsyncClient(
            transport=self._transport, timeout=self._timeout, headers=headers, follow_redirects=False
        ) as client:
            for _ in range(_MOST_REDIRECTS + 1):
                async with client.stream("GET", url) as response:
                    if not response.has_redirect_location:
                        return await self._read(response)
                    url = url.join(response.headers["location"])
                target = urlsplit(str(url))
                if target.netloc.lower() not in allowed or target.scheme not in (scheme, "https"):
                    _log.warning("a redirect to %s://%s was not followed", target.scheme, target.hostname)
                    raise ToolError("The encyclopedia sent the request to another place, which is not allowed.")
        raise ToolError("The encyclopedia sent the request around in circles.")

    async def _read(self, response: httpx2.Response) -> dict[str, Any]:
        after = _seconds(response.headers.get("retry-after"), self._now())
        if response.status_code == 429:
            raise _AgainError("the encyclopedia gets too many requests from here", after)
        if response.status_code >= 500:
            raise _AgainError(f"the encyclopedia has trouble (status {response.status_code})", after)
        if response.status_code == 404 and self.has_languages:
            raise ToolError("There is no encyclopedia in that language.")
        if response.status_code != 200:
            raise ToolError(f"The encyclopedia refused the request (status {response.status_code}).")
        body = bytearray()
        async for chunk in response.aiter_bytes():  # decompressed: what is counted is what memory takes
            body += chunk
            if len(body) > self._most_bytes:
                raise ToolError(f"The article is larger than {self._most_bytes // 1000} kB, which is not read.")
        try:
            found = json.loads(body)
        except (ValueError, RecursionError):
            raise ToolError("The encyclopedia's answer can't be read.") from None
        if not isinstance(found, dict):
            raise ToolError("The encyclopedia's answer can't be read.")
        error = found.get("error")
        if isinstance(error, dict):
            code = str(error.get("code"))
            if code in _TRANSIENT:
                raise _AgainError(f"the encyclopedia is busy ({code})", after)
            _log.warning("MediaWiki refused a request: %s: %.200s", code, error.get("info"))
            raise ToolError(f"The encyclopedia refused the request ({code}).")
        return found


def user_agent(contact: str | None = None) -> str:
    """The User-Agent: program and version, whom to write to, and the library that speaks.

    ConfigurationError for a contact that no header can carry.
    """
    said = contact.strip() if contact else "no contact given"
    if not said.isprintable() or not said.isascii() or set(said) & set("()"):
        raise ConfigurationError(f"contact {contact!r}: give an e-mail address or a URL, in ASCII")
    return f"turnkeeper/{metadata.version('turnkeeper')} ({said}) httpx2/{httpx2.__version__}"


def _seconds(header: str | None, now: datetime) -> float | None:
    """A Retry-After header: seconds, or a date."""
    if not header:
        return None
    if header.strip().isdigit():
        return float(header)
    try:
        at = email.utils.parsedate_to_datetime(header)
    except ValueError:
        return None
    return max((at - now).total_seconds(), 0.0) if at.tzinfo is not None else None


def _sentence(reason: str) -> str:
    return f"{reason[0].upper()}{reason[1:]}."
