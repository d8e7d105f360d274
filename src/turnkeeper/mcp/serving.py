"""The two doors of an MCP server: stdin and stdout of this process, and streamable HTTP."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from mcp.server.auth.middleware.auth_context import get_access_token
from mcp.server.auth.settings import AuthSettings
from mcp.server.stdio import stdio_server
from mcp.server.transport_security import TransportSecuritySettings
from pydantic import AnyHttpUrl
from starlette.applications import Starlette

from turnkeeper.errors import ConfigurationError
from turnkeeper.mcp.exposing import exposed
from turnkeeper.mcp.tokens import ALGORITHMS, TokenVerifier, principal_of
from turnkeeper.serving import is_loopback
from turnkeeper.types import Principal

__all__ = ("BODY_LIMIT", "Authorization", "http_app", "serve_stdio")

BODY_LIMIT = 1_000_000
"""Bytes that a request may have."""
PATH = "/mcp"


@dataclass(frozen=True, slots=True, kw_only=True)
class Authorization:
    """Whose tokens are good at the HTTP door.

    `issuer` is the authorization server, `resource` this server's own URL as clients know it (the audience of its
    tokens), `keys` the issuer's JWKS (URL or file), `scopes` what every token must have, `staff_scope` the one that
    makes its subject staff.
    """

    issuer: str
    resource: str
    keys: str
    scopes: tuple[str, ...] = ()
    staff_scope: str | None = None
    algorithms: tuple[str, ...] = ALGORITHMS


async def serve_stdio(tools: Sequence[Any], *, principal: Principal | None = None, **options: Any) -> None:
    """Serve over stdin and stdout until stdin ends. Whoever started the process says who is served: there is no token.

    Only messages go to stdout: what tools print goes to stderr. `options` are those of `exposed`.
    """
    async with (
        exposed(tools, who=lambda: principal, **options) as server,
        stdio_server() as (read, write),
    ):
        # The library keeps strangers off the descriptor; what is printed would still wait in a buffer until it is given
        # back, and come out behind the last message.
        with contextlib.redirect_stdout(sys.stderr):
            await server.run(read, write, server.create_initialization_options())


@asynccontextmanager
async def http_app(
    tools: Sequence[Any],
    *,
    authorization: Authorization | None = None,
    hosts: Sequence[str] = (),
    origins: Sequence[str] = (),
    body_limit: int = BODY_LIMIT,
    **options: Any,
) -> AsyncIterator[Starlette]:
    """An ASGI application that serves at `/mcp` while the block lasts.

    With `authorization`, every request needs a token that was made for this resource, and its subject is the
    principal; without, everybody is anonymous, and only the names of this machine are answered. `hosts` and `origins`
    are further values of `Host` and `Origin` that are answered: requests with any other are refused, for a page in a
    browser may send them here under a name of its own (DNS rebinding).
    """
    staff_scope = None if authorization is None else authorization.staff_scope
    async with exposed(
        tools, who=lambda: principal_of(get_access_token(), staff_scope=staff_scope), **options
    ) as server:
        app = server.streamable_http_app(
            streamable_http_path=PATH,
            max_request_body_size=body_limit,
            transport_security=_allowed(hosts, origins, authorization),
            auth=None if authorization is None else _settings(authorization),
            token_verifier=None if authorization is None else _verifier(authorization),
        )
        async with app.router.lifespan_context(app):
            yield app


def _allowed(
    hosts: Sequence[str], origins: Sequence[str], authorization: Authorization | None
) -> TransportSecuritySettings:
    names = ["127.0.0.1", "localhost", "[::1]"]
    own = [] if authorization is None else [urlsplit(authorization.resource).netloc]
    return TransportSecuritySettings(
        allowed_hosts=[*names, *(f"{name}:*" for name in names), *own, *hosts],
        allowed_origins=[*(f"http://{name}" for name in names), *(f"http://{name}:*" for name in names), *origins],
    )


def _settings(authorization: Authorization) -> AuthSettings:
    for what in ("issuer", "resource"):
        parts = urlsplit(getattr(authorization, what))
        if not (parts.scheme == "https" or (parts.scheme == "http" and is_loopback(parts.hostname or ""))):
            raise ConfigurationError(f"the {what} is an https:// URL (http:// on this machine only)")
        if parts.fragment or parts.query:
            raise ConfigurationError(f"the {what} is a URL without query and fragment")
    return AuthSettings(
        issuer_url=AnyHttpUrl(authorization.issuer),
        resource_server_url=AnyHttpUrl(authorization.resource),
        required_scopes=list(authorization.scopes) or None,
        validate_token_resource=True,
    )


def _verifier(authorization: Authorization) -> TokenVerifier:
    return TokenVerifier(
        issuer=authorization.issuer,
        resource=authorization.resource,
        keys=authorization.keys,
        algorithms=authorization.algorithms,
    )
