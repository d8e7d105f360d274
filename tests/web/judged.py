"""Holds what an application sends against its own OpenAPI document, answer by answer."""

from __future__ import annotations

import json
from typing import Any

from jsonschema_rs import Draft202012Validator
from starlette.applications import Starlette
from starlette.routing import Match, Route
from starlette.types import Message, Receive, Scope, Send

from turnkeeper.web.openapi import document, paths_of

__all__ = ("Judge",)


class Judge:
    """An ASGI application around another; `seen` are the documented answers that came: path, method, status, media.

    `wrong` says what did not fit; the answers go out all the same.
    """

    def __init__(self, web: Starlette) -> None:
        self.web = web
        self.document: dict[str, Any] = document(web.routes)
        self.seen: set[tuple[str, str, str, str]] = set()
        self.wrong: list[str] = []

    @property
    def documented(self) -> set[tuple[str, str, str, str]]:
        """Every answer that is no refusal."""
        return {
            (path, method, status, media)
            for path, methods in self.document["paths"].items()
            for method, operation in methods.items()
            for status, answer in operation["responses"].items()
            if status.isdecimal() and int(status) < 400
            for media in answer.get("content", {"": {}})
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.web(scope, receive, send)
            return
        status, media, body = 0, "", b""

        async def noted(message: Message) -> None:
            nonlocal status, media, body
            await send(message)
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = {name.lower(): value for name, value in message["headers"]}
                media = headers.get(b"content-type", b"").decode().partition(";")[0]
            else:
                body += message.get("body", b"")

        await self.web(scope, receive, noted)
        place = self._place(scope)
        if place is not None:
            self.wrong += self._faults(*place, status, media, body)

    def _place(self, scope: Scope) -> tuple[str, str] | None:
        for route in self.web.routes:
            if isinstance(route, Route) and route.matches(scope)[0] is Match.FULL:
                found = paths_of([route])
                return next(iter(found), None) if scope["method"] != "HEAD" else None
        return None

    def _faults(self, path: str, method: str, status: int, media: str, body: bytes) -> list[str]:
        responses = self.document["paths"][path][method]["responses"]
        answer = responses.get(str(status)) or responses.get(f"{status // 100}XX")
        where = f"{method} {path} {status} {media}"
        if answer is None or media not in answer.get("content", {"": {}}):
            return [f"{where}: no such answer is in the document"]
        if "content" not in answer:
            self.seen.add((path, method, str(status), ""))
            return [f"{where}: {body!r} is sent, and should not be"] if body else []
        found = []
        for value in _values(media, body):
            form = answer["content"][media]["schema"]
            if media == "text/event-stream":
                data = form["properties"]["data"]
                form = {"anyOf": [one.get("contentSchema", one) for one in data.get("anyOf", [data])]}
            schema = {**form, "components": self.document["components"]}
            errors = [error.message for error in Draft202012Validator(schema).iter_errors(value)]
            if errors:
                found.append(f"{where}: {errors[:3]} in {json.dumps(value, ensure_ascii=False)[:2000]}")
        self.seen.add((path, method, str(status), media))
        return found


def _values(media: str, body: bytes) -> list[Any]:
    """What is to be held against the schema: the value, the text, or the data of each event."""
    if media == "application/json":
        return [json.loads(body)]
    if media != "text/event-stream":
        return [body.decode()]
    lines = body.decode().splitlines()
    data = [line[6:] for line in lines if line.startswith("data: ")]
    return [one if one == "[DONE]" else json.loads(one) for one in data]
