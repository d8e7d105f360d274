"""Fixtures of the browser's tests: one Chromium for all of them, a watched context for each person."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Protocol

import pytest
from playwright.sync_api import Browser, expect, sync_playwright
from starlette.types import ASGIApp

from tests.browser.watching import Person
from tests.web.served import serving

PICTURES = "TURNKEEPER_SCREENSHOTS"
"""The folder in which screenshots are kept; by default one in the temporary folder."""

_ARGUMENTS = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync", "--disable-dev-shm-usage"),
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
)


Serves = Callable[[ASGIApp], str]
"""Serves an application on a free port until the test has ended; gives its base URL."""


class Arrives(Protocol):
    """Makes a person at the service with that base URL; options are those of Playwright's `new_context`."""

    def __call__(self, base: str, **options: Any) -> Person: ...


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    path = os.environ.get("CHROMIUM")
    if path is None:
        pytest.fail("CHROMIUM names no browser; run these tests with script/browser, which finds it")
    expect.set_options(timeout=15_000)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(_ARGUMENTS))
        yield browser
        browser.close()


@pytest.fixture
def serves() -> Iterator[Serves]:
    with contextlib.ExitStack() as stack:
        yield lambda app: stack.enter_context(serving(app))


@pytest.fixture
def arrives(chromium: Browser, serves: Serves) -> Iterator[Arrives]:
    """Everybody who arrived leaves and is checked when the test ends; the servers stop after that."""
    pictures = Path(os.environ.get(PICTURES) or Path(tempfile.gettempdir(), "turnkeeper-screenshots"))
    people: list[Person] = []

    def arrive(base: str, **options: Any) -> Person:
        context = chromium.new_context(base_url=base, **{"locale": "en-GB", "reduced_motion": "reduce", **options})
        context.set_default_timeout(15_000)
        people.append(Person(context, base, pictures))
        return people[-1]

    yield arrive
    for person in people:
        person.context.close()
    for person in people:
        person.check()
