"""Streamable HTTP: both ends over a real connection; tokens for this resource and no other; no pages of strangers."""

from __future__ import annotations

import base64
import hmac
import json
import logging
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx2
import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from mcp import MCPError

import turnkeeper as tk
from tests.mcp.conftest import called
from tests.mcp.serving import ISSUER, RESOURCE, SHARED, Issuer, client_of, listening, without_discovery
from turnkeeper.mcp import Authorization, http_app
from turnkeeper.mcp.tokens import TokenVerifier

pytestmark = pytest.mark.anyio

MODES = pytest.mark.parametrize("mode", ["auto", "legacy"])
seen: list[Any] = []


@tk.tool(effect="read", requires="signed_in")
def mine(ctx: tk.ToolContext) -> str:
    """What is yours."""
    seen.append(ctx)
    assert ctx.principal is not None
    return f"{ctx.principal.kind} {ctx.principal.id} {ctx.principal.level}"


@tk.tool(effect="read")
def hello() -> str:
    """Say hello."""
    return "привет 👋"


@pytest.fixture(scope="module")
def issuer(tmp_path_factory: pytest.TempPathFactory) -> Issuer:
    return Issuer(tmp_path_factory.mktemp("issuer"))


@pytest.fixture
def authorization(issuer: Issuer) -> Authorization:
    return Authorization(
        issuer=ISSUER, resource=RESOURCE, keys=str(issuer.file), scopes=("orders",), staff_scope="desk:staff"
    )


@pytest.fixture
async def door(authorization: Authorization) -> AsyncIterator[str]:
    """The URL of a door that asks for tokens."""
    async with http_app([mine, hello], authorization=authorization) as app, listening(app) as url:
        yield f"{url}/mcp"


def text_of(result: Any) -> str:
    return str(result.content[0].text)


@MODES
async def test_the_token_says_who_is_served(door: str, issuer: Issuer, mode: str) -> None:
    async with client_of(door, token=issuer.token(), mode=mode) as client:
        assert text_of(await client.call_tool("mine", {})) == "customer клиент-1 signed_in"
    async with client_of(door, token=issuer.token("ana", scope="orders desk:staff"), mode=mode) as client:
        assert text_of(await client.call_tool("mine", {})) == "staff ana signed_in"


async def post(door: str, token: str | None = None, body: Any = None, **headers: str) -> httpx2.Response:
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
    own = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json", **headers}
    if token is not None:
        own["Authorization"] = f"Bearer {token}"
    async with httpx2.AsyncClient() as client:
        return await client.post(door, content=json.dumps(message) if body is None else body, headers=own)


