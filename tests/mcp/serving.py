"""An HTTP door in the test's own event loop, and an issuer of tokens."""

from __future__ import annotations

import base64
import contextlib
import json
import socket
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import anyio
import httpx2
import jwt
import uvicorn
from cryptography.hazmat.primitives.asymmetric import rsa
from jwt.algorithms import RSAAlgorithm
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from starlette.responses import JSONResponse

ISSUER = "https://login.example"
RESOURCE = "https://mcp.example/mcp"
SHARED = b"a secret that somebody put among the public keys"


class _Server(uvicorn.Server):
    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


@contextlib.asynccontextmanager
async def listening(app: Any, port: int = 0) -> AsyncIterator[str]:
    """The URL of an application while the block lasts."""
    config = uvicorn.Config(app, lifespan="off", log_config=None, log_level="critical", timeout_graceful_shutdown=1)
    server = _Server(config)
    with socket.create_server(("127.0.0.1", port)) as listener:
        async with anyio.create_task_group() as group:
            group.start_soon(server.serve, [listener])
            try:
                yield f"http://127.0.0.1:{listener.getsockname()[1]}"
            finally:
                server.should_exit = True


@contextlib.asynccontextmanager
async def client_of(url: str, *, token: str | None = None, mode: str = "auto", **headers: str) -> AsyncIterator[Client]:
    """The official client, with a token."""
    own = {**headers, **({} if token is None else {"Authorization": f"Bearer {token}"})}
    async with (
        httpx2.AsyncClient(headers=own, timeout=30) as http,
        Client(streamable_http_client(url, http_client=http), mode=mode) as client,
    ):
        yield client


class Issuer:
    """An authorization server's keys, and tokens of all kinds."""

    def __init__(self, folder: Path) -> None:
        self.key = rsa.generate_private_key(public_exponent=65_537, key_size=2048)
        self.stranger = rsa.generate_private_key(public_exponent=65_537, key_size=2048)
        public = json.loads(RSAAlgorithm.to_jwk(self.key.public_key()))
        self.public = {**public, "kid": "k1", "alg": "RS256", "use": "sig"}
        shared = base64.urlsafe_b64encode(SHARED).rstrip(b"=").decode()
        secret = {"kty": "oct", "kid": "shared", "k": shared, "alg": "HS256"}
        self.file = folder / "jwks.json"
        self.file.write_text(json.dumps({"keys": [self.public, secret]}))

    def token(
        self,
        sub: str | None = "клиент-1",
        *,
        key: Any = None,
        algorithm: str = "RS256",
        headers: dict[str, Any] | None = None,
        **claims: Any,
    ) -> str:
        now = int(time.time())
        body: dict[str, Any] = {
            "iss": ISSUER,
            "aud": RESOURCE,
            "sub": sub,
            "iat": now,
            "exp": now + 300,
            "scope": "orders",
            **claims,
        }
        body = {name: value for name, value in body.items() if value is not None}
        own = {name: value for name, value in {"kid": "k1", **(headers or {})}.items() if value is not None}
        return jwt.encode(body, self.key if key is None else key, algorithm=algorithm, headers=own)


def without_discovery(app: Any) -> Any:
    """The same server as one of 2025, which keeps sessions: it does not know `server/discover`."""

    async def older(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http" or scope["method"] != "POST":
            await app(scope, receive, send)
            return
        message = await receive()
        if b'"server/discover"' in message["body"]:
            error = {"jsonrpc": "2.0", "id": json.loads(message["body"])["id"]}
            await JSONResponse({**error, "error": {"code": -32601, "message": "Method not found"}})(
                scope, receive, send
            )
            return
        given = [message]

        async def again() -> Any:
            return given.pop() if given else await receive()

        await app(scope, again, send)

    return older
