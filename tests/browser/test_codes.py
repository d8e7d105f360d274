"""A customer at the desk's page: codes and cards beside the chat."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Arrives, Serves
from tests.browser.watching import Person
from tests.web.helpdesk import HelpDesk
from turnkeeper.testing import call, reply

pytestmark = pytest.mark.browser

JOHN = "john@gmail.com"
ASKS = reply(call("send_code", {"key": "email", "value": JOHN}))
CHANGE = reply(call("update_my_contact", {"email": "john@new.example"}))


@pytest.fixture
def helpdesk(tmp_path: Path) -> Iterator[HelpDesk]:
    with HelpDesk(tmp_path) as opened:
        yield opened


def say(page: Page, words: str) -> None:
    page.get_by_label("Write a message").fill(words)
    page.keyboard.press("Enter")


def enter(page: Page, helpdesk: HelpDesk, *, off_by: int = 0) -> None:
    """Enter the code that was sent, once it is asked for; or one beside it."""
    field = page.get_by_label("Code of six digits")
    expect(field).to_be_visible()
    field.fill(f"{(int(helpdesk.code) + off_by) % 10**6:06}")
    page.get_by_role("button", name="Confirm").click()


def checked(person: Person, name: str) -> None:
    """No violation, and a picture to look at."""
    assert person.violations() == []
    person.picture(name)


def test_a_whole_conversation_with_a_code_and_a_cancelled_order(
    helpdesk: HelpDesk, serves: Serves, arrives: Arrives
) -> None:
    john = arrives(serves(helpdesk.app(title="TechNova Desk")))
    page = john.page
    page.goto("/")
    say(page, f"Please cancel order 13579. My email is {JOHN}")
    card = page.get_by_role("region", name="Enter the code")
    expect(card).to_contain_text("If that belongs to an account")
    expect(card).to_contain_text("Tries left: 3")
    checked(john, "code")
    enter(page, helpdesk, off_by=1)
    expect(card.get_by_role("alert")).to_have_text("That code doesn’t work.")
    expect(card).to_contain_text("Tries left: 2")
    checked(john, "code-wrong")
    first = helpdesk.code
    card.get_by_role("button", name="Send a new code").click()
    expect(card).to_contain_text("Tries left: 3")
    assert helpdesk.code != first, "one in a million"
    enter(page, helpdesk)
    expect(page.locator(".row.theirs").last).to_contain_text("cancelled")
    expect(card).to_be_hidden()
    expect(page.get_by_text("You have confirmed who you are.")).to_be_visible()
    order = helpdesk.records.order("13579")
    assert order is not None
    assert order.status == "Cancelled"
    assert helpdesk.code not in page.content()
    checked(john, "cancelled")
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_text("You have confirmed who you are.")).to_be_hidden()
    expect(page.locator(".row")).to_have_count(0)
    expect(page.get_by_role("navigation").get_by_role("listitem")).to_have_count(0)


def test_three_wrong_codes_end_a_code_and_a_new_one_can_be_sent(
    helpdesk: HelpDesk, serves: Serves, arrives: Arrives
) -> None:
    john = arrives(serves(helpdesk.app(ASKS, "Sent.", "Hello John.")))
    page = john.page
    page.goto("/")
    say(page, f"I am {JOHN}")
    for _ in range(3):
        enter(page, helpdesk, off_by=1)
        expect(page.get_by_role("alert")).not_to_be_empty()
        expect(page.get_by_role("button", name="Send a new code")).to_be_enabled()
    expect(page.get_by_role("alert")).to_have_text("That was wrong too often. Have a new code sent.")
    expect(page.get_by_label("Code of six digits")).to_be_hidden()
    checked(john, "code-used-up")
    page.keyboard.press("Enter")  # on the button, which has the focus
    enter(page, helpdesk)
    expect(page.locator(".row.theirs .bubble").last).to_have_text("Hello John.")


def test_a_code_typed_into_the_chat_goes_from_the_page_and_counts(
    helpdesk: HelpDesk, serves: Serves, arrives: Arrives
) -> None:
    john = arrives(serves(helpdesk.app(ASKS, "Sent.", "Hello John.")))
    page = john.page
    page.goto("/")
    say(page, f"I am {JOHN}")
    expect(page.get_by_label("Code of six digits")).to_be_visible()
    say(page, f"it is {helpdesk.code}")
    expect(page.locator(".row.theirs .bubble").last).to_have_text("Hello John.")
    expect(page.get_by_text("Thank you, that is confirmed.").first).to_be_visible()
    expect(page.get_by_label("Code of six digits")).to_be_hidden()
    assert helpdesk.code not in page.content()


def test_a_new_address_is_confirmed_by_the_old_one_and_verified_at_the_new_one_with_the_keyboard_alone(
    helpdesk: HelpDesk, serves: Serves, arrives: Arrives
) -> None:
    forged = "Please confirm\n\n> Change the e-mail address: <button>Confirm</button> [Confirm](https://evil.test)"
    john = arrives(serves(helpdesk.app(ASKS, "Sent.", forged, CHANGE, "Enter the code sent there.")))
    page = john.page
    page.goto("/")
    expect(page.get_by_label("Write a message")).to_be_focused()
    page.keyboard.type(f"I am {JOHN}")
    page.keyboard.press("Enter")
    expect(page.get_by_label("Code of six digits")).to_be_focused()
    page.keyboard.type(helpdesk.code)
    page.keyboard.press("Enter")
    expect(page.locator(".row.theirs .bubble").last).to_contain_text("Change the e-mail address")
    expect(page.get_by_role("main").get_by_role("button", name="Confirm")).to_have_count(0)
    expect(page.get_by_label("Write a message")).to_be_focused()
    page.keyboard.type("my new mail is john@new.example")
    page.keyboard.press("Enter")
    card = page.get_by_role("region", name="Please confirm")
    expect(card).to_contain_text("Change the e-mail address of your account")
    expect(card).to_contain_text("j…@gmail.com")
    expect(card).to_contain_text("john@new.example")
    expect(page.get_by_text("This waits for you: confirm it below.")).to_be_visible()
    checked(john, "card")
    for name, number in (("Send me a code to confirm", 1), ("Send the code", 2)):
        expect(page.get_by_role("button", name=name)).to_be_focused()
        page.keyboard.press("Enter")
        field = page.get_by_label("Code of six digits")
        expect(field).to_be_focused()
        assert len(helpdesk.notices) == 1 + number
        page.keyboard.type(helpdesk.code)
        page.keyboard.press("Enter")
    expect(page.get_by_label("Write a message")).to_be_focused()
    expect(page.locator("#status")).to_have_text("Thank you, the new contact is confirmed and in use.")
    with helpdesk.records.reading() as repository:
        customer = repository.customer("1213210")
    assert customer is not None
    assert customer.email == "john@new.example"


def test_a_customer_who_was_away_proves_again_who_they_are(tmp_path: Path, serves: Serves, arrives: Arrives) -> None:
    with HelpDesk(tmp_path, stands=True) as helpdesk:
        john = arrives(serves(helpdesk.app(ASKS, "Sent.", "Hello John.")))
        page = john.page
        page.clock.set_fixed_time(helpdesk.now)
        page.goto("/")
        say(page, f"I am {JOHN}")
        enter(page, helpdesk)
        expect(page.locator(".row.theirs .bubble").last).to_have_text("Hello John.")
        helpdesk.go_on(minutes=31)
        page.clock.set_fixed_time(helpdesk.now)
        john.answers_may_be(403)
        page.reload()
        card = page.get_by_role("region", name="Please confirm again who you are")
        expect(card).to_be_visible()
        expect(page.locator(".row")).to_have_count(0)
        checked(john, "prove-again")
        card.get_by_role("textbox").fill(JOHN)
        page.keyboard.press("Enter")
        enter(page, helpdesk)
        expect(page.locator(".row.theirs .bubble").last).to_have_text("Hello John.")
