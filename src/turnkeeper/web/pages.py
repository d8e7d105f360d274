"""The customer's page and its parts, from the package's own data: an HTML template, ES modules, style sheets."""

from __future__ import annotations

import functools
import html
import json
import re
from importlib.resources import files
from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from turnkeeper.web.answers import RefusedError
from turnkeeper.web.door import Door, door_of

__all__ = ("LANGUAGES", "asset", "chat", "console", "phrases")

_TYPES = {"js": "text/javascript", "css": "text/css", "svg": "image/svg+xml"}
_NAME = re.compile(r"[a-z]+\.(js|css|svg)")
_FIELD = re.compile(r"\{\{([a-z_.]+)\}\}")
_RIGHT_TO_LEFT = frozenset({"ar", "he", "fa", "ur"})


@functools.cache
def _read(name: str) -> str:
    return (files("turnkeeper.web") / "assets" / name).read_text("utf-8")


@functools.cache
def phrases() -> dict[str, dict[str, str]]:
    """The words of the customer's page by language."""
    found: dict[str, dict[str, str]] = json.loads(_read("phrases.json"))
    return found


LANGUAGES = ("en", "de", "fr", "ru", "zh", "ar")


@functools.cache
def _file(name: str) -> bytes:
    return _read(name).encode()


async def asset(request: Request) -> Response:
    """A module, a style sheet, the icon."""
    name = str(request.path_params["name"])
    kind = _NAME.fullmatch(name)
    if kind is None:
        raise RefusedError(404, "not_found", "there is no such file")
    try:
        body = _file(name)
    except OSError:
        raise RefusedError(404, "not_found", "there is no such file") from None
    # asked for again on each visit: after an upgrade old modules must not meet new ones
    return Response(body, media_type=_TYPES[kind.group(1)], headers={"cache-control": "no-cache"})


async def chat(request: Request) -> Response:
    """The customer's page, in the language of the address or of the browser. It begins the session."""
    door = door_of(request)
    language = _language(request)
    words = phrases()[language]
    response = _page("chat.html", door, language, words)
    if await door.known(request) is None:
        door.sessions.put(response, request, door.fresh(request))
    return response


async def console(request: Request) -> Response:
    """The operator's console: a page without content, which asks for everything once somebody has signed in."""
    door = door_of(request)
    signed = "yes" if door.staff.session(request, door.sessions) is not None else ""
    values = {"title": html.escape(door.title), "way": door.staff.way, "signed": signed}
    return HTMLResponse(_FIELD.sub(lambda field: values[field.group(1)], _read("console.html")))


def _page(name: str, door: Door, language: str, words: dict[str, str]) -> HTMLResponse:
    chosen = "".join(
        f'<option value="{one}" lang="{one}"{" selected" if one == language else ""}>{phrases()[one]["name"]}</option>'
        for one in LANGUAGES
    )
    values: dict[str, Any] = {
        "lang": language,
        "dir": "rtl" if language in _RIGHT_TO_LEFT else "ltr",
        "title": html.escape(door.title),
        "phrases": html.escape(json.dumps(words, ensure_ascii=False)),
        "languages": chosen,
        **{f"t.{name}": html.escape(text) for name, text in words.items()},
    }
    return HTMLResponse(_FIELD.sub(lambda field: str(values[field.group(1)]), _read(name)))


def _language(request: Request) -> str:
    """`?lang=`, else the first of Accept-Language that there is, else English."""
    asked = [request.query_params.get("lang", "")]
    weighed: list[tuple[float, str]] = []
    for part in request.headers.get("accept-language", "")[:500].split(","):
        name, _, weight = part.partition(";q=")
        try:
            weighed.append((float(weight or 1), name.strip()))
        except ValueError:
            continue
    asked += [name for _, name in sorted(weighed, key=lambda one: -one[0])]
    return next((one[:2].lower() for one in asked if one[:2].lower() in LANGUAGES), "en")
