"""A customer's page through what networks, processes and hasty fingers do: each word is there, once."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, Route, expect

import turnkeeper as tk
from tests.browser.conftest import Arrives, Serves
from tests.web.test_streams import TEXT, Tap, slow
from turnkeeper.testing import MessagesAPI, reply, script
from turnkeeper.web import app

pytestmark = pytest.mark.browser


def say(page: Page, words: str) -> None:
    page.get_by_label("Write a message").fill(words)
    page.keyboard.press("Enter")


def shown(page: Page) -> Any:
    """Everything that was said, in order."""
    return expect(page.locator(".row .bubble"))


def begun(page: Page, tap: Tap) -> None:
    """A few pieces of the answer are on the page, and not all."""
    tap.steps += 6
    expect(page.locator(".row.theirs .bubble")).to_contain_text(TEXT[:8])
    assert TEXT not in page.locator(".row.theirs .bubble").inner_text()


class Program:
    """`turnkeeper serve` as a process of its own, killed and started again on the same port and database."""

    def __init__(self, folder: Path, model: str) -> None:
        self._folder = folder
        self._model = model
        self._port = 0
        self._process: subprocess.Popen[str] | None = None

    def start(self) -> str:
        """Start it; gives its URL."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("ANTHROPIC_", "TURNKEEPER_"))}
        command = [sys.executable, "-m", "turnkeeper.cli", "serve", "--port", str(self._port)]
        options = ["--database", f"sqlite:///{self._folder}/desk.db", "--base-url", self._model]
        self._process = subprocess.Popen(
            [*command, *options], env={**kept, "HOME": str(self._folder)}, stdout=subprocess.PIPE, text=True
        )
        assert self._process.stdout is not None
        base = self._process.stdout.readline().split()[-1]
        self._port = int(base.rpartition(":")[2])
        return base

    def kill(self) -> None:
        """End it at once."""
        assert self._process is not None
        self._process.send_signal(signal.SIGKILL)
        self._process.wait(20)
        assert self._process.stdout is not None
        self._process.stdout.close()


@pytest.fixture
def tap() -> Tap:
    return Tap()


@contextlib.contextmanager
def desk(folder: Path, tap: Tap, *replies: Any) -> Iterator[Program]:
    """The desk's process, and a model that answers from here."""
    with MessagesAPI(script(*replies), strict=False, sleep=tap.sleep).listen() as model:
        program = Program(folder, model)
        try:
            yield program
        finally:
            tap.steps += 1_000
            program.kill()


def test_the_server_is_killed_in_the_middle_of_an_answer_and_the_page_goes_on(
    tmp_path: Path, tap: Tap, arrives: Arrives
) -> None:
    with desk(
        tmp_path, tap, slow(f"<reply>{TEXT}</reply>"), reply(f"<reply>{TEXT}</reply>", chunk=4), "Yes."
    ) as program:
        customer = arrives(program.start())
        customer.network_may_fail()
        page = customer.page
        page.goto("/")
        say(page, "Где мой заказ?")
        begun(page, tap)
        program.kill()
        expect(page.get_by_text("Connecting again…")).to_be_visible()
        say(page, "And what of the other one?")
        program.start()
        shown(page).to_have_text(["Где мой заказ?", TEXT, "And what of the other one?", "Yes."], timeout=40_000)
        expect(page.get_by_text("Connecting again…")).to_be_hidden()
        page.reload()
        shown(page).to_have_text(["Где мой заказ?", TEXT, "And what of the other one?", "Yes."])
        customer.context.close()


def answering(tap: Tap, *replies: Any) -> Any:
    return app(tk.Agent(client=MessagesAPI(script(*replies), sleep=tap.sleep)), secret="s" * 32)


def test_a_reload_in_the_middle_of_an_answer_and_a_second_tab_have_it_whole(
    tap: Tap, serves: Serves, arrives: Arrives
) -> None:
    customer = arrives(serves(answering(tap, slow(TEXT), "Yes.")))
    page = customer.page
    page.goto("/")
    say(page, "one")
    begun(page, tap)
    page.reload()
    expect(page.locator(".row.theirs .bubble")).to_contain_text(TEXT[:8])
    other = customer.tab()
    other.goto(page.url)
    expect(other.locator(".row.theirs .bubble")).to_contain_text(TEXT[:8])
    tap.steps += 1_000
    for tab in (page, other):
        shown(tab).to_have_text(["one", TEXT])
    say(other, "two")
    for tab in (page, other):
        shown(tab).to_have_text(["one", TEXT, "two", "Yes."])


def test_what_is_written_without_a_connection_is_sent_when_it_is_back(
    tap: Tap, serves: Serves, arrives: Arrives
) -> None:
    tap.steps = 1_000
    customer = arrives(serves(answering(tap, "First.", "Second.")))
    customer.network_may_fail()
    page = customer.page
    page.goto("/")
    for words in ("one", "two"):  # that begins a conversation, that goes on with it
        customer.context.set_offline(True)
        expect(page.get_by_text("You are offline.")).to_be_visible()
        say(page, words)
        expect(page.locator(".row.pending")).to_have_text([f"You: {words}"])
        customer.context.set_offline(False)
        expect(page.locator(".row.theirs")).to_have_count(1 + (words == "two"))
    shown(page).to_have_text(["one", "First.", "two", "Second."])
    expect(page.locator(".row.pending")).to_have_count(0)
    expect(page.get_by_text("You are offline.")).to_be_hidden()


def test_a_message_whose_answer_was_lost_and_a_double_click_send_once(
    tap: Tap, serves: Serves, arrives: Arrives
) -> None:
    tap.steps = 1_000
    customer = arrives(serves(answering(tap, "First.", "Second.", "Third.")))
    customer.network_may_fail()
    page = customer.page
    sent: list[str] = []

    def lose(route: Route) -> None:
        sent.append(route.request.headers["idempotency-key"])
        if len(sent) == 1:
            route.fetch()
            route.abort("connectionreset")
        else:
            route.continue_()

    page.route("**/messages", lose)
    page.goto("/")
    say(page, "one")
    shown(page).to_have_text(["one", "First."])
    page.get_by_label("Write a message").fill("two")
    page.get_by_role("button", name="Send").dblclick()
    shown(page).to_have_text(["one", "First.", "two", "Second."])
    assert (len(sent), len(set(sent))) == (3, 2)


def test_esc_stops_an_answer_and_the_conversation_goes_on(tap: Tap, serves: Serves, arrives: Arrives) -> None:
    customer = arrives(serves(answering(tap, slow(TEXT), "Gladly.")))
    page = customer.page
    page.goto("/")
    say(page, "tell me all")
    begun(page, tap)
    customer.picture("streaming")
    assert customer.violations() == []
    page.keyboard.press("Escape")
    tap.steps += 1_000
    expect(page.get_by_text("Stopped.", exact=True).first).to_be_visible()
    expect(page.get_by_role("button", name="Stop")).to_be_hidden()
    say(page, "something else")
    expect(page.locator(".row.theirs .bubble").last).to_have_text("Gladly.")
