"""Every state of the customer's page, on a desk and on a phone, light and dark, from left and from right: no violation
that axe-core finds, and a picture of each for people to look at."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Arrives, Serves
from tests.web.helpdesk import HelpDesk
from turnkeeper.testing import call, reply
from turnkeeper.web.pages import phrases

pytestmark = pytest.mark.browser

DESK: dict[str, Any] = {"viewport": {"width": 1280, "height": 800}}
PHONE: dict[str, Any] = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
TINY: dict[str, Any] = {"viewport": {"width": 320, "height": 480}}
MARKDOWN = """Here is what I found:

| Order | Status | Total |
|---|---|---|
| 24601 | Shipped | 79.99 |
| 13579 | Processing | 39.98 |

1. **Shipped** means that it has left.
2. `13579` can still be cancelled, see [our rules](https://example.org/rules).

> Once an order has left, it can be returned.

```
a_very_long_line_of_code_that_does_not_fit_on_any_phone(with, many, arguments, and, more, of, them)
```"""
LOOKS = {
    "desk-light-en": {**DESK, "color_scheme": "light"},
    "desk-dark-de": {**DESK, "color_scheme": "dark"},
    "desk-light-ar": {**DESK, "color_scheme": "light"},
    "phone-light-en": {**PHONE, "color_scheme": "light"},
    "phone-dark-ar": {**PHONE, "color_scheme": "dark"},
    "tiny-light-fr": {**TINY, "color_scheme": "light"},
}


@pytest.mark.parametrize("look", LOOKS)
def test_every_state_is_sound_and_kept_as_a_picture(
    tmp_path: Path, serves: Serves, arrives: Arrives, look: str
) -> None:
    t = phrases()[look[-2:]]
    asks = reply(call("send_code", {"key": "email", "value": "john@gmail.com"}))
    change = reply(call("update_my_contact", {"email": "john.the.second@a-much-longer-name.example"}))
    answers = (asks, "<reply>A code was sent.</reply>", f"<reply>{MARKDOWN}</reply>", change)
    with HelpDesk(tmp_path) as helpdesk:
        base = serves(helpdesk.app(*answers, title="TechNova Desk"))
        person = arrives(base, **LOOKS[look])
        page = person.page

        def kept(state: str) -> None:
            assert person.violations() == []
            wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
            assert wide == 0, "nothing makes the page wider than the screen"
            person.picture(f"{look}-{state}")

        page.goto(f"/?lang={look[-2:]}")
        expect(page.get_by_role("heading", name=t["welcome"])).to_be_visible()
        kept("1-welcome")
        page.get_by_label(t["write"]).fill("Where are my orders? I am john@gmail.com")
        page.get_by_role("button", name=t["send"]).click()
        field = page.get_by_label(t["code_field"])
        expect(field).to_be_visible()
        kept("2-code")
        field.fill(helpdesk.code)
        page.get_by_role("button", name=t["code_confirm"]).click()
        expect(page.locator("table")).to_be_visible()
        kept("3-answer")
        page.locator("summary").click()
        expect(page.get_by_role("link", name=t["export_json"])).to_be_visible()
        kept("4-export")
        page.keyboard.press("Escape")
        page.get_by_label(t["write"]).fill("My new address is john.the.second@a-much-longer-name.example")
        page.get_by_role("button", name=t["send"]).click()
        expect(page.get_by_role("button", name=t["card_withdraw"])).to_be_visible()
        kept("5-card")
        if not look.startswith("desk"):
            page.get_by_role("button", name=t["conversations"]).click()
            expect(page.get_by_role("button", name=t["new"])).to_be_visible()
            kept("6-side")
            page.keyboard.press("Escape")
        person.context.set_offline(True)
        person.network_may_fail()
        expect(page.get_by_text(t["offline"])).to_be_visible()
        kept("7-offline")
