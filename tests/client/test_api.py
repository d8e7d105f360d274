"""Requests over each of the SDK's clients: which are taken, what they send, what their exceptions become."""

from __future__ import annotations

import asyncio
import gc
import json
from collections.abc import Callable
from typing import Any

import anthropic
import httpx2
import pytest

from turnkeeper.client.api import APIClient
from turnkeeper.errors import APIError, ConfigurationError

pytestmark = pytest.mark.anyio

BODY = b'{"model":"claude-x","max_tokens":1,"note":"\xd0\xb6","number":1.50}'
GOOGLE: dict[str, Any] = {"access_token": "t", "project_id": "p", "region": "r"}
AMAZON: dict[str, Any] = {"api_key": "k", "aws_region": "us-east-1"}
PLATFORMS: dict[str, dict[str, Any]] = {
    "Anthropic": {"api_key": "k"},
    "AnthropicBedrock": AMAZON,
    "AnthropicBedrockMantle": AMAZON,
    "AnthropicVertex": GOOGLE,
    "AnthropicFoundry": {"api_key": "k", "resource": "res"},
    "AnthropicAWS": {**AMAZON, "workspace_id": "w"},
    "AnthropicGoogleCloud": {"skip_auth": True, "base_url": "http://cloud.test"},
}


def client(kind: str, handle: Callable[[httpx2.Request], Any], *, subclass: bool = False) -> Any:
    made: Any = getattr(anthropic, f"Async{kind}")
    if subclass:
        made = type(f"My{kind}", (made,), {})
    return made(**PLATFORMS[kind], http_client=httpx2.AsyncClient(transport=httpx2.MockTransport(handle)))


@pytest.mark.parametrize("subclass", [False, True])
@pytest.mark.parametrize("kind", PLATFORMS)
async def test_every_asynchronous_client_of_the_sdk_is_taken_and_so_are_its_subclasses(
    kind: str, subclass: bool
) -> None:
    asked: list[httpx2.Request] = []

    def handle(request: httpx2.Request) -> httpx2.Response:
        asked.append(request)
        return httpx2.Response(200, content=b'{"content":[]}', headers={"request-id": "req_1"})

    answer = await APIClient(client(kind, handle, subclass=subclass)).send(BODY)
    assert (answer.body, answer.request_id) == (b'{"content":[]}', "req_1")
    (request,) = asked
    if kind in ("AnthropicBedrock", "AnthropicVertex"):
        assert "claude-x" in request.url.path
        assert json.loads(request.content)["note"] == "ж"
    else:
        assert request.url.path.endswith("/v1/messages")
        assert request.content == BODY


@pytest.mark.parametrize("kind", PLATFORMS)
@pytest.mark.parametrize("subclass", [False, True])
def test_a_synchronous_client_is_refused(kind: str, subclass: bool) -> None:
    made: Any = getattr(anthropic, kind)
    if subclass:
        made = type(f"My{kind}", (made,), {})
    with made(**PLATFORMS[kind]) as sdk, pytest.raises(ConfigurationError, match="asynchronous client"):
        APIClient(sdk)


def test_what_is_no_client_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="not str"):
        APIClient("https://api.anthropic.com")


def failing(error: Exception) -> APIClient:
    class Failing(anthropic.AsyncAnthropic):
        async def post(self, *args: Any, **options: Any) -> Any:
            raise error

    return APIClient(Failing(api_key="k"))


async def tried(client: APIClient, *, stream: bool) -> bytes:
    if not stream:
        return (await client.send(BODY)).body
    async with client.stream(BODY) as answer:
        return b"".join([chunk async for chunk in answer.chunks])


@pytest.mark.parametrize("stream", [False, True])
async def test_an_exception_that_is_not_about_the_api_is_raised_as_it_is(stream: bool) -> None:
    boom = RuntimeError("boom")
    with pytest.raises(RuntimeError) as raised:
        await tried(failing(boom), stream=stream)
    assert raised.value is boom
    assert raised.value.__cause__ is None


@pytest.mark.parametrize("stream", [False, True])
async def test_a_time_out_inside_the_client_is_a_failure_of_the_api(stream: bool) -> None:
    slow = TimeoutError("the token service timed out")
    with pytest.raises(APIError) as raised:
        await tried(failing(slow), stream=stream)
    assert (raised.value.kind, raised.value.retryable) == ("timeout_error", True)
    assert raised.value.__notes__ == ["from TimeoutError: the token service timed out"]


class Broken(httpx2.AsyncByteStream):
    """A body that ends in an exception."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    async def __aiter__(self) -> Any:
        yield b"data: {}\n\n"
        raise self._error


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (httpx2.ReadError("reset"), "connection_error"),
        (httpx2.RemoteProtocolError("cut"), "connection_error"),
        (httpx2.DecodingError("no gzip"), "connection_error"),
        (httpx2.ReadTimeout("slow"), "timeout_error"),
        (TimeoutError("slow"), "timeout_error"),
    ],
)
async def test_a_body_that_breaks_is_a_failure_of_the_api(error: Exception, kind: str) -> None:
    sdk = client("Anthropic", lambda request: httpx2.Response(200, stream=Broken(error)))
    with pytest.raises(APIError) as raised:
        await tried(APIClient(sdk), stream=True)
    assert (raised.value.kind, raised.value.retryable) == (kind, True)
    assert raised.value.__notes__ == [f"from {type(error).__name__}: {error}"]


@pytest.mark.parametrize(
    ("content_type", "framed"),
    [("application/vnd.amazon.eventstream", True), ("text/event-stream; charset=utf-8", False)],
)
async def test_a_stream_says_whether_it_is_amazons(content_type: str, framed: bool) -> None:
    def handle(request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, headers={"content-type": content_type}, content=b"x")

    async with APIClient(client("Anthropic", handle)).stream(BODY) as answer:
        assert answer.framed is framed


async def test_a_client_of_its_own_that_is_dropped_closes_its_connections(monkeypatch: pytest.MonkeyPatch) -> None:
    closed = asyncio.Event()

    async def close(sdk: anthropic.AsyncAnthropic) -> None:
        closed.set()

    monkeypatch.setattr(anthropic.AsyncAnthropic, "close", close)
    dropped = APIClient.connect(api_key="k")
    assert not closed.is_set()
    del dropped
    gc.collect()
    await asyncio.wait_for(closed.wait(), 30)


def test_a_client_may_outlive_its_event_loop() -> None:
    async def connect() -> APIClient:
        return APIClient.connect(api_key="k")

    left = asyncio.run(connect())
    del left
    gc.collect()