def forged(issuer: Issuer) -> str:
    """Signed with the public key as if it were a shared secret, by hand: the library refuses to."""
    parts = [{"alg": "HS256", "kid": "k1"}, jwt.decode(issuer.token(), options={"verify_signature": False})]
    said = b".".join(base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=") for part in parts)
    secret = issuer.key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    signature = base64.urlsafe_b64encode(hmac.digest(secret, said, "sha256")).rstrip(b"=")
    return (said + b"." + signature).decode()


def bad_tokens(issuer: Issuer) -> dict[str, str]:
    """Attacks 5 and 16: tokens that are not good here."""
    now = 1_000_000_000
    good = issuer.token()
    head, payload, _ = good.split(".")
    return {
        "another audience": issuer.token(aud="https://other.example/mcp"),
        "no audience": issuer.token(aud=None),
        "a longer audience": issuer.token(aud=f"{RESOURCE}/more"),
        "another issuer": issuer.token(iss="https://evil.example"),
        "no issuer": issuer.token(iss=None),
        "expired": issuer.token(iat=now, exp=now + 300),
        "no end": issuer.token(exp=None),
        "not yet": issuer.token(nbf=99_999_999_999),
        "from the future": issuer.token(iat=99_999_999_999),
        "nobody": issuer.token(None),
        "blank subject": issuer.token(""),
        "a number for a subject": issuer.token(7),  # type: ignore[arg-type]
        "another's key": issuer.token(key=issuer.stranger),
        "an unknown key id": issuer.token(headers={"kid": "k2"}),
        "no key id": issuer.token(headers={"kid": None}),
        "no signature": issuer.token(key="", algorithm="none"),
        "signature cut off": f"{head}.{payload}.",
        "public key as a secret": forged(issuer),
        "a shared secret": issuer.token(key=SHARED, algorithm="HS256", headers={"kid": "shared"}),
        "critical extension": issuer.token(headers={"crit": ["x"], "x": 1}),
        "garbage": "abc.def.ghi",
        "huge": "a" * 20_000,
    }


async def test_tokens_for_others_by_others_or_out_of_time_are_refused(
    door: str, issuer: Issuer, caplog: pytest.LogCaptureFixture
) -> None:
    """Attack 16: a token for another audience, without a scope, passed through; attack 5: alg=none, key confusion."""
    seen.clear()
    for what, token in bad_tokens(issuer).items():
        answer = await post(door, token)
        assert (answer.status_code, what) == (401, what)
        assert answer.json()["error"] == "invalid_token"
        challenge = answer.headers["www-authenticate"]
        assert challenge.startswith("Bearer")
        assert 'resource_metadata="https://mcp.example/.well-known/oauth-protected-resource/mcp"' in challenge
        assert not token or token[:40] not in caplog.text
    for answer in (await post(door), await post(f"{door}?access_token={issuer.token()}")):
        assert answer.status_code == 401  # no token, and none in the address
    missing = await post(door, issuer.token(scope="other"))
    assert (missing.status_code, missing.json()["error"]) == (403, "insufficient_scope")
    assert seen == []


async def session_of(door: str, token: str) -> dict[str, str]:
    """The headers of a session that was begun with a token."""
    about = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    start = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": about}
    first = await post(door, token, json.dumps(start))
    return {"Mcp-Session-Id": first.headers["mcp-session-id"], "MCP-Protocol-Version": "2025-11-25"}


async def test_each_request_s_own_token_counts(door: str, issuer: Issuer) -> None:
    """Attack 13: rights that were lost since the session began."""
    ask = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "mine", "arguments": {}}}
    own = await session_of(door, issuer.token("ana", scope="orders desk:staff"))
    for scope, kind in (("orders desk:staff", "staff"), ("orders", "customer"), ("orders desk:staff", "staff")):
        answer = await post(door, issuer.token("ana", scope=scope), json.dumps(ask), **own)
        assert f"{kind} ana signed_in" in answer.text
    assert (await post(door, issuer.token("ana", scope="other"), json.dumps(ask), **own)).status_code == 403


async def test_a_session_is_its_first_principal_s(door: str, issuer: Issuer) -> None:
    """Attack 6: another customer's session id, with a good token of one's own."""
    own = await session_of(door, issuer.token("one"))
    assert (await post(door, issuer.token("one"), **own)).status_code == 200
    assert (await post(door, issuer.token("two"), **own)).status_code in (403, 404)


async def test_the_door_says_where_tokens_come_from(door: str) -> None:
    """RFC 9728."""
    base = door.removesuffix("/mcp")
    async with httpx2.AsyncClient() as client:
        answer = await client.get(f"{base}/.well-known/oauth-protected-resource/mcp")
    assert answer.status_code == 200
    found = answer.json()
    assert (found["resource"], found["authorization_servers"]) == (RESOURCE, [f"{ISSUER}/"]) or (
        found["resource"],
        found["authorization_servers"],
    ) == (RESOURCE, [ISSUER])
    assert (found["scopes_supported"], found["bearer_methods_supported"]) == (["orders"], ["header"])


def all_bytes(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.glob("calls.db*"))


