"""A person at a page: a browser context of their own, watched for what no page may do.

Errors on the console, violations of the Content-Security-Policy, exceptions nobody caught, answers of 500 and requests
to another origin are kept, and `check` fails for them. What a test does to the network on purpose it says with
`network_may_fail`.
"""

from __future__ import annotations

import functools
import re
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import BrowserContext, ConsoleMessage, Page, Request, Response

__all__ = ("Person",)

_LOST = re.compile(r"net::ERR_(CONNECTION_|INTERNET_DISCONNECTED|INCOMPLETE_CHUNKED_ENCODING|NETWORK_|EMPTY_RESPONSE)")
_RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]


class Person:
    """One browser context. `page` is its first tab; `tab()` opens another."""

    def __init__(self, context: BrowserContext, base: str, pictures: Path) -> None:
        self.context = context
        self.base = base
        self.faults: list[str] = []
        self._pictures = pictures
        self._may_lose = False
        self._expected: set[int] = set()
        context.on("request", self._requested)
        context.on("response", self._answered)
        context.on("console", self._said)
        context.on("weberror", lambda error: self.faults.append(f"not caught: {error.error}"))
        self.page = self.tab()

    def tab(self) -> Page:
        """A new tab, empty."""
        return self.context.new_page()

    def network_may_fail(self) -> None:
        """From now on requests may end without an answer, and the console may say so."""
        self._may_lose = True

    def answers_may_be(self, status: int) -> None:
        """From now on requests may be answered with this status, and the console may say so."""
        self._expected.add(status)

    def check(self) -> None:
        """AssertionError with whatever a page did that it must not."""
        assert self.faults == []

    def violations(self, page: Page | None = None) -> list[dict[str, Any]]:
        """What axe-core finds on the page as it stands: of each violation its rule and the elements."""
        shown = page or self.page
        shown.evaluate(_axe())
        found: dict[str, Any] = shown.evaluate(
            "rules => axe.run(document, { runOnly: rules, resultTypes: ['violations'] })", _RULES
        )
        return [
            {"rule": one["id"], "impact": one["impact"], "at": [node["html"][:200] for node in one["nodes"]]}
            for one in found["violations"]
        ]

    def picture(self, name: str, page: Page | None = None) -> None:
        """Keep a screenshot, for people to look at."""
        self._pictures.mkdir(parents=True, exist_ok=True)
        (page or self.page).screenshot(path=self._pictures / f"{name}.png", animations="disabled")

    def _requested(self, request: Request) -> None:
        parts = urlsplit(request.url)
        if parts.scheme not in ("data", "blob") and f"{parts.scheme}://{parts.netloc}" != self.base:
            self.faults.append(f"left the origin: {request.url}")

    def _answered(self, response: Response) -> None:
        if response.status >= 500:
            self.faults.append(f"{response.status} of {response.request.method} {response.url}")

    def _said(self, message: ConsoleMessage) -> None:
        if message.type not in ("error", "warning") or (self._may_lose and _LOST.search(message.text)):
            return
        if any(f"responded with a status of {status}" in message.text for status in self._expected):
            return
        self.faults.append(f"console: {message.text} ({message.location.get('url', '')})")


@functools.cache
def _axe() -> str:
    return (files("axe_playwright_python") / "axe.min.js").read_text("utf-8")
