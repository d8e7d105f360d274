"""Streams that are open already: whether whoever reads would still be let in, and an end to those who would not be."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import anyio
from sse_starlette import EventSourceResponse
from starlette.requests import Request
from starlette.types import Message, Receive, Scope, Send

from turnkeeper.core.identity import is_proven
from turnkeeper.driver.standing import Standing
from turnkeeper.errors import UnconfirmedError, UnknownConversationError
from turnkeeper.types import Principal
from turnkeeper.web.door import Door
from turnkeeper.web.sessions import Session

__all__ = ("LONGEST_SECONDS", "LOOK_SECONDS", "Entitled", "WatchedResponse")

LOOK_SECONDS = 5.0
"""How often an open stream is asked whether it may stay open."""
LONGEST_SECONDS = 3_600.0
"""After that a stream ends, and the browser comes back with its session to be looked at anew."""


class Entitled:
    """Whether the reader of a stream would still be let in: by the session, and to the conversation if it is one's own.

    A conversation that was held with proof of who somebody is stays open to them only while they have it. Without
    `conversation` (staff, who may look at every one) the session alone counts.
    """

    def __init__(self, request: Request, door: Door, session: Session, conversation: str | None = None) -> None:
        self._request, self._door, self._session = request, door, session
        self._conversation = conversation
        self._until = door.clock() + LONGEST_SECONDS
        self._seen: tuple[Principal | None, int] | None = None
        self._service = door.running
        agent = self._service.keeper.agent
        self._standing = Standing(
            session.principal, conversation_id=conversation or "", identity=agent.identity, clock=agent.now
        )
        self._may_lapse = conversation is not None and agent.identity is not None

    def is_live(self) -> bool:
        """Whether the session still lets one in, and the stream isn't older than any may be."""
        return self._door.clock() <= self._until and self._door.is_still(self._request, self._session)

    async def holds(self) -> bool:
        """All of it."""
        return self.is_live() and (not self._may_lapse or await self._is_admitted())

    async def _is_admitted(self) -> bool:
        """Asked of the journal only where the answer can have changed: who one is, or what was held with proof."""
        service, name = self._service, self._conversation
        assert name is not None
        channel = service.switchboard.find(name)
        who, news = await self._standing.now(), channel.events if channel is not None else 0
        if self._door.prover is not None and is_proven(who) and not self._session.proven:
            return False  # a cookie from before the proof, in this process or another
        if self._seen is not None and (who == self._seen[0] and (is_proven(who) or news == self._seen[1])):
            return True
        try:
            await service.admit(name, self._session.principal)
        except (UnconfirmedError, UnknownConversationError):
            return False
        self._seen = (who, news)
        return True


class WatchedResponse(EventSourceResponse):
    """Server-sent events that end when `holds` says no. Set it before the answer is sent."""

    holds: Callable[[], Awaitable[bool]]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: D102 - ASGI
        ended = whole = False

        async def watched() -> Message:
            """What comes from the reader, a disconnect once the stream may not stay open."""
            nonlocal ended
            message: Message = {"type": "http.disconnect"}
            async with anyio.create_task_group() as group:

                async def watch() -> None:
                    nonlocal ended
                    while await self.holds():  # noqa: ASYNC110 - proof runs out with time, which tells nobody
                        await anyio.sleep(LOOK_SECONDS)
                    ended = True
                    group.cancel_scope.cancel()

                group.start_soon(watch)
                message = await receive()
                group.cancel_scope.cancel()
            return message

        async def noted(message: Message) -> None:
            nonlocal whole
            await send(message)
            whole = message["type"] == "http.response.body" and not message.get("more_body", False)

        await super().__call__(scope, watched, noted)
        if ended and not whole:
            with anyio.move_on_after(self.send_timeout):
                await send({"type": "http.response.body", "body": b"", "more_body": False})
