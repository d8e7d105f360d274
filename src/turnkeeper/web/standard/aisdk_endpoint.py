"""The endpoints that `useChat` of the AI SDK talks to: send, come back to a stream, stop, and the messages so far."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing

from sse_starlette import ServerSentEvent
from starlette.requests import Request
from starlette.responses import Response

from turnkeeper.errors import UnknownConversationError
from turnkeeper.web.answers import JSONAnswer, RefusedError, read_body
from turnkeeper.web.standard.aisdk import HEADERS, Chunk, UIStream, answer_id, ui_messages
from turnkeeper.web.standard.asking import Asker, Believed, Looked, SentMessage, newest
from turnkeeper.web.standard.following import Target, follow
from turnkeeper.web.streams import held_slot, stream_of
from turnkeeper.wire.json import encode

__all__ = ("chat", "chat_messages", "chat_stream", "stop_chat")


class ChatInput(Believed):
    """What is believed of a request of `useChat`."""

    id: str
    messages: list[SentMessage]
    trigger: str | None = None


async def chat(request: Request, asker: Asker) -> Response:
    """Take the newest message in and stream its answer.

    A client that sends its own answer's beginning along (after an approval) is told only what came since.
    """
    asked = await read_body(request, ChatInput)
    if asked.trigger == "regenerate-message":
        raise RefusedError(422, "append_only", "a conversation only grows: nothing in it is made anew")
    looked = await asker.look(asked.id)
    target, before = await asker.ask(looked, asked.messages)
    message = newest(asked.messages)
    name = message.id if message is not None else before[-1].id
    if target.turn == looked.about.history.turn and asked.messages and asked.messages[-1].role == "assistant":
        target = Target(turn=target.turn, key=None, after=max(target.after, looked.about.parked))
    return _streamed(request, asker, looked, target, answer_id(name))


async def chat_stream(request: Request, asker: Asker) -> Response:
    """The answer that is under way, from its beginning; 204 where none is.

    With `?again=1` the last answer is told also when it is over, for a client that missed its end.
    """
    try:
        looked = await asker.look(str(request.path_params["conversation"]))
    except UnknownConversationError:  # a chat that isn't there yet has none either, and looks the same
        return Response(status_code=204)
    about = looked.about
    queued = await asker.service.journal.queued(looked.conversation, limit=1)
    if about.live or (request.query_params.get("again") == "1" and about.history.turn and not queued):
        turn = about.history.turn
        target = Target(turn=turn, key=None, after=turn)
        return _streamed(request, asker, looked, target, answer_id(about.history.asked))
    if not queued or about.fold.waiting:
        return Response(status_code=204)
    target = Target(turn=None, key=queued[0].key, after=about.last)
    return _streamed(request, asker, looked, target, answer_id(queued[0].key))


async def chat_messages(request: Request, asker: Asker) -> Response:
    """The messages so far, for a page that is opened anew."""
    looked = await _existing(request, asker)
    return JSONAnswer({"id": looked.conversation, "messages": ui_messages(looked.about.history.messages)})


async def stop_chat(request: Request, asker: Asker) -> Response:
    """End the turn that runs: a client that only goes away stops nothing."""
    looked = await _existing(request, asker)
    stopped = await asker.service.stop(looked.conversation, principal=None if asker.staff else asker.who)
    return JSONAnswer({"stopped": stopped}, 202)


async def _existing(request: Request, asker: Asker) -> Looked:
    looked = await asker.look(str(request.path_params["conversation"]))
    if looked.owner is None:
        raise UnknownConversationError(f"no conversation {looked.conversation!r} in this journal")
    return looked


def _streamed(request: Request, asker: Asker, looked: Looked, target: Target, message: str) -> Response:
    stream = UIStream(calls=asker.calls)

    async def chunks() -> AsyncGenerator[Chunk]:
        yield stream.started(message)
        async with aclosing(follow(asker.service, looked.conversation, target, stream, calls=asker.calls)) as parts:
            async for part in parts:
                yield part

    async def lines() -> AsyncGenerator[ServerSentEvent]:
        try:
            with held_slot(request, asker.door, asker.session):
                async with aclosing(chunks()) as given:
                    async for chunk in given:
                        asker.service.metrics.count("events")
                        yield ServerSentEvent(data=encode(chunk), sep="\n")
        except RefusedError as error:
            yield ServerSentEvent(data=encode({"type": "error", "errorText": str(error)}), sep="\n")
        yield ServerSentEvent(data="[DONE]", sep="\n")

    own = None if asker.staff else looked.conversation
    response = stream_of(request, asker.door, asker.session, lines(), conversation=own)
    response.headers.update(HEADERS)
    return response
