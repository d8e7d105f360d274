"""The console's other places, by mouse, by keyboard alone, on a phone, in the dark."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

import turnkeeper as tk
from tests.browser.conftest import Arrives, Serves
from tests.browser.staffed import DARK, PHONE, asking, in_a_loop, signed_in
from tests.journal.samples import one_turn
from tests.web.operators import Operator, Shop
from tests.web.test_console_inbox import lost_call
from turnkeeper.journal import MemoryJournal
from turnkeeper.testing import call, reply
from turnkeeper.types import Principal
from turnkeeper.web import Staff

pytestmark = pytest.mark.browser


def filled(count: int, at: float) -> MemoryJournal:
    """Conversations of the last days, each of a customer of its own."""
    journal = MemoryJournal()

    async def fill() -> None:
        for number in range(count):
            who = Principal("customer", f"Kundin {number}", "confirmed")
            events = one_turn(f"Вопрос № {number}", at=at - 40_000 * (number + 1), principal=who)
            await journal.append(f"c-{number}", events, after=0)

    in_a_loop(fill)
    return journal


def test_an_outcome_that_nobody_knows_is_settled_by_whoever_looked(serves: Serves, arrives: Arrives) -> None:
    sent: list[str] = []

    @tk.tool
    def send_mail(to: str) -> str:
        """Send a mail."""
        sent.append(to)
        return "sent"

    journal, shop = MemoryJournal(), Shop()
    in_a_loop(lambda: journal.append("c", lost_call(shop.clock.now), after=0))
    base = serves(shop.app("It went out.", agent={"tools": [send_mail]}, journal=journal))
    ana = signed_in(arrives, base)
    page = ana.page
    page.goto("/console#c/c")
    card = page.locator(".transcript .card")
    expect(card).to_contain_text("Look in the world whether it happened")
    page.get_by_role("link", name="Inbox").click()
    card = page.locator("#cards .card")
    card.get_by_role("button", name="It did not happen").click()
    expect(card).to_contain_text("The call runs now.")
    card.get_by_role("button", name="Back").click()
    expect(card.get_by_role("button", name="It did not happen")).to_be_focused()
    card.get_by_role("button", name="It happened").click()
    ana.picture("console-outcome")
    assert ana.violations() == []
    card.get_by_label("Its result").fill("Message 7 is in the outbox")
    card.get_by_role("button", name="It happened").click()
    expect(page.get_by_text("Nothing waits for a person.")).to_be_visible()
    page.goto("/console#c/c")
    expect(page.locator(".transcript .bubble").last).to_have_text("It went out.")
    expect(page.locator(".transcript details.call")).to_contain_text("it happened, says staff ana")
    assert sent == []


def test_titles_people_and_messages_are_found_and_the_list_has_pages(serves: Serves, arrives: Arrives) -> None:
    shop = Shop()
    base = serves(shop.app(journal=filled(230, shop.clock.now)))
    ana = signed_in(arrives, base)
    page = ana.page
    rows = page.locator("#list a")
    expect(rows).to_have_count(49)
    page.get_by_role("button", name="Older").click()
    expect(page.locator("#page")).to_have_text("51 to 100")
    page.get_by_role("button", name="Newer").click()
    expect(page.locator("#page")).to_have_text(re.compile("1 to "))
    page.get_by_role("searchbox").fill("kundin 217")
    page.keyboard.press("Enter")
    expect(rows).to_have_count(1)
    expect(rows).to_contain_text("Вопрос № 217")
    expect(page.locator("#found")).to_have_text("1 found")
    page.get_by_role("searchbox").fill("в пути. שלום")
    page.keyboard.press("Enter")
    expect(page.locator("#found")).to_have_text("230 found")
    expect(rows.first).to_contain_text("Заказ в пути. שלום")
    ana.picture("console-search")
    page.get_by_role("searchbox").fill("nowhere at all")
    page.keyboard.press("Enter")
    expect(page.locator("#found")).to_have_text("Nothing found")
    page.get_by_role("button", name="All").click()
    expect(rows).to_have_count(49)
    page.get_by_role("button", name="Waiting for a person").click()
    expect(page.locator("#found")).to_have_text("No conversation waits for a person.")


@pytest.mark.parametrize(
    ("name", "options"), [("light", {}), ("dark", DARK), ("phone", PHONE), ("phone-dark", PHONE | DARK)]
)
def test_every_place_is_readable_in_light_and_dark_at_a_desk_and_on_a_phone(
    serves: Serves, arrives: Arrives, name: str, options: dict[str, Any]
) -> None:
    shop = Shop()
    refund = reply(call("refund", {"order": "24601", "amount": 500}, id="toolu_r"))
    base = serves(shop.app(refund, journal=filled(40, shop.clock.now)))
    asking(arrives, base, "Where is my money?")
    person = arrives(base, **options)
    page = person.page
    page.goto("/console")
    expect(page.get_by_label("Password")).to_be_visible()
    assert person.violations() == []
    person.picture(f"console-sign-in-{name}")
    page.close()
    ana = signed_in(arrives, base, **options)
    page = ana.page

    def looked_at(place: str) -> None:
        assert ana.violations() == [], place
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), place
        ana.picture(f"console-{place}-{name}")

    expect(page.locator("#list a").first).to_contain_text("waits for approval")
    looked_at("conversations")
    page.locator("#list a").first.click()
    expect(page.locator(".transcript .card")).to_be_visible()
    looked_at("waiting")
    page.get_by_role("link", name="Inbox").click()
    page.locator("#cards .card").get_by_role("button", name="Deny").click()
    looked_at("deny")
    page.get_by_role("link", name="Usage").click()
    expect(page.locator(".plot .column")).to_have_count(20)
    expect(page.locator(".sums")).to_contain_text("$0.069")
    page.get_by_text("As a table").click()
    expect(page.get_by_role("region", name="Cost by day").locator("tbody tr")).to_have_count(30)
    looked_at("usage")
    page.get_by_role("link", name="Record").click()
    expect(page.locator("#entries tbody tr")).to_have_count(1)
    looked_at("record")


def tab_to(page: Page, name: str) -> None:
    """Press Tab until that is focused."""
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement?.innerText ?? ''").strip().startswith(name):
            return
    raise AssertionError(f"{name} can't be reached by Tab")


def test_everything_is_done_by_keyboard_alone(serves: Serves, arrives: Arrives) -> None:
    asks = [reply(call("refund", {"order": str(n), "amount": n}, id=f"toolu_{n}")) for n in (1, 2)]
    shop = Shop()
    base = serves(shop.app(reply(*(one["content"][0] for one in asks)), "Both done."))
    customer = asking(arrives, base)
    person = arrives(base)
    page = person.page
    page.goto("/console")
    expect(page.get_by_label("Name", exact=True)).to_be_focused()
    page.keyboard.type("ana")
    page.keyboard.press("Tab")
    page.keyboard.type("пароль ana")
    page.keyboard.press("Enter")
    expect(page.locator("#main")).to_be_focused()
    page.keyboard.press("Shift+Tab")
    tab_to(page, "Skip to the content")
    tab_to(page, "Inbox")
    page.keyboard.press("Enter")
    expect(page.locator("#cards .card")).to_have_count(2)
    tab_to(page, "Approve")
    page.keyboard.press("Enter")
    expect(page.locator("#cards .card")).to_have_count(1)
    expect(page.locator("#cards .card h3")).to_be_focused()
    tab_to(page, "Edit")
    page.keyboard.press("Enter")
    field = page.get_by_label("Arguments, as JSON")
    expect(field).to_be_focused()
    page.keyboard.press("Control+a")
    page.keyboard.type('{"order": "2", "amount": 20}')
    tab_to(page, "Run with these arguments")
    page.keyboard.press("Enter")
    expect(customer.page.locator(".row.theirs .bubble")).to_have_text("Both done.")
    assert sorted(shop.refunds) == [("1", 1), ("2", 20)]


def test_a_card_in_which_somebody_writes_stays_while_others_come_and_go(serves: Serves, arrives: Arrives) -> None:
    asks = reply(*(call("refund", {"order": str(n), "amount": n}, id=f"toolu_{n}") for n in (1, 2)))
    shop = Shop()
    base = serves(shop.app(asks, "Done."))
    ana = signed_in(arrives, base)
    asking(arrives, base)
    page = ana.page
    page.get_by_role("link", name="Inbox").click()
    cards = page.locator("#cards .card")
    expect(cards).to_have_count(2)
    cards.nth(0).get_by_role("button", name="Deny").click()
    cards.nth(0).get_by_label("Reason").fill("I am still thinking")
    with Operator(base, "ben") as ben:
        one, other = ben.get("inbox")["approvals"]
        ben.decide(other, "approve")
        expect(cards).to_have_count(1)
        expect(cards.get_by_label("Reason")).to_have_value("I am still thinking")
        ben.decide(one, "approve")
    expect(cards).to_contain_text("Somebody else has decided this, or it has run out.")
    expect(page.get_by_text("Nothing waits for a person.")).to_be_visible()
    assert len(shop.refunds) == 2


def test_whoever_is_signed_out_elsewhere_is_asked_to_sign_in_again(serves: Serves, arrives: Arrives) -> None:
    base = serves(Shop().app())
    ana = signed_in(arrives, base)
    second = ana.tab()
    second.goto("/console")
    expect(second.locator("#me")).to_have_text("ana")
    second.get_by_role("button", name="Sign out").click()
    expect(second.get_by_role("heading", name="Sign in")).to_be_visible()
    ana.page.get_by_role("link", name="Usage").click()
    expect(ana.page.get_by_role("heading", name="Sign in")).to_be_visible()
    expect(ana.page.locator("#usage")).to_be_hidden()
    ana.page.get_by_label("Name", exact=True).fill("ana")
    ana.page.get_by_label("Password").fill("wrong")
    ana.page.keyboard.press("Enter")
    expect(ana.page.get_by_role("alert")).to_have_text("that name and password are not those of anybody here.")
    ana.faults = [one for one in ana.faults if "401" not in one]


def test_the_demos_user_is_in_at_once_and_can_be_another_person(serves: Serves, arrives: Arrives) -> None:
    shop = Shop()
    base = serves(shop.app(staff=Staff.on_loopback("ana"), customer=lambda _: None))
    person = arrives(base)
    page = person.page
    page.goto("/console")
    expect(page.locator("#me")).to_have_text("ana")
    page.get_by_role("button", name="Change name").click()
    expect(page.get_by_text("no password is asked for")).to_be_visible()
    expect(page.get_by_label("Password")).to_be_hidden()
    page.get_by_label("Name", exact=True).fill("ben")
    page.keyboard.press("Enter")
    expect(page.locator("#me")).to_have_text("ben")
    page.reload()
    expect(page.locator("#me")).to_have_text("ben")


def test_without_staff_the_page_says_what_to_do(serves: Serves, arrives: Arrives) -> None:
    person = arrives(serves(Shop().app(staff=None)))
    person.page.goto("/console")
    expect(person.page.get_by_text("This service has no staff.")).to_be_visible()
    expect(person.page.get_by_role("textbox")).to_have_count(0)
    assert person.violations() == []
