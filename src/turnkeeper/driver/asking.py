"""One try of one request: bytes out, a whole reply back, or an APIError with what had arrived."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from typing import Any, cast

from turnkeeper.client.api import APIClient
from turnkeeper.client.failures import failure_in_stream
from turnkeeper.errors import APIError
from turnkeeper.updates import TextDelta, ThinkingDelta, Update
from turnkeeper.wire.json import decode
from turnkeeper.wire.reply import MalformedReplyError, WireReply, read_reply
from turnkeeper.wire.sse import Decoder
from turnkeeper.wire.stream import assemble

__all__ = ("BrokenReplyError", "ask")

Emit = Callable[[Update], Awaitable[None]]


class BrokenReplyError(Exception):
    """A try that came to nothing: the failure, and the part of the reply that had arrived (None: no part)."""

    def __init__(self, error: APIError, partial: WireReply | None = None) -> None:
        super().__init__(str(error))
        self.error = error
        self.partial = partial


async def ask(client: APIClient, body: bytes, *, stream: bool, lenient: bool, emit: Emit | None) -> WireReply:
    """Send the request and read the reply. Raises BrokenReplyError.

    `lenient` takes a stream that ended cleanly after its stop reason though without `message_stop`: some endpoints
    never send one, and asking again would not change that.
    """
    try:
        if stream:
            return await _streamed(client, body, lenient=lenient, emit=emit)
        answer = await client.send(body)
        return read_reply(answer.body, request_id=answer.request_id)
    except APIError as error:
        raise BrokenReplyError(error) from error
    except MalformedReplyError as error:
        raise BrokenReplyError(_malformed(str(error))) from error


def _malformed(text: str) -> APIError:
    return APIError(f"the answer is not a message: {text}", kind="malformed_reply", status=200, retryable=True)


def _cut(error: APIError, request_id: str | None) -> APIError:
    """A connection that breaks once the reply has begun is a cut stream, whatever broke it."""
    if error.kind not in ("connection_error", "timeout_error"):
        return error
    text = "the connection broke in the middle of the reply"
    return APIError(text, kind="stream_cut", retryable=True, request_id=request_id)


async def _streamed(client: APIClient, body: bytes, *, lenient: bool, emit: Emit | None) -> WireReply:
    events: list[dict[str, Any]] = []
    async with client.stream(body) as (chunks, request_id):
        async with aclosing(cast("Any", chunks)) as reading:
            try:
                whole = await _read(reading, events, request_id, emit)
            except APIError as error:
                partial = assemble(events, request_id=request_id).reply if events else None
                raise BrokenReplyError(_cut(error, request_id) if events else error, partial) from error
        if whole is not None:
            return read_reply(whole, request_id=request_id)
    end = assemble(events, request_id=request_id)
    if end.complete or (lenient and end.reply.stop_reason is not None):
        return end.reply
    text = "the stream ended before the reply was complete"
    raise BrokenReplyError(
        APIError(text, kind="stream_cut", status=200, retryable=True, request_id=request_id),
        end.reply if events else None,
    )


async def _read(
    chunks: AsyncIterator[bytes], events: list[dict[str, Any]], request_id: str | None, emit: Emit | None
) -> bytes | None:
    """Collect the events up to `message_stop`. An endpoint that answers JSON instead of a stream: its whole body."""
    decoder = Decoder()
    body = b""
    plain: bool | None = None
    async for chunk in chunks:
        if plain is None and (start := (body + chunk).lstrip()):
            plain = start.startswith(b"{")
        if plain or plain is None:
            body += chunk
            continue
        for event in decoder.feed(body + chunk):
            data = _data(event.data)
            if data is None:
                continue
            if event.name == "error" or data.get("type") == "error":
                raise failure_in_stream(data, request_id)
            events.append(data)
            if emit is not None and data.get("type") == "content_block_delta":
                await _emit_delta(data.get("delta"), emit)
            if data.get("type") == "message_stop":
                return None
        body = b""
    return body if plain else None


def _data(text: str) -> dict[str, Any] | None:
    if text.strip() == "[DONE]":
        return None
    try:
        data = decode(text)
    except ValueError as error:
        raise APIError(
            f"the stream holds an event that is not JSON ({error})", kind="malformed_reply", status=200, retryable=True
        ) from error
    return data if isinstance(data, dict) else None


async def _emit_delta(delta: Any, emit: Emit) -> None:
    if not isinstance(delta, dict):
        return
    if delta.get("type") == "text_delta" and delta.get("text"):
        await emit(TextDelta(text=str(delta["text"])))
    elif delta.get("type") == "thinking_delta" and delta.get("thinking"):
        await emit(ThinkingDelta(text=str(delta["thinking"])))
