"""A conversation as staff see it: its calls, its times to scale, what runs now, and nothing that its texts pretend."""

from __future__ import annotations

import re
import threading
from typing import Any

import pytest
from playwright.sync_api import Dialog, Locator, Page, expect

import turnkeeper as tk
from tests.browser.conftest import Arrives, Serves
from tests.browser.staffed import DARK, PHONE, asking, signed_in
from tests.web.operators import Operator, Shop
from tests.web.test_pages import PAYLOADS
from turnkeeper.testing import call, reply, thinking

pytestmark = pytest.mark.browser

HOSTILE = "\n\n".join(PAYLOADS) + "\n\n\u202etxt.exe\u200b \U000e0041"


def opened(page: Page, name: str) -> Locator:
    """The transcript of the conversation with that title."""
    page.get_by_role("link", name=name).first.click()
    return page.get_by_role("region", name="Transcript")


@pytest.mark.parametrize(("name", "options"), [("desktop", {}), ("phone-dark", PHONE | DARK)])
def test_every_call_is_shown_with_what_the_journal_says_of_it(
    serves: Serves, arrives: Arrives, name: str, options: dict[str, Any]
) -> None:
    first = reply(thinking("An order number would help."), call("review", {"product": "🎧"}, id="toolu_1"))
    second = reply("One moment.", call("refund", {"order": "24601", "amount": 500}, id="toolu_2"))
    shop = Shop()
    base = serves(shop.app(first, second, reply("**Done**: see [the shop](https://example.org).")))
    asking(arrives, base, "Refund my headphones, please")
    with Operator(base, "ben") as ben, ben.stream("changes") as changes:
        while not (cards := ben.get("inbox")["approvals"]):
            changes.next()
        shop.clock.now += 90
        ben.decide(cards[0], "edit", text='{"order": "24601", "amount": 250}', reason="half of it")
    ana = signed_in(arrives, base, **options)
    page = ana.page
    transcript = opened(page, "Refund my headphones")
    review, refund = transcript.locator("details.call").nth(0), transcript.locator("details.call").nth(1)
    expect(transcript.locator(".bubble").last).to_have_text("Done: see the shop.")
    expect(review.locator("summary").first).to_have_text(re.compile("review.*succeeded.*read", re.DOTALL))
    expect(refund.locator("summary").first).to_contain_text("after text of review")
    for one in (review, refund):
        one.locator("summary").first.click()
    expect(review).to_contain_text("Untrusted text from: review")
    expect(review.get_by_role("region", name="Result of review")).to_contain_text("🎧: <img src=x onerror=alert(1)>")
    expect(review.get_by_role("region", name="Result of review")).to_contain_text("⟨U+202E⟩good")
    expect(refund.get_by_role("region", name="Arguments of refund")).to_have_text(
        '{\n  "order": "24601",\n  "amount": 500\n}'
    )
    expect(refund).to_contain_text("Decided: approved with other arguments by staff ben")
    expect(refund).to_contain_text("half of it")
    expect(refund.get_by_role("region", name="Arguments it runs with")).to_contain_text("250")
    expect(refund).to_contain_text("Key: ")
    expect(transcript.locator("img, script, iframe")).to_have_count(0)
    assert ana.violations() == []
    ana.picture(f"console-transcript-{name}")
    transcript.evaluate("one => { one.scrollTop = 0 }")
    ana.picture(f"console-transcript-top-{name}")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_a_turns_times_are_drawn_to_scale_with_its_waits_and_without(serves: Serves, arrives: Arrives) -> None:
    shop = Shop()
    clock = shop.clock

    @tk.tool(effect="read")
    def measure() -> str:
        """Takes three seconds of this test's time."""
        clock.now += 3
        return "measured"

    @tk.tool(approval="always")
    def act() -> str:
        """Takes one second."""
        clock.now += 1
        return "acted"

    asks = reply(call("measure", id="toolu_1")), reply(call("act", id="toolu_2")), "Done."
    base = serves(shop.app(*asks, agent={"tools": [measure, act]}))
    customer = asking(arrives, base, "Go")
    ana = signed_in(arrives, base)
    transcript = opened(ana.page, "Go")
    approve = transcript.get_by_role("button", name="Approve")
    expect(approve).to_be_visible()
    clock.now += 76
    approve.click()
    expect(customer.page.locator(".row.theirs .bubble")).to_have_text("Done.")
    rows = transcript.locator(".timeline tbody tr")
    expect(transcript.locator(".timeline caption")).to_have_text("1 min 20 s from beginning to end")
    expect(rows.locator("th")).to_have_text(
        ["Request 1", "Call measure", "Request 2", "Wait for approval", "Call act", "Request 3"]
    )

    def bars() -> list[tuple[str, str]]:
        found = rows.locator(".bar:first-child").evaluate_all(
            "all => all.map(b => [b.style.insetInlineStart, b.style.width])"
        )
        return [tuple(one) for one in found]

    assert bars() == [
        ("0%", "0%"),
        ("0%", "3.75%"),
        ("3.75%", "0%"),
        ("3.75%", "95%"),
        ("98.75%", "1.25%"),
        ("100%", "0%"),
    ]
    expect(rows.nth(1).locator(".took")).to_have_text("3.00 s")
    expect(rows.nth(3).locator(".took")).to_have_text("1 min 16 s")
    expect(rows.nth(5).locator(".took")).to_have_text("0.00 s, first text after 0.00 s")
    ana.picture("console-timeline")
    transcript.get_by_label("with waits for people").uncheck()
    expect(rows).to_have_count(5)
    assert bars() == [("0%", "0%"), ("0%", "75%"), ("75%", "0%"), ("75%", "25%"), ("100%", "0%")]


