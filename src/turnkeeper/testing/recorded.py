"""The recorded replies of a turn, in the place of the API."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from turnkeeper.core.events import Event, ReplyReceived, RequestFailed
from turnkeeper.wire.json import decode, encode

if TYPE_CHECKING:
    import anthropic
    import httpx2

__all__ = ("RUN_OUT", "RecordedAPI")

RUN_OUT = "it asks for another reply, and no more were recorded"
_REFUSED, _OVERLOADED = 400, 529


class RecordedAPI:
    """Answers each request with the next recorded reply, or fails where the recorded request did.

    `ran_out` says that more replies were asked for than were recorded.
    """

    def __init__(self, events: Sequence[Event]) -> None:
        ends = (ReplyReceived, RequestFailed)
        self._left = [event for event in events if isinstance(event, ends) and event.number > 0]
        self._left.reverse()
        self.ran_out = False

    def client(self) -> anthropic.AsyncAnthropic:
        """An SDK client of these replies."""
        import anthropic  # noqa: PLC0415 - a heavy import, needed here only
        import httpx2  # noqa: PLC0415

        transport = httpx2.MockTransport(self._answer)
        http = httpx2.AsyncClient(transport=transport)
        return anthropic.AsyncAnthropic(
            api_key="none", base_url="http://recorded.turnkeeper.test", max_retries=0, http_client=http
        )

    def _answer(self, request: httpx2.Request) -> httpx2.Response:
        import httpx2  # noqa: PLC0415

        del request
        self.ran_out |= not self._left
        event = self._left.pop() if self._left else None
        if isinstance(event, ReplyReceived):
            return httpx2.Response(200, content=_body(event), headers={"content-type": "application/json"})
        # whatever it was: only whether it is tried again makes a difference to the turn
        again = event is not None and (event.delay is not None or event.attempt > 1)
        error = {"type": "overloaded_error" if again else "invalid_request_error", "message": RUN_OUT}
        status = _OVERLOADED if again else _REFUSED
        return httpx2.Response(status, json={"type": "error", "error": error})


def _body(event: ReplyReceived) -> bytes:
    known = {"type": "message", "role": "assistant", "stop_reason": event.stop_reason, "usage": event.usage}
    members = [f"{encode(name)}:{encode(value)}" for name, value in (known | event.fields).items()]
    return f'{{"content":[{",".join(_as_received(event))}],{",".join(members)}}}'.encode()


def _as_received(event: ReplyReceived) -> list[str]:
    """The blocks as they came: an input that was no JSON object is put back, as text."""
    blocks = list(event.blocks)
    for index, raw in event.invalid_inputs.items():
        block: dict[str, Any] = decode(blocks[int(index)])
        blocks[int(index)] = encode({**block, "input": raw})
    return blocks
