"""Faults of other chat pages, as their users reported them, tried on ours."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

import turnkeeper as tk
from tests.browser.conftest import Arrives, Serves
from tests.browser.staffed import signed_in
from tests.web.operators import Shop
from turnkeeper.testing import call, reply

pytestmark = pytest.mark.browser

ANSWER = "[click](javascript:window.__pwn=3) <iframe srcdoc='<script>parent.__pwn=5</script>'></iframe> and 1 < 2 & 3"
NAME = "<img src=x onerror=window.__pwn=1>"
FAULT = "<script>window.__pwn=2</script>"
LINE = "</script>\u2028<svg onload=window.__pwn=4>"
ACTIVE = "[onerror], [onload], script[data-msg], iframe, svg[onload], a[href^=javascript], a[href^=data]"


@tk.tool(effect="read", untrusted=True)
def customer(order: str) -> str:
    """Who ordered it."""
    return NAME


@tk.tool(effect="read")
def track(order: str) -> str:
    """Where it is."""
    raise tk.ToolError(FAULT)


def harmless(page: Page) -> None:
    """Nothing of the texts has run, or could."""
    assert page.evaluate("window.__pwn") is None
    expect(page.locator("main").locator(ACTIVE)).to_have_count(0)


def test_markup_in_texts_runs_in_nobodys_browser(serves: Serves, arrives: Arrives) -> None:
    """Report B13-stored-xss-in-chat.

    https://github.com/HKUDS/LightRAG/pull/3437
    """
    both = reply(LINE, call("customer", {"order": "7"}), call("track", {"order": "7"}))
    web = Shop().app(both, reply(ANSWER, chunk=3), agent={"tools": [customer, track]})
    base = serves(web)
    john = arrives(base)
    page = john.page
    page.goto("/")
    page.get_by_label("Write a message").fill(f"{NAME} {FAULT}")
    page.keyboard.press("Enter")
    answer = page.locator(".row.theirs .bubble").last
    for _ in ("live", "after a reload"):
        expect(answer).to_contain_text("1 < 2 & 3")
        expect(answer).to_contain_text("<iframe srcdoc=")
        expect(answer.get_by_role("link")).to_have_count(0)
        expect(page.locator(".row.mine .bubble")).to_have_text(f"{NAME} {FAULT}")
        expect(page.locator("#list .name")).to_contain_text("<img src=x")
        harmless(page)
        page.reload()
    ana = signed_in(arrives, base)
    ana.page.locator("#list").get_by_text("<img src=x").first.click()
    expect(ana.page.locator("main")).to_contain_text("1 < 2 & 3")
    harmless(ana.page)
    markdown = page.request.get(f"/api/conversations/{page.url.partition('#')[2]}/export?format=markdown").text()
    assert ANSWER in markdown, "what is stored is what was said"