def test_a_long_call_shows_how_far_it_is_while_it_runs(serves: Serves, arrives: Arrives) -> None:
    half, rest = threading.Event(), threading.Event()

    @tk.tool(effect="read")
    def count_stock(ctx: tk.ToolContext) -> str:
        """Counts for long."""
        assert half.wait(60)
        ctx.progress("Shelf 3 of 6 \u202e", 0.5)
        assert rest.wait(60)
        return "600"

    asks = reply(call("count_stock", id="toolu_1"))
    base = serves(Shop().app(asks, "There are 600.", agent={"tools": [count_stock]}))
    ana = signed_in(arrives, base)
    customer = asking(arrives, base, "How many?")
    transcript = opened(ana.page, "How many?")
    card = transcript.locator("details.call")
    expect(card).to_contain_text("started")
    card.locator("summary").click()
    half.set()
    expect(card.locator("progress")).to_have_attribute("value", "0.5")
    expect(card.locator(".progress")).to_contain_text("Shelf 3 of 6 ⟨U+202E⟩")
    expect(transcript.locator(".timeline caption")).to_contain_text("from beginning to now")
    rest.set()
    expect(card.locator(".progress")).to_be_hidden()
    expect(card).to_contain_text("succeeded")
    expect(customer.page.locator(".row.theirs .bubble")).to_have_text("There are 600.")


def test_nothing_hostile_runs_or_hides_in_the_operators_page(serves: Serves, arrives: Arrives) -> None:
    """Attacks 30 to 32: in a title, a message, a tool's name, arguments, results, errors, replies, a sign-in name."""

    @tk.tool(effect="read")
    def echo(text: str) -> str:
        """Says it again."""
        raise tk.ToolError(text)

    asks = (
        reply(HOSTILE, call("echo", {"text": HOSTILE}, id="toolu_1")),
        reply(call("<img src=x onerror=alert(1)>\u202e", {"a\u202eb": HOSTILE}, id="toolu_2")),
    )
    base = serves(Shop().app(*asks, reply(HOSTILE), agent={"tools": [echo]}))
    asking(arrives, base, "<img src=x onerror=alert(1)> \u202eeht " + HOSTILE)
    ana = signed_in(arrives, base)
    page = ana.page
    dialogs: list[str] = []

    def note(one: Dialog) -> None:
        dialogs.append(one.message)
        one.dismiss()

    page.on("dialog", note)
    with Operator(base, sign_in=False) as eve:
        eve.sign_in("<b>\u202eana", "x")
    transcript = opened(page, "<img src=x")
    expect(transcript.locator(".event").last).to_contain_text("turn ended: completed")
    transcript.evaluate("one => one.querySelectorAll('details').forEach(inner => { inner.open = true })")
    expect(transcript.locator("details.call")).to_have_count(2)
    expect(page.locator("img, iframe, script:not([src]), svg")).to_have_count(0)
    expect(transcript.locator("a[href]")).to_have_count(0)
    text = page.locator("body").inner_text()
    assert not re.search("[\u202a-\u202e\u2066-\u2069\u200b\U000e0000-\U000e007f]", text)
    assert "⟨U+202E⟩" in text
    assert "\\u202e" in text, "arguments are JSON, with JSON's escapes"
    ana.picture("console-hostile")
    page.get_by_role("link", name="Record").click()
    expect(page.locator("#entries")).to_contain_text("<b>⟨U+202E⟩ana")
    expect(page.locator("#entries b")).to_have_count(0)
    assert dialogs == []
