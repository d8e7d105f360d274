"""The message list that the API is sent, as a projection of the events, kept encoded.

Everything but the last message is closed: bytes that no later event changes, so a request encodes only what is new, and
the prefix that prompt caching and thinking signatures depend on stays the same to the byte.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from turnkeeper.core.events import (
    ApprovalDecided,
    CallFinished,
    CallRejected,
    CallResolved,
    Event,
    MessagesImported,
    ReplyReceived,
    TurnEnded,
    TurnStarted,
)
from turnkeeper.types import Message
from turnkeeper.wire.blocks import CLIENT_CALL, is_blank_text, is_server_call, server_result_for
from turnkeeper.wire.json import decode, encode, raw_elements, raw_members

__all__ = ("History", "result_block")


def result_block(call_id: str, content: str, *, is_error: bool) -> str:
    """One `tool_result` block; `content` is JSON text."""
    mark = ',"is_error":true' if is_error else ""
    return f'{{"type":"tool_result","tool_use_id":{encode(call_id)},"content":{content}{mark}}}'


class History:
    """Feed it the events in order with `apply`; read `messages_json` or `messages`.

    It holds each message once, encoded. Messages of the same role that follow each other are joined into one, as the
    API does itself.
    """

    def __init__(self, events: Iterable[Event] = ()) -> None:
        self._closed: list[bytes] = []
        self._role: str | None = None
        self._whole: str | None = None
        self._blocks: list[str] = []
        self._order: list[str] = []
        self._results: dict[str, str] = {}
        self._ids: set[str] = set()
        self._tools_used = False
        self._words = 0
        self._refused = False
        for event in events:
            self.apply(event)

    def apply(self, event: Event) -> None:
        """Take one event in; those that are no part of the history are passed over."""
        if isinstance(event, TurnStarted):
            self._drop_refused_words()
            if event.content is not None or self._role != "assistant":  # else it goes on from a paused reply
                self._drop_unanswered_server_calls()
            blocks = _as_blocks(event.content) if event.content is not None else []
            self._words, self._refused = len(blocks), False
            if blocks:
                self._add("user", blocks)
        elif isinstance(event, ReplyReceived):
            self._reply(event)
        elif isinstance(event, CallFinished):
            self._result(event.call_id, event.content, is_error=event.is_error)
        elif isinstance(event, CallRejected):
            self._result(event.call_id, event.content, is_error=True)
        elif isinstance(event, ApprovalDecided | CallResolved) and event.content is not None:
            self._result(event.call_id, event.content, is_error=isinstance(event, ApprovalDecided))
        elif isinstance(event, TurnEnded):
            self._refused = event.reason == "invalid_request_error" and self._words > 0
        elif isinstance(event, MessagesImported):
            for message in event.messages:
                self._import(message)

    @property
    def last_role(self) -> str | None:
        """`user`, `assistant`, `system`, or None while there is no message."""
        return self._role

    @property
    def tools_used(self) -> bool:
        """Some message holds a call or a result; the API then wants `tools` in every request."""
        return self._tools_used

    def fresh_id(self, given: object, *, reply: int, index: int, taken: Collection[str] = ()) -> str:
        """The id for a call: the given one, or, where that is empty or used before, one made from its place.

        `taken` are ids that this reply's other calls have or will keep.
        """
        if isinstance(given, str) and given and given not in self._ids and given not in taken:
            return given
        made = f"toolu_tk_{reply}_{index}"
        while made in self._ids or made in taken:
            made += "_"
        return made

    def messages_json(self) -> bytes:
        """All messages, encoded and joined by commas, without the brackets around them."""
        last = self._last()
        parts = self._closed if last is None else [*self._closed, last.encode()]
        return b",".join(parts)

    def messages(self) -> list[Message]:
        """The message list as plain dicts in the API's own format, made anew on each call."""
        found = decode("[" + self.messages_json().decode() + "]")
        assert isinstance(found, list)
        return found

    def __len__(self) -> int:
        return len(self._closed) + (self._role is not None)

    def _last(self) -> str | None:
        if self._role is None:
            return None
        if self._whole is not None:
            return self._whole
        return f'{{"role":"{self._role}","content":[{",".join(self._blocks)}]}}'

    def _close(self) -> None:
        last = self._last()
        if last is not None:
            self._closed.append(last.encode())
        self._role, self._whole, self._blocks = None, None, []

    def _reopen_last(self) -> None:
        """The last message is gone: the one before it is the last now."""
        self._role, self._whole, self._blocks = None, None, []
        if self._closed:
            self._whole = self._closed.pop().decode()
            self._role = decode(raw_members(self._whole)["role"])

    def _add(self, role: str, blocks: list[str]) -> None:
        if role == self._role:
            self._open_whole()
            self._blocks.extend(blocks)
            return
        self._close()
        self._role, self._blocks = role, blocks

    def _open_whole(self) -> None:
        """An imported message stands as it was written until something has to be joined to it."""
        if self._whole is not None:
            content = raw_members(self._whole).get("content", '""')
            self._whole, self._blocks = None, _as_blocks(content)

    def _import(self, message: str) -> None:
        parsed = decode(message)
        role = parsed["role"]
        for block in parsed["content"] if isinstance(parsed["content"], list) else ():
            kind = block.get("type")
            self._tools_used |= kind in (CLIENT_CALL, "tool_result")
            if kind == CLIENT_CALL:
                self._ids.add(block["id"])
        self._close()
        self._role, self._whole = role, message

    def _reply(self, event: ReplyReceived) -> None:
        if not event.kept:
            return
        self._words, self._refused = 0, False
        calls = {call.index: call for call in event.calls}
        blocks: list[str] = []
        for index, raw in enumerate(event.blocks):
            call = calls.get(index)
            if call is not None:
                self._ids.add(call.id)
                blocks.append(raw if call.given_id is None else encode({**decode(raw), "id": call.id}))
            elif '"text"' not in raw or not is_blank_text(decode(raw)):
                blocks.append(raw)
        self._tools_used |= bool(calls)
        self._order = [call.id for call in event.calls]
        self._results = {}
        if blocks:
            self._add("assistant", blocks)

    def _result(self, call_id: str, content: str, *, is_error: bool) -> None:
        self._results[call_id] = result_block(call_id, content, is_error=is_error)
        if len(self._results) == len(self._order):
            self._add("user", [self._results[one] for one in self._order])
            self._order, self._results = [], {}

    def _drop_refused_words(self) -> None:
        """A message that the API refused (400) before it was ever answered gives way to the next one: kept, it would be
        refused with it, for ever."""
        if self._refused and self._role == "user":
            self._open_whole()
            self._blocks = self._blocks[: -self._words]
            if not self._blocks:
                self._reopen_last()

    def _drop_unanswered_server_calls(self) -> None:
        """A paused or mixed reply may leave a call of the API's own tools without its result: a user's words can't
        follow it, and the call will not be continued. It sits in the last assistant message."""
        if self._role == "assistant":
            self._open_whole()
            kept = _without_unanswered(self._blocks)
            if len(kept) < len(self._blocks):
                self._blocks = kept
            if not kept:
                self._reopen_last()
            return
        if not self._closed:
            return
        raw = self._closed[-1].decode()
        if '"server_tool_use"' not in raw and '"mcp_tool_use"' not in raw:
            return
        members = raw_members(raw)
        blocks = _as_blocks(members["content"])
        kept = _without_unanswered(blocks)
        if 0 < len(kept) < len(blocks):
            self._closed[-1] = f'{{"role":{members["role"]},"content":[{",".join(kept)}]}}'.encode()


def _as_blocks(content: str) -> list[str]:
    return raw_elements(content) if content.startswith("[") else [f'{{"type":"text","text":{content}}}']


def _without_unanswered(blocks: list[str]) -> list[str]:
    parsed: list[dict[str, Any]] = [decode(raw) for raw in blocks]
    answered = {server_result_for(block) for block in parsed}
    return [
        raw
        for raw, block in zip(blocks, parsed, strict=True)
        if not is_server_call(block) or block.get("id") in answered
    ]
