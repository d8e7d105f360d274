"""What else a customer does at the page: several conversations, copies, exports, another language, a screen reader."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from starlette.applications import Starlette

import turnkeeper as tk
from tests.browser.conftest import Arrives, Serves
from turnkeeper.testing import MessagesAPI, call, reply, script
from turnkeeper.web import app

pytestmark = pytest.mark.browser


def say(page: Page, words: str) -> None:
    page.get_by_label("Write a message").fill(words)
    page.keyboard.press("Enter")


def answering(*replies: Any, **settings: Any) -> Starlette:
    return app(tk.Agent(client=MessagesAPI(script(*replies)), **settings), secret="s" * 32)


def test_several_conversations_have_addresses_a_list_and_a_way_back(serves: Serves, arrives: Arrives) -> None:
    base = serves(answering("One.", "Two.", "Three."))
    customer, stranger = arrives(base), arrives(base)
    page = customer.page
    bubbles = page.locator(".row .bubble")
    page.goto("/")
    say(page, "first")
    expect(bubbles).to_have_text(["first", "One."])
    address = page.url
    page.get_by_role("button", name="New conversation").click()
    expect(bubbles).to_have_count(0)
    expect(page.get_by_label("Write a message")).to_be_focused()
    say(page, "second")
    expect(bubbles).to_have_text(["second", "Two."])
    names = page.get_by_role("navigation").get_by_role("listitem").locator(".name")
    expect(names).to_have_text(["second", "first"])
    names.nth(1).click()
    expect(bubbles).to_have_text(["first", "One."])
    assert page.url == address
    expect(page.locator("[aria-current=true] .name")).to_have_text("first")
    say(page, "more")
    expect(bubbles).to_have_text(["first", "One.", "more", "Three."])
    page.go_back()
    expect(bubbles).to_have_text(["second", "Two."])
    deep = customer.tab()
    deep.goto(address)
    expect(deep.locator(".row .bubble")).to_have_text(["first", "One.", "more", "Three."])
    stranger.answers_may_be(404)
    stranger.page.goto(address)
    expect(stranger.page.get_by_text("There is no such conversation here.")).to_be_visible()
    expect(stranger.page.locator(".row")).to_have_count(0)


def test_an_answer_is_copied_and_the_conversation_saved(serves: Serves, arrives: Arrives, tmp_path: Path) -> None:
    base = serves(answering("It is **here**, @SUM(1)."))
    customer = arrives(base, permissions=["clipboard-read", "clipboard-write"])
    page = customer.page
    page.goto("/")
    say(page, "Where?")
    page.locator(".row.theirs").get_by_role("button", name="Copy").click()
    expect(page.locator(".row.theirs").get_by_role("button", name="Copied")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == "It is **here**, @SUM(1)."
    saved: dict[str, str] = {}
    for name in ("Save as text (Markdown)", "Save as data (JSON)"):
        page.locator("summary").click()
        with page.expect_download() as download:
            page.get_by_role("link", name=name).click()
        download.value.save_as(tmp_path / "saved")
        saved[download.value.suggested_filename] = (tmp_path / "saved").read_text("utf-8")
        page.keyboard.press("Escape")
    assert "It is **here**, @SUM(1)." in saved["conversation.md"]
    items = json.loads(saved["conversation.json"])["items"]
    assert [item["text"] for item in items if "text" in item] == ["Where?", "It is **here**, @SUM(1)."]


def test_the_language_and_the_appearance_are_chosen_on_the_page_and_kept(serves: Serves, arrives: Arrives) -> None:
    page = arrives(serves(answering("Да.")), color_scheme="light").page
    page.goto("/")
    say(page, "one")
    expect(page.locator(".row .bubble")).to_have_text(["one", "Да."])
    page.get_by_label("Appearance").select_option("Dark")
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.get_by_label("Language").select_option("العربية")
    expect(page.locator("html")).to_have_attribute("dir", "rtl")
    expect(page.locator(".row .bubble")).to_have_text(["one", "Да."])
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == dark
    page.get_by_label("المظهر").select_option("")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != dark


def test_a_screen_reader_is_told_of_each_reply_once_when_it_is_whole(serves: Serves, arrives: Arrives) -> None:
    @tk.tool(effect="read")
    def look() -> str:
        """Look."""
        return "found"

    long = "A long answer, in many pieces, of which nothing is read out before it is whole."
    web = answering(reply("A moment.", call("look", {})), reply(long, chunk=2), tools=[look])
    page = arrives(serves(web)).page
    page.goto("/")
    page.evaluate(
        """() => {
            window.told = [];
            const status = document.getElementById("status");
            new MutationObserver(() => { if (status.textContent) window.told.push(status.textContent); })
                .observe(status, { childList: true, characterData: true, subtree: true });
        }"""
    )
    say(page, "look")
    expect(page.locator(".row.theirs .bubble").last).to_have_text(long)
    expect(page.get_by_role("button", name="Stop")).to_be_hidden()
    told = page.evaluate("window.told")
    assert [one for one in told if one.startswith("Assistant: ")] == ["Assistant: A moment.", f"Assistant: {long}"]
    assert set(told) - {"Assistant: A moment.", f"Assistant: {long}"} <= {"Looking into it…"}
    page.reload()
    expect(page.locator(".row.theirs .bubble").last).to_have_text(long)
    expect(page.locator("#status")).to_have_text("")


def test_the_page_is_used_with_the_keyboard_alone(serves: Serves, arrives: Arrives) -> None:
    page = arrives(serves(answering("One.", "Two."))).page
    page.goto("/")
    expect(page.get_by_label("Write a message")).to_be_focused()
    page.keyboard.type("first line")
    page.keyboard.press("Shift+Enter")
    page.keyboard.type("second line")
    page.keyboard.press("Enter")
    expect(page.locator(".row.mine .bubble")).to_have_text("first line\nsecond line", use_inner_text=True)
    expect(page.locator(".row.theirs .bubble")).to_have_text("One.")
    expect(page.get_by_label("Write a message")).to_be_focused()
    reached: set[str] = set()
    page.evaluate("document.activeElement.blur()")
    for _ in range(24):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement === document.body"):
            continue  # from the last to the first
        at = page.evaluate(
            "(document.activeElement.ariaLabel || document.activeElement.labels?.[0]?.textContent"
            " || document.activeElement.textContent).trim()"
        )
        reached.add(at)
        outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert outline != "none", f"nobody sees that {at!r} has the focus"
    wanted = {"Skip to the message field", "New conversation", "Language", "Appearance", "Save this conversation"}
    wanted |= {"Messages", "Copy", "Write a message", "Send"}
    assert wanted <= reached
