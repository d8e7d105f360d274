"""People for the console's tests: a member of staff at the console, a customer at the chat page."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import anyio
from playwright.sync_api import expect

from tests.browser.conftest import Arrives
from tests.browser.watching import Person

__all__ = ("DARK", "PHONE", "asking", "in_a_loop", "signed_in")

PHONE: dict[str, Any] = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
DARK: dict[str, Any] = {"color_scheme": "dark"}


def in_a_loop(work: Callable[[], Awaitable[Any]]) -> Any:
    """Run it in another thread: in this one Playwright's own loop runs."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(anyio.run, work).result(60)


def signed_in(arrives: Arrives, base: str, name: str = "ana", **options: Any) -> Person:
    """A member of staff at the console."""
    person = arrives(base, **options)
    page = person.page
    page.goto("/console")
    page.get_by_label("Name", exact=True).fill(name)
    page.get_by_label("Password").fill(f"пароль {name}")
    page.keyboard.press("Enter")
    expect(page.locator("#me")).to_have_text(name)
    return person


def asking(arrives: Arrives, base: str, text: str = "I want my money back", **options: Any) -> Person:
    """A customer who has asked for something."""
    person = arrives(base, **options)
    page = person.page
    page.goto("/")
    page.get_by_label("Write a message").fill(text)
    page.keyboard.press("Enter")
    return person
