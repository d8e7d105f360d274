"""Every path of the application."""

from __future__ import annotations

from starlette.routing import BaseRoute, Route

from turnkeeper.web import customers, pages, places
from turnkeeper.web.console import console_routes
from turnkeeper.web.openapi import openapi
from turnkeeper.web.proofs import proof_routes

__all__ = ("routes",)

_ONE = "/api/conversations/{conversation}"


def routes() -> list[BaseRoute]:
    """Paths, methods, handlers."""
    return [
        Route("/", pages.chat),
        *console_routes(),
        Route("/assets/{name}", pages.asset),
        Route("/healthz", places.health),
        Route("/metrics", places.metrics),
        Route("/openapi.json", openapi),
        Route("/api/session", customers.show_session, methods=["GET"]),
        Route("/api/session", customers.begin_session, methods=["POST"]),
        Route("/api/conversations", customers.list_conversations, methods=["GET"]),
        Route("/api/conversations", customers.new_conversation, methods=["POST"]),
        Route(_ONE, customers.show_conversation, methods=["GET"]),
        Route(f"{_ONE}/messages", customers.send_message, methods=["POST"]),
        Route(f"{_ONE}/events", customers.events, methods=["GET"]),
        Route(f"{_ONE}/stop", customers.stop, methods=["POST"]),
        Route(f"{_ONE}/export", customers.export, methods=["GET"]),
        *proof_routes(),
    ]
