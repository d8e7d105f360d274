"""Operators at the console, in a browser of their own, while customers wait in theirs."""

from __future__ import annotations

import json
import re

import pytest
from playwright.sync_api import Page, expect

import turnkeeper as tk
from tests.browser.conftest import Arrives, Serves
from tests.browser.staffed import asking, signed_in
from tests.web.operators import Shop
from turnkeeper.testing import MessagesAPI, call, reply, script

pytestmark = pytest.mark.browser

REFUND = reply("Let me refund that.", call("refund", {"order": "24601", "amount": 9_007_199_254_740_993}, id="toolu_r"))


def open_inbox(page: Page) -> None:
    page.get_by_role("link", name="Inbox").click()
    expect(page.get_by_role("heading", name="Inbox")).to_be_visible()


def test_an_operator_approves_and_the_customers_page_goes_on_by_itself(serves: Serves, arrives: Arrives) -> None:
    shop = Shop()
    base = serves(shop.app(REFUND, "Your money is on its way."))
    ana = signed_in(arrives, base)
    open_inbox(ana.page)
    expect(ana.page.get_by_text("Nothing waits for a person.")).to_be_visible()
    customer = asking(arrives, base)
    card = ana.page.locator("#cards .card")
    expect(card.get_by_role("heading", name="refund")).to_be_visible()
    expect(card.locator(".code")).to_have_text('{\n  "order": "24601",\n  "amount": 9007199254740993\n}')
    expect(ana.page.get_by_role("link", name="Inbox")).to_have_accessible_name("Inbox 1 waiting")
    expect(card).to_contain_text(re.compile(r"in (1 d|23 h 59 min)"))
    assert ana.violations() == []
    ana.picture("console-inbox")
    card.get_by_role("button", name="Approve").click()
    expect(ana.page.locator("#status")).to_have_text("refund is approved.")
    expect(customer.page.locator(".row.theirs .bubble")).to_have_text(
        ["Let me refund that.", "Your money is on its way."]
    )
    expect(ana.page.get_by_text("Nothing waits for a person.")).to_be_visible()
    assert shop.refunds == [("24601", 9_007_199_254_740_993)]


def test_an_operator_edits_the_arguments_and_denies_with_a_reason(serves: Serves, arrives: Arrives) -> None:
    shop = Shop()
    again = reply(call("refund", {"order": "7", "amount": 7}, id="toolu_2"))
    api = MessagesAPI(script(REFUND, "Part of it.", again, "Not this time."))
    base = serves(shop.app(api))
    ana = signed_in(arrives, base)
    customer = asking(arrives, base)
    open_inbox(ana.page)
    card = ana.page.locator("#cards .card")
    card.get_by_role("button", name="Edit").click()
    text = card.get_by_label("Arguments, as JSON")
    expect(text).to_be_focused()
    text.fill('{"order": "24601"')
    card.get_by_role("button", name="Run with these arguments").click()
    expect(card.get_by_role("alert")).to_contain_text("the arguments are not JSON")
    text.fill(json.dumps({"order": "24601", "amount": 5}))
    card.get_by_label("Reason").fill("half")
    card.get_by_role("button", name="Run with these arguments").click()
    expect(customer.page.locator(".row.theirs .bubble").last).to_have_text("Part of it.")
    assert shop.refunds == [("24601", 5)]
    customer.page.get_by_label("Write a message").fill("More!")
    customer.page.keyboard.press("Enter")
    card.get_by_role("button", name="Deny").click()
    card.get_by_label("Reason").fill("Es reicht.")
    card.get_by_role("button", name="Deny", exact=True).click()
    expect(customer.page.locator(".row.theirs .bubble").last).to_have_text("Not this time.")
    assert shop.refunds == [("24601", 5)]
    assert "Es reicht." in json.dumps(api.requests[-1].body, ensure_ascii=False)
    ana.faults = [one for one in ana.faults if "422" not in one]


def test_a_conversation_is_taken_over_and_handed_back(serves: Serves, arrives: Arrives) -> None:
    shop = Shop()
    base = serves(shop.app("How can I help?", "The model again."))
    ana = signed_in(arrives, base)
    customer = asking(arrives, base, "Hello")
    ana.page.get_by_role("link", name="Hello").click()
    transcript = ana.page.get_by_role("region", name="Transcript")
    expect(transcript.locator(".message .bubble")).to_have_text(["Hello", "How can I help?"])
    ana.page.get_by_role("button", name="Take over").click()
    expect(customer.page.locator("#presence")).to_be_visible()
    answer = ana.page.get_by_label("Answer the customer in person")
    expect(answer).to_be_focused()
    answer.fill("I am **Ana**, a person. <b>Hi</b>")
    ana.page.keyboard.press("Enter")
    expect(customer.page.locator(".row.staff .bubble")).to_have_text("I am Ana, a person. <b>Hi</b>")
    customer.page.get_by_label("Write a message").fill("Really?")
    customer.page.keyboard.press("Enter")
    expect(transcript.locator(".message .bubble").last).to_have_text("Really?")
    expect(customer.page.locator(".row.mine .bubble")).to_have_text(["Hello", "Really?"])
    expect(ana.page.locator("#list")).to_contain_text("waits for an answer,")
    ana.picture("console-takeover")
    assert ana.violations() == []
    ana.page.get_by_role("button", name="Hand back").click()
    expect(customer.page.locator("#presence")).to_be_hidden()
    expect(answer).to_be_hidden()
    customer.page.get_by_label("Write a message").fill("And now?")
    customer.page.keyboard.press("Enter")
    expect(customer.page.locator(".row.theirs .bubble").last).to_have_text("The model again.")
    expect(transcript.locator(".message .bubble").last).to_have_text("The model again.")


def test_whoever_asked_is_told_that_another_person_decides(serves: Serves, arrives: Arrives) -> None:
    """Staff who talk to the assistant themselves: four eyes."""
    shop = Shop()
    asked_by = tk.Principal("staff", "ana", "signed_in")
    base = serves(shop.app(REFUND, "Done.", customer=lambda _: asked_by))
    ana, ben = signed_in(arrives, base), signed_in(arrives, base, "ben")
    customer = asking(arrives, base)
    for one in (ana, ben):
        open_inbox(one.page)
    card = ana.page.locator("#cards .card")
    expect(card).to_contain_text("Staff 'ana' asked for this call and can't approve it.")
    expect(card.get_by_role("button")).to_have_count(0)
    ben.page.get_by_role("button", name="Approve").click()
    expect(customer.page.locator(".row.theirs .bubble").last).to_have_text("Done.")
    expect(ana.page.get_by_text("Nothing waits for a person.")).to_be_visible()
    assert len(shop.refunds) == 1
