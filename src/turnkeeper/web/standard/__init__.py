"""Standard streams: AG-UI 1.0 and the AI SDK's UI message stream, for front ends that others have written.

`app(agent, more=standard_streams)` adds them to the web door. Both are encoders over the journal's events and the text
that streams in: nothing is kept for them, and whoever comes back is told a turn again under the same ids.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from turnkeeper.web.door import Door
from turnkeeper.web.standard.agui_endpoint import run_agent
from turnkeeper.web.standard.aisdk_endpoint import chat, chat_messages, chat_stream, stop_chat
from turnkeeper.web.standard.asking import Asker, SeesCalls, asker_of, staff_only

__all__ = ("standard_streams",)

Handler = Callable[[Request, Asker], Awaitable[Response]]


def standard_streams(door: Door, *, sees_calls: SeesCalls = staff_only) -> list[Route]:
    """The routes: `api/agui` and `api/chat` for customers, `api/console/agui` and `api/console/chat` for staff.

    `sees_calls` says who is shown the names, arguments and results of calls; without it staff are, customers are not.
    """

    def route(path: str, handler: Handler, method: str, *, staff: bool) -> Route:
        async def answered(request: Request) -> Response:
            return await handler(request, await asker_of(request, door, staff=staff, sees_calls=sees_calls))

        return Route(f"/api/{'console/' if staff else ''}{path}", answered, methods=[method])

    return [
        made
        for staff in (False, True)
        for made in (
            route("agui", run_agent, "POST", staff=staff),
            route("chat", chat, "POST", staff=staff),
            route("chat/{conversation}/stream", chat_stream, "GET", staff=staff),
            route("chat/{conversation}/stop", stop_chat, "POST", staff=staff),
            route("chat/{conversation}/messages", chat_messages, "GET", staff=staff),
        )
    ]
