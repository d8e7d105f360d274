"""Health and metrics."""

from __future__ import annotations

import hmac

import anyio
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from turnkeeper.errors import TurnkeeperError
from turnkeeper.web.answers import JSONAnswer
from turnkeeper.web.door import door_of

__all__ = ("health", "metrics")


async def health(request: Request) -> Response:
    """200 while conversations can be held: the application runs and its journal answers."""
    door = door_of(request)
    try:
        with anyio.fail_after(5):
            await door.running.journal.conversations(limit=1)
    except (TurnkeeperError, TimeoutError):
        return JSONAnswer({"status": "journal unavailable"}, 503)
    return JSONAnswer({"status": "ok"})


async def metrics(request: Request) -> Response:
    """Counters for Prometheus: for staff, or with the metrics token."""
    door = door_of(request)
    token = door.metrics_token
    given = request.headers.get("authorization", "").removeprefix("Bearer ")
    if token is None or not hmac.compare_digest(given.encode(), token.encode()):
        door.employee(request)
    service = door.running
    gauges = {"open_streams": float(service.switchboard.readers), "conversations_at_work": float(service.at_work)}
    return PlainTextResponse(service.metrics.text(gauges), media_type="text/plain; version=0.0.4")
