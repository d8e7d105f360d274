"""What watches the pages in these tests does see what it watches for."""

from __future__ import annotations

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from tests.browser.conftest import Arrives, Serves

pytestmark = pytest.mark.browser

_PAGES = {
    "console": "<script>console.error('seen')</script>",
    "exception": "<script>setTimeout(() => { throw new Error('seen') })</script>",
    "policy": "<script>document.title = 'not run'</script>",
    "origin": "<img src='http://elsewhere.test/seen.png' alt=''>",
    "status": "<script>fetch('/broken')</script>",
    "unnamed": "<main><h1>A page</h1><button></button></main>",
}


async def page(request: Request) -> Response:
    name = request.path_params["name"]
    if name == "broken":
        return Response(status_code=500)
    policy = {"content-security-policy": "script-src 'none'"} if name == "policy" else {}
    body = f"<!doctype html><html lang='en'><title>x</title><link rel='icon' href='data:,'>{_PAGES[name]}"
    return HTMLResponse(body, headers=policy)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("console", "console: seen"),
        ("exception", "not caught: seen"),
        ("policy", "Content Security Policy"),
        ("origin", "left the origin: http://elsewhere.test/seen.png"),
        ("status", "500 of GET"),
    ],
)
def test_a_page_that_misbehaves_is_noticed(serves: Serves, arrives: Arrives, name: str, words: str) -> None:
    person = arrives(serves(Starlette(routes=[Route("/{name}", page)])))
    person.page.goto(f"/{name}", wait_until="networkidle")
    with pytest.raises(AssertionError):
        person.check()
    assert any(words in fault for fault in person.faults)
    person.faults.clear()


def test_a_button_without_a_name_is_found_by_axe_under_a_policy(serves: Serves, arrives: Arrives) -> None:
    person = arrives(serves(Starlette(routes=[Route("/{name}", page)])))
    person.page.goto("/unnamed")
    assert [one["rule"] for one in person.violations()] == ["button-name"]
