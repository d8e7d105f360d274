"""One try of one request: bytes out, a whole reply back, or an APIError with what had arrived."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextlib import aclosing, suppress
from dataclasses import replace
from typing import Any

import anyio

from turnkeeper.client.api import APIClient, RawStream
from turnkeeper.client.chunks import Chunks
from turnkeeper.client.failures import failure_in_stream
from turnkeeper.errors import APIError
from turnkeeper.telemetry.port import RequestWatch
from turnkeeper.updates import TextDelta, ThinkingDelta, Update
from turnkeeper.wire.frames import FrameDecoder
from turnkeeper.wire.json import MOST_NESTED, decode, fold_surrogates
from turnkeeper.wire.received import MalformedReplyError
from turnkeeper.wire.reply import WireReply, read_reply
from turnkeeper.wire.sse import Decoder, ServerEvent
from turnkeeper.wire.stream import Assembly

__all__ = ("NO_HEADERS", "BrokenReplyError", "ask")

Emit = Callable[[Update], Awaitable[None]]

NO_HEADERS: Mapping[str, str] = {}
_REST_SECONDS, _REST_BYTES = 0.25, 64 * 2**10
"""How long and how much is read after `message_stop` to keep the connection, before it is closed instead."""
_BLANK = b"\xef\xbb\xbf \t\r\n"
"""What may stand before a body: a byte order mark, white space."""


class BrokenReplyError(Exception):
    """A try that came to nothing: the failure, and the part of the reply that had arrived (None: no part)."""

    def __init__(self, error: APIError, partial: WireReply | None = None) -> None:
        super().__init__(str(error))
        self.error = error
        self.partial = partial


async def ask(
    client: APIClient,
    body: bytes,
    *,
    stream: bool,
    lenient: bool,
    emit: Emit | None,
    watch: RequestWatch,
    clock: Callable[[], float],
    headers: Mapping[str, str] = NO_HEADERS,
) -> WireReply:
    """Send the request and read the reply, which knows when its first part came. Raises BrokenReplyError.

    `lenient` takes a stream that ended cleanly after its stop reason though without `message_stop`: some endpoints
    never send one, and asking again would not change that.
    """
    request_id: str | None = None
    try:
        if stream:
            first = _First(watch, clock)
            reply = await _streamed(client, body, lenient=lenient, emit=emit, watch=first, headers=headers)
            return replace(reply, first_at=first.at)
        answer = await client.send(body, headers={**watch.headers, **headers})
        request_id = answer.request_id
        return read_reply(answer.body, request_id=request_id)
    except APIError as error:
        raise BrokenReplyError(error) from error
    except MalformedReplyError as error:
        raise BrokenReplyError(_malformed(error, request_id)) from error


def _malformed(error: MalformedReplyError, request_id: str | None) -> APIError:
    text = f"the answer is not a message: {error}"
    return APIError(text, kind="malformed_reply", status=200, retryable=True, request_id=request_id)


def _cut(text: str, request_id: str | None, *, status: int | None = None) -> APIError:
    return APIError(text, kind="stream_cut", status=status, retryable=True, request_id=request_id)


class _First:
    """A watch that notes when the first part came."""

    def __init__(self, watch: RequestWatch, clock: Callable[[], float]) -> None:
        self.at: float | None = None
        self._watch = watch
        self._clock = clock

    @property
    def headers(self) -> Mapping[str, str]:
        return self._watch.headers

    def chunk(self) -> None:
        if self.at is None:
            self.at = self._clock()
        self._watch.chunk()


async def _streamed(
    client: APIClient,
    body: bytes,
    *,
    lenient: bool,
    emit: Emit | None,
    watch: RequestWatch,
    headers: Mapping[str, str],
) -> WireReply:
    message = Assembly()
    async with client.stream(body, headers={**watch.headers, **headers}) as answer:
        request_id = answer.request_id
        try:
            async with aclosing(answer.chunks):
                whole = await _read(answer, message, emit, watch)
            if whole is not None:
                return read_reply(whole, request_id=request_id)
            if message.complete or (lenient and message.stop_reason is not None):
                return message.reply(request_id=request_id)
            failure = _cut("the stream ended before the reply was complete", request_id, status=200)
            raise failure
        except MalformedReplyError as error:
            raise BrokenReplyError(_malformed(error, request_id), _partial(message, request_id)) from error
        except APIError as error:
            failure = error
            if message.begun and error.kind in ("connection_error", "timeout_error"):
                # A connection that breaks once the reply has begun is a cut stream, whatever broke it.
                failure = _cut("the connection broke in the middle of the reply", request_id)
            raise BrokenReplyError(failure, _partial(message, request_id)) from error


def _partial(message: Assembly, request_id: str | None) -> WireReply | None:
    """What had arrived of a reply that broke; where that can't be read, its counts are still to be paid."""
    if not message.begun:
        return None
    try:
        return message.reply(request_id=request_id)
    except MalformedReplyError:
        return WireReply(blocks=(), stop_reason=message.stop_reason, usage=dict(message.usage), request_id=request_id)