async def test_tools_see_a_principal_and_no_token(
    authorization: Authorization, issuer: Issuer, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    @tk.tool(requires="signed_in")
    def buy(ctx: tk.ToolContext) -> str:
        """Buy."""
        seen.append(ctx)
        return "bought"

    seen.clear()
    token = issuer.token()
    journal = tmp_path / "calls.db"
    with caplog.at_level(logging.DEBUG):
        async with (
            http_app([buy], authorization=authorization, journal=f"sqlite:///{journal}") as app,
            listening(app) as url,
            client_of(f"{url}/mcp", token=token) as client,
        ):
            assert text_of(await client.call_tool("buy", {})) == "bought"
    signature = token.rpartition(".")[2]
    assert signature not in repr(seen)
    written = all_bytes(tmp_path)
    assert b"bought" in written
    assert signature.encode() not in written
    assert signature not in "".join(record.getMessage() for record in caplog.records if record.name != "httpx2")


@MODES
async def test_without_authorization_everybody_is_anonymous(mode: str) -> None:
    async with http_app([mine, hello]) as app, listening(app) as url:
        async with client_of(f"{url}/mcp", mode=mode) as client:
            assert [tool.name for tool in (await client.list_tools()).tools] == ["hello"]
            assert text_of(await client.call_tool("hello", {})) == "привет 👋"
            with pytest.raises(MCPError, match="Unknown tool: mine"):
                await client.call_tool("mine", {})
        async with client_of(f"{url}/mcp", token="anything") as client:
            assert [tool.name for tool in (await client.list_tools()).tools] == ["hello"]


async def test_pages_of_strangers_and_huge_requests_are_refused() -> None:
    """Attacks 35 and 40 from the other side: DNS rebinding, cross-site requests, a body without end."""
    async with (
        http_app([hello], hosts=["mcp.local"], origins=["https://app.example"], body_limit=2_000) as app,
        listening(app) as url,
    ):
        door = f"{url}/mcp"
        assert (await post(door, Host="evil.example")).status_code == 421
        assert (await post(door, Host="mcp.local")).status_code != 421
        assert (await post(door, Origin="https://evil.example")).status_code == 403
        assert (await post(door, Origin="null")).status_code == 403
        assert (await post(door, Origin="https://app.example")).status_code not in (403, 421)
        assert (await post(door, body="x" * 2_001)).status_code == 413
        assert (await post(door, body=b"{}", **{"Content-Type": "text/plain"})).status_code in (400, 415)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"issuer": "http://login.example"}, "the issuer is an https:// URL"),
        ({"resource": "http://mcp.example/mcp"}, "the resource is an https:// URL"),
        ({"resource": "https://mcp.example/mcp?x=1"}, "without query and fragment"),
        ({"algorithms": ("RS256", "HS256")}, "algorithms are some of"),
        ({"keys": "/nowhere.json"}, "holds no keys"),
    ],
)
async def test_settings_that_are_not_safe_are_refused(
    authorization: Authorization, change: dict[str, Any], said: str
) -> None:
    import dataclasses

    with pytest.raises(tk.errors.ConfigurationError, match=said):
        async with http_app([hello], authorization=dataclasses.replace(authorization, **change)):
            pass


async def test_keys_by_url_are_asked_for_once_and_again_for_a_new_one(
    issuer: Issuer, monkeypatch: pytest.MonkeyPatch
) -> None:
    from starlette.applications import Starlette
    from starlette.responses import JSONResponse
    from starlette.routing import Route

    asked: list[int] = []
    keys: list[Any] = [{**issuer.public, "kid": "old"}]

    async def jwks(request: Any) -> JSONResponse:
        asked.append(1)
        return JSONResponse({"keys": keys})

    async with listening(Starlette(routes=[Route("/jwks", jwks)])) as url:
        verifier = TokenVerifier(issuer=ISSUER, resource=RESOURCE, keys=f"{url}/jwks")
        assert await verifier.verify_token(issuer.token(headers={"kid": "old"})) is not None
        assert await verifier.verify_token(issuer.token(headers={"kid": "old"})) is not None
        assert len(asked) == 1
        keys.append(issuer.public)
        found = await verifier.verify_token(issuer.token())
        assert found is not None
        assert (found.subject, found.token) == ("клиент-1", "(not kept)")
        assert len(asked) == 2
        for number in range(5):  # ids that are made up don't make the issuer busy
            assert await verifier.verify_token(issuer.token(headers={"kid": f"made-up-{number}"})) is None
        assert len(asked) == 2


