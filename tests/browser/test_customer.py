"""A customer at the chat page."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

import turnkeeper as tk
from tests.browser.conftest import Arrives, Serves
from turnkeeper.testing import MessagesAPI, reply, script
from turnkeeper.web import app

pytestmark = pytest.mark.browser


def test_a_customer_asks_reads_the_answer_and_finds_it_again_after_a_reload(serves: Serves, arrives: Arrives) -> None:
    api = MessagesAPI(script(reply("Your order **24601** has left.", chunk=3)))
    customer = arrives(serves(app(tk.Agent(client=api), secret="s" * 32)))
    page = customer.page
    page.goto("/")
    page.get_by_label("Write a message").fill("Where is my order?")
    page.keyboard.press("Enter")
    answer = page.locator(".row.theirs .bubble")
    expect(answer).to_have_text("Your order 24601 has left.")
    expect(answer.locator("strong")).to_have_text("24601")
    expect(page.locator(".row.mine .bubble")).to_have_text("Where is my order?")
    expect(page.locator("#status")).to_have_text("Assistant: Your order **24601** has left.")
    expect(page.get_by_role("navigation").get_by_role("button", name="Where is my order?")).to_be_visible()
    assert customer.violations() == []
    customer.picture("customer-first")
    page.reload()
    expect(page.locator(".row .bubble")).to_have_text(["Where is my order?", "Your order 24601 has left."])