async def _read(answer: RawStream, message: Assembly, emit: Emit | None, watch: RequestWatch) -> bytes | None:
    """Take the events up to `message_stop`. An endpoint that answers JSON instead of a stream: its whole body."""
    decoder: Decoder | FrameDecoder | None = FrameDecoder() if answer.framed else None
    teller = _Teller(emit) if emit is not None else None
    body = bytearray()
    async for chunk in answer.chunks:
        piece = chunk
        if decoder is None:
            body += chunk
            if body[:1] != b"{":
                body = body.lstrip(_BLANK)
            if not body or body[:1] == b"{":
                continue
            decoder, piece = Decoder(), bytes(body)
        for event in decoder.feed(piece):
            data = _data(event, answer)
            if data is None:
                continue
            message.take(data)
            answer.chunks.alive(moved=data.get("type") != "ping")
            if data.get("type") == "content_block_delta":
                watch.chunk()
            if teller is not None:
                await teller.tell(data)
            if message.complete:
                await _drain(answer.chunks)
                return None
    return bytes(body) if decoder is None and body else None


async def _drain(chunks: Chunks) -> None:
    """Read the end of a body whose reply is whole: only then can its connection take the next request."""
    left = _REST_BYTES
    with anyio.move_on_after(_REST_SECONDS, shield=True), suppress(APIError):
        async for chunk in chunks:
            left -= len(chunk)
            if left < 0:
                return


def _data(event: ServerEvent, answer: RawStream) -> dict[str, Any] | None:
    if event.data.strip() == "[DONE]":
        return None
    try:
        data = decode(event.data, most_nested=MOST_NESTED)
    except ValueError as error:
        raise MalformedReplyError(f"the stream holds an event that is not JSON ({error})") from error
    if event.name == "error" or (isinstance(data, dict) and data.get("type") == "error"):
        raise failure_in_stream(data, answer.request_id, answer.hide)
    return data if isinstance(data, dict) else None


_DELTAS: dict[str, tuple[str, type[TextDelta | ThinkingDelta]]] = {
    "text_delta": ("text", TextDelta),
    "thinking_delta": ("thinking", ThinkingDelta),
}


class _Teller:
    """Passes text on as it arrives. Half a character (a surrogate) waits for its other half in the next delta."""

    def __init__(self, emit: Emit) -> None:
        self._emit = emit
        self._half = ""
        self._block: tuple[str, str] = ("", "")

    async def tell(self, event: dict[str, Any]) -> None:
        """Pass on what this event, which the reply has taken, adds to the text."""
        delta = event.get("delta")
        kind = str(delta.get("type")) if isinstance(delta, dict) else ""
        block = (kind, str(event.get("index")))
        if self._half and block != self._block and event.get("type") != "ping":
            await self._pass_on(self._block[0], self._half)
            self._half = ""
        if event.get("type") != "content_block_delta" or kind not in _DELTAS:
            return
        assert isinstance(delta, dict)
        text = self._half + str(delta.get(_DELTAS[kind][0]) or "")
        whole = len(text) - ("\ud800" <= text[-1:] <= "\udbff")
        self._half, self._block = text[whole:], block
        await self._pass_on(kind, text[:whole])

    async def _pass_on(self, kind: str, text: str) -> None:
        if text:
            _, update = _DELTAS[kind]
            await self._emit(update(text=fold_surrogates(text)))