async def test_our_client_over_http_with_headers_that_stay_secret(
    authorization: Authorization, issuer: Issuer, caplog: pytest.LogCaptureFixture
) -> None:
    token = issuer.token()
    async with http_app([mine, hello], authorization=authorization) as app, listening(app) as url:
        entry: dict[str, Any] = {"type": "http", "url": f"{url}/mcp", "headers": {"Authorization": f"Bearer {token}"}}
        entry["turnkeeper"] = {"effects": {"mine": "read", "hello": "read"}}
        with caplog.at_level(logging.DEBUG, logger="turnkeeper"):
            async with tk.mcp.connect({"shop": entry}) as tools:
                assert tools.names == ("shop__mine", "shop__hello")
                answers = [result["content"] for result in await called(tools, *((name, {}) for name in tools.names))]
        assert answers[0].startswith("<untrusted-")
        assert "customer клиент-1 signed_in" in answers[0]
        assert token not in caplog.text
        wrong = {**entry, "headers": {"Authorization": f"Bearer {issuer.token(aud='x')}"}}
        with pytest.raises(tk.mcp.MCPServerError) as raised:
            async with tk.mcp.connect({"shop": wrong}):
                pass
        assert str(raised.value).startswith(f"MCP server 'shop' ({url}/mcp) can't be used: ")
        assert "Bearer" not in str(raised.value)


async def test_a_redirect_to_somewhere_else_is_not_followed(issuer: Issuer) -> None:
    """Attack 40: an endpoint that sends requests, and the token in them, to an address of its choice."""
    from starlette.applications import Starlette
    from starlette.responses import RedirectResponse
    from starlette.routing import Route

    heard: list[Any] = []

    async def inside(scope: Any, receive: Any, send: Any) -> None:
        heard.append(scope["headers"])

    async with listening(inside) as target:

        async def away(request: Any) -> RedirectResponse:
            return RedirectResponse(f"{target}/latest/meta-data", status_code=307)

        async with listening(Starlette(routes=[Route("/mcp", away, methods=["POST", "GET"])])) as url:
            entry = {"url": f"{url}/mcp", "headers": {"Authorization": f"Bearer {issuer.token()}"}}
            with pytest.raises(tk.mcp.MCPServerError, match="not followed"):
                async with tk.mcp.connect({"s": entry}):
                    pass
    assert heard == []


async def test_a_server_that_forgot_the_session_gets_the_call_on_a_new_one() -> None:
    """It was started anew on the same port: it answers 404, having done nothing, and the call is made again."""
    ran: list[str] = []

    @tk.tool
    def order(item: str) -> str:
        """Order."""
        ran.append(item)
        return "ordered"

    connecting = tools = None
    port = 0
    for item in ("чай", "кофе"):
        async with http_app([order]) as app, listening(without_discovery(app), port) as url:
            port = int(url.rpartition(":")[2])
            if connecting is None:
                connecting = tk.mcp.connect({"s": {"url": f"{url}/mcp", "turnkeeper": {"trusted": True}}})
                tools = await connecting.__aenter__()
            (result,) = await called(tools, ("s__order", {"item": item}))
            assert result["content"] == "ordered"
    assert connecting is not None
    await connecting.__aexit__(None, None, None)
    assert ran == ["чай", "кофе"]


async def test_a_call_to_an_endpoint_that_went_away_is_answered_at_once() -> None:
    async with http_app([hello]) as app:
        async with listening(app) as url:
            connecting = tk.mcp.connect({"s": {"url": f"{url}/mcp", "turnkeeper": {"trusted": True}}})
            tools = await connecting.__aenter__()
        (result,) = await called(tools, ("s__hello", {}))
        await connecting.__aexit__(None, None, None)
    assert result["is_error"] is True
    assert result["content"] == "The MCP server 's' can't be reached. The call was not sent and had no effect."
