"""W3C trace context: from requests that come in, into requests that go out, and into the journal and back."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping, MutableMapping
from contextlib import contextmanager
from typing import Any

from opentelemetry import context as otel_context
from opentelemetry.context import Context
from opentelemetry.trace import Link, get_current_span, set_span_in_context
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
from opentelemetry.trace.span import Span

__all__ = ("TraceContextMiddleware", "continuing", "headers_for", "link_to", "trace_of")

_PROPAGATOR = TraceContextTextMapPropagator()
"""Trace context only: baggage is the application's own, and no business of whoever answers its requests."""
_NAMES = (b"traceparent", b"tracestate")


@contextmanager
def continuing(headers: Mapping[str, str]) -> Iterator[None]:
    """Let what happens in this block belong to the trace that `headers` name, if they name one that can be read.

    `headers` have lower-case names, as in `{"traceparent": "00-…"}`.
    """
    token = otel_context.attach(_PROPAGATOR.extract(headers))
    try:
        yield
    finally:
        otel_context.detach(token)


def headers_for(context: Context) -> dict[str, str]:
    """The headers that carry `context`; empty where nothing is recorded."""
    carrier: dict[str, str] = {}
    _PROPAGATOR.inject(carrier, context=context)
    return carrier


def trace_of(span: Span) -> str | None:
    """The span's `traceparent`; None for one that is nowhere recorded."""
    return headers_for(set_span_in_context(span, Context())).get("traceparent")


def link_to(trace: str, **attributes: str) -> Link | None:
    """A link to the span of that `traceparent`; None if it can't be read."""
    found = get_current_span(_PROPAGATOR.extract({"traceparent": trace}, context=Context())).get_span_context()
    return Link(found, attributes) if found.is_valid else None


Scope = MutableMapping[str, Any]
_ASGI = Callable[[Scope, Callable[[], Awaitable[Any]], Callable[[Any], Awaitable[None]]], Awaitable[None]]


class TraceContextMiddleware:
    """ASGI middleware: turns that a request begins belong to the trace that its headers name.

    Whoever sends the request chooses the trace. On an address that strangers reach, let the proxy in front strip or
    replace `traceparent`.
    """

    def __init__(self, app: _ASGI) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Callable[[], Awaitable[Any]], send: Any) -> None:
        """One connection."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        found = {name.decode(): value.decode("latin-1") for name, value in scope["headers"] if name in _NAMES}
        with continuing(found):
            await self._app(scope, receive, send)
