"""Answers without measure: too large, packed, endless, or so slow that nothing ever comes."""

from __future__ import annotations

import asyncio
import gzip
import json
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any

import anthropic
import anyio
import httpx2
import pytest

import turnkeeper as tk
from turnkeeper.client import chunks
from turnkeeper.client.api import APIClient
from turnkeeper.core.retries import RetryPolicy
from turnkeeper.errors import APIError

pytestmark = pytest.mark.anyio

EVENT_STREAM = {"content-type": "text/event-stream"}
PING = b'event: ping\ndata: {"type":"ping"}\n\n'


def event(kind: str, **data: Any) -> bytes:
    return f"data: {json.dumps({'type': kind} | data, ensure_ascii=False)}\n\n".encode()


BEGUN = event("message_start", message={"content": []}) + event(
    "content_block_start", index=0, content_block={"type": "text", "text": ""}
)
DELTA = event("content_block_delta", index=0, delta={"type": "text_delta", "text": "ещё "})


class Endless(httpx2.AsyncByteStream):
    """A piece again and again, with other tasks let in between."""

    def __init__(self, first: bytes, piece: bytes) -> None:
        self.first, self.piece, self.given, self.closed = first, piece, 0, False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield self.first
        while True:
            await asyncio.sleep(0)
            self.given += len(self.piece)
            yield self.piece

    async def aclose(self) -> None:
        self.closed = True


async def failed(answer: httpx2.Response, *, stream: bool, patience: float | None = None) -> APIError:
    """How a turn ends whose only try gets that answer."""
    http = httpx2.AsyncClient(transport=httpx2.MockTransport(lambda request: answer))
    async with anthropic.AsyncAnthropic(api_key="none", base_url="http://x.test", http_client=http) as sdk:
        agent = tk.Agent(client=sdk, stream=stream, timeout=patience, retry=RetryPolicy(retries=0))
        with pytest.raises(APIError) as raised:
            await agent.run("привет")
    return raised.value


@pytest.mark.parametrize("stream", [True, False])
async def test_an_answer_is_counted_as_it_is_unpacked(stream: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Thirty megabytes come as thirty kilobytes: what counts is what they become here."""
    monkeypatch.setattr(chunks, "LARGEST_REPLY", 100_000)
    bomb = gzip.compress(b'{"content":"' + b"x" * 30_000_000)
    assert len(bomb) < 40_000
    answer = httpx2.Response(200, content=bomb, headers={"content-encoding": "gzip"})
    error = await failed(answer, stream=stream)
    assert (error.kind, error.retryable) == ("malformed_reply", True)
    assert str(error) == "the answer is not a message: it is larger than 100000 bytes"


@pytest.mark.parametrize("piece", [DELTA, PING, b"\n\n", b" ", b": comment\n\n"])
async def test_a_stream_without_end_is_given_up_at_its_bytes(piece: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunks, "LARGEST_REPLY", 20_000)
    first = BEGUN if piece == DELTA else b""
    body = Endless(first, piece)
    error = await failed(httpx2.Response(200, stream=body, headers=EVENT_STREAM), stream=True)
    assert error.kind == "malformed_reply"
    assert 20_000 < body.given + len(first) <= 20_000 + len(piece)
    assert body.closed


@pytest.mark.parametrize("piece", [PING, b"x", b"\n\n", b": still here\n\n"])
async def test_a_stream_that_only_keeps_the_connection_is_given_up(piece: bytes) -> None:
    """Each piece comes in time for the transport, and none of them moves the reply on."""
    body = Endless(BEGUN, piece)
    error = await failed(httpx2.Response(200, stream=body, headers=EVENT_STREAM), stream=True, patience=0.05)
    assert (error.kind, error.retryable) == ("stream_cut", True)
    assert body.closed
    if piece != PING:  # which begins a reply
        body = Endless(b"", piece)
        error = await failed(httpx2.Response(200, stream=body, headers=EVENT_STREAM), stream=True, patience=0.05)
        assert (error.kind, str(error)) == ("timeout_error", "the answer brought nothing for too long")


@pytest.mark.parametrize("stream", [True, False])
async def test_a_reply_that_goes_on_and_on_has_an_end(stream: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunks, "LONGEST_REPLY", 0.05)
    body = Endless(BEGUN if stream else b'{"content":"', DELTA if stream else b"x")
    error = await failed(httpx2.Response(200, stream=body, headers=EVENT_STREAM if stream else {}), stream=stream)
    assert (error.kind, error.retryable) == ("stream_cut" if stream else "timeout_error", True)
    assert body.closed


@pytest.mark.parametrize(
    ("timeout", "seconds"),
    [(httpx2.Timeout(7.0, connect=1.0), 7.0), (5, 5), (2.5, 2.5), (None, None), (anthropic.NOT_GIVEN, 600.0)],
)
def test_the_patience_is_that_of_the_client(timeout: Any, seconds: float | None) -> None:
    assert chunks.patience_of(timeout) == seconds


async def test_an_answer_that_refuses_is_read_as_far_as_it_says_why() -> None:
    """The SDK reads it whole, and this one never ends."""
    sent = 0
    gone = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 99999999999\r\n\r\n")
        try:
            while True:
                writer.write(b"x" * 10_000)
                await writer.drain()
                sent += 10_000
        except ConnectionError:
            gone.set()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        client = APIClient.connect(api_key="none", base_url=f"http://127.0.0.1:{port}")
        with pytest.raises(APIError) as raised:
            await client.send(b"{}")
        assert (raised.value.status, str(raised.value)) == (400, "the endpoint answered 400 without an error message")
        await client.aclose()
        await asyncio.wait_for(gone.wait(), 10)


async def test_pings_hold_a_connection_longer_than_silence_and_not_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    """A model may think for longer than a read may take, with nothing shown of it but pings."""
    now = 1000.0
    monkeypatch.setattr(anyio, "current_time", lambda: now)

    async def pieces() -> AsyncGenerator[bytes, None]:
        while True:
            yield b"x"

    reading = chunks.Chunks(pieces(), patience=600.0)
    for _ in range(2):
        now += 599
        await anext(reading)
        reading.alive(moved=False)
    now += 599  # 1,797 seconds of pings
    await anext(reading)
    reading.alive(moved=True)
    now += 599
    await anext(reading)
    now += 2
    with pytest.raises(APIError, match="the answer brought nothing for too long"):
        await anext(reading)
    await reading.aclose()
