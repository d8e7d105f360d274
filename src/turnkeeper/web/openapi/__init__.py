"""The JSON API as an OpenAPI 3.1 document: every path that this application has, what it takes and what it sends.

It is made of data beside the handlers, with the bodies' schemas from the models that check them; tests hold it against
the routes and against what is really sent.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from importlib.metadata import version
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from turnkeeper.web.answers import JSONAnswer
from turnkeeper.web.door import door_of
from turnkeeper.web.openapi import console, customers, proofs, standard
from turnkeeper.web.openapi.parts import JSON, Operation, Schema, header, ref

__all__ = ("OPERATIONS", "PAGES", "document", "openapi", "paths_of")

OPERATIONS: tuple[Operation, ...] = (
    *customers.OPERATIONS,
    *proofs.OPERATIONS,
    *console.OPERATIONS,
    *standard.OPERATIONS,
)
PAGES = frozenset({"/", "/console", "/assets/{name}"})
"""Paths that are no part of the JSON API."""

_SAFE = frozenset({"get", "head"})
_CONVERTER = re.compile(r":[a-z]+\}")
_ORIGIN = header("Origin", {"type": "string"}, "The service's own origin, as browsers send it.", required=True)
_ABOUT = """A conversation is an append-only list of events; a client sends the newest message, and follows the events.

Customers have a session in a cookie (`POST /api/session`), staff one of their own (`POST /api/console/session`), as
have programs that act for staff. Every change needs the `Origin` header of the service. Another's conversation is
answered as one that isn't there. Whoever asks too often is told how long to wait (429, `Retry-After` in seconds)."""


def paths_of(routes: Iterable[BaseRoute]) -> set[tuple[str, str]]:
    """Path and method of every route of the JSON API; HEAD goes with GET."""
    return {
        (_CONVERTER.sub("}", route.path), method.lower())
        for route in routes
        if isinstance(route, Route) and route.path not in PAGES
        for method in route.methods or ()
        if method != "HEAD"
    }


def document(routes: Iterable[BaseRoute], *, title: str = "Turnkeeper", server: str = "/") -> dict[str, Any]:
    """The document of an application with these routes; `server` is where it is mounted."""
    there = paths_of(routes)
    paths: dict[str, dict[str, Any]] = {}
    for one in OPERATIONS:
        if (one.path, one.method) in there:
            paths.setdefault(one.path, {})[one.method] = _operation(one)
    return {
        "openapi": "3.1.0",
        "info": {"title": title, "version": version("turnkeeper"), "description": _ABOUT},
        "servers": [{"url": server}],
        "paths": paths,
        "components": {
            "schemas": {**customers.SCHEMAS, **proofs.SCHEMAS, **console.SCHEMAS, **standard.SCHEMAS},
            "securitySchemes": {
                "customer": {"type": "apiKey", "in": "cookie", "name": "turnkeeper_customer"},
                "staff": {"type": "apiKey", "in": "cookie", "name": "turnkeeper_staff"},
                "token": {"type": "http", "scheme": "bearer"},
            },
        },
    }


def _operation(one: Operation) -> Schema:
    parameters = [*one.parameters, *(() if one.method in _SAFE else (_ORIGIN,))]
    security: list[dict[str, list[str]]] = [{one.session: []}] if one.session else []
    if one.token:
        security.append({"token": []})
    return {
        "operationId": one.name,
        "summary": one.about,
        **({"parameters": parameters} if parameters else {}),
        **({"requestBody": {"required": True, "content": {JSON: {"schema": one.body}}}} if one.body else {}),
        "security": security,
        "responses": {
            **{str(status): _answer(one, *answer) for status, answer in one.answers.items()},
            "4XX": _refusal("refused"),
            "5XX": _refusal("it could not be done now"),
        },
    }


def _answer(one: Operation, media: str, schema: Schema, about: str) -> Schema:
    content = {
        media: {"schema": schema},
        **{other: {"schema": {"type": "string"}} for other in one.others},
    }
    return {"description": about, **({"content": content} if media else {})}


def _refusal(about: str) -> Schema:
    return {"description": about, "content": {JSON: {"schema": ref("Error")}}}


async def openapi(request: Request) -> Response:
    """The document of the application that is asked."""
    root = str(request.scope.get("root_path", "")) or "/"
    return JSONAnswer(document(request.app.routes, title=door_of(request).title, server=root))
