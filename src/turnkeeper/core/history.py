"""The message list that the API is sent, as a projection of the events, kept encoded.

Everything but the last message is closed: bytes that no later event changes, so a request encodes only what is new, and
the prefix that prompt caching and thinking signatures depend on stays the same to the byte.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from turnkeeper.core.accepting import given_out
from turnkeeper.core.caching import (
    Lifetime,
    Marks,
    OwnMark,
    mark_text,
    marked,
    marked_message,
    spot,
    without_marks,
)
from turnkeeper.core.compacting import WINDOW_FULL
from turnkeeper.core.estimating import Weight, weigh
from turnkeeper.core.events import (
    ApprovalDecided,
    CallFinished,
    CallRejected,
    CallResolved,
    ChoiceGuided,
    Event,
    MessagesImported,
    ReplyReceived,
    RequestStarted,
    TurnEnded,
    TurnStarted,
)
from turnkeeper.core.messages import (
    as_blocks,
    as_of_user,
    marks_in,
    message_text,
    result_block,
    without_unanswered,
)
from turnkeeper.types import Message, Usage
from turnkeeper.wire.blocks import CLIENT_CALL, is_blank_text
from turnkeeper.wire.json import decode, encode, raw_members

__all__ = ("History",)

_MINUTES, _HOUR = 300.0, 3600.0
"""How long a prompt stays cached after the request that wrote or read it began, in seconds."""


class History:
    """Feed it the events in order with `apply`; read `messages_json` or `messages`.

    It holds each message once, encoded. Messages of the same role that follow each other are joined into one, as the
    API does itself. `far_apart` says that a request came more than five minutes and less than an hour after the one
    before it: what lies in the cache for five minutes only was lost then.
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
        self._guidance = 0
        self._size = 0
        self._of_system = False
        self._tails: dict[int, int] = {}
        self._own: dict[int, tuple[OwnMark, ...]] = {}
        self._asked_at: float | None = None
        self.far_apart = False
        self._counted = 0
        self._uncounted: list[str] = []
        for event in events:
            self.apply(event)

    def apply(self, event: Event) -> None:
        """Take one event in; those that are no part of the history are passed over."""
        if isinstance(event, RequestStarted):
            self._asked(event.at)
        elif isinstance(event, TurnStarted):
            self._begin(event)
        elif isinstance(event, ChoiceGuided):
            blocks = as_blocks(event.content)
            self._add(event.role, blocks)
            self._guidance += len(blocks)
        elif isinstance(event, ReplyReceived):
            self._reply(event)
            self._count(event.usage)
        elif isinstance(event, CallFinished):
            self._result(event.call_id, event.content, is_error=event.is_error)
        elif isinstance(event, CallRejected):
            self._result(event.call_id, event.content, is_error=True)
        elif isinstance(event, ApprovalDecided | CallResolved) and event.content is not None:
            self._result(event.call_id, event.content, is_error=isinstance(event, ApprovalDecided))
        elif isinstance(event, TurnEnded):
            self._refused = event.reason in ("invalid_request_error", WINDOW_FULL) and self._words > 0
        elif isinstance(event, MessagesImported):
            self._drop_vain_guidance()
            for message in event.messages:
                self._import(message)

    def _begin(self, event: TurnStarted) -> None:
        self._drop_vain_guidance()
        self._drop_refused_words()
        if event.content is not None or self._role != "assistant":  # else it goes on from a paused reply
            self._drop_unanswered_server_calls()
        blocks = as_blocks(event.content) if event.content is not None else []
        self._words, self._refused = len(blocks), False
        if blocks:
            self._add("user", blocks)

    def _asked(self, at: float) -> None:
        gap = 0.0 if self._asked_at is None else at - self._asked_at
        self.far_apart |= _MINUTES < gap <= _HOUR
        self._asked_at = at

    def _count(self, usage: dict[str, Any]) -> None:
        counted = Usage.counted(usage)
        if counted.total_tokens > counted.output_tokens:
            self._counted, self._uncounted = counted.total_tokens, []

    @property
    def last_role(self) -> str | None:
        """`user`, `assistant`, `system`, or None while there is no message."""
        return self._role

    @property
    def waits_for_model(self) -> bool:
        """The model has the next word: the last message is the user's, or the application's after it."""
        return self._role in ("user", "system")

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

    def messages_json(self, *, system_role: bool = True) -> bytes:
        """All messages, encoded and joined by commas, without the brackets around them.

        For a model that takes no system messages among the others (`system_role=False`) what the application said in
        one, under another model, stands in a user's: the API joins it with the user's message before it.
        """
        last = self._last()
        parts = self._closed if last is None else [*self._closed, last.encode()]
        return b",".join(parts if system_role or not self._of_system else map(as_of_user, parts))

    def tokens(self, image_tokens: int) -> tuple[int, bool]:
        """The most tokens that the prompt may have, and whether a reply counted its beginning, tools and system too."""
        added = sum(map(weigh, self._uncounted), Weight())
        return self._counted + added.tokens(image_tokens), self._counted > 0

    @property
    def size(self) -> int:
        """About how many bytes the messages have."""
        return self._size + sum(map(len, self._blocks)) + len(self._whole or "")

    @property
    def own_marks(self) -> tuple[OwnMark, ...]:
        """The cache marks that the caller set in messages, the first one first."""
        found = [mark for index in sorted(self._own) for mark in self._own[index]]
        last = self._last() if self._role is not None else None
        return (*found, *marks_in(last or ""))

    @property
    def free_ends(self) -> tuple[bool, bool]:
        """Whether the last user message and the one before it have a place for a mark."""
        last, before, *_ = (*map(self._is_free, self._user_ends()), False, False)
        return last, before

    def _is_free(self, index: int) -> bool:
        if index in self._tails:
            return True
        if index == len(self._closed) and self._whole is None:
            return spot(self._blocks) is not None
        whole = self._closed[index].decode() if index < len(self._closed) else self._last() or ""
        return spot(as_blocks(raw_members(whole)["content"])) is not None

    def request_json(self, marks: Marks, *, system_role: bool = True) -> bytes:
        """`messages_json` with cache marks on the last user message and on the one before it."""
        parts = list(self._closed)
        if self._role is not None:
            parts.append(b"")
        ends = dict(zip(self._user_ends(), (marks.last, marks.before), strict=False))
        if self._role is not None:
            parts[-1] = self._marked_last(ends.pop(len(self._closed), None)).encode()
        self._leave_out(parts, marks.left_out)
        for index, lifetime in ends.items():
            tail = self._tails.get(index)
            if lifetime is None:
                continue
            if tail is None or index in self._own:
                parts[index] = marked_message(parts[index].decode(), lifetime).encode()
            else:  # at a place that is known: nothing has to be read for it
                whole = parts[index]
                parts[index] = b"%b,%b}%b" % (whole[: -tail - 1], mark_text(lifetime).encode(), whole[-tail:])
        return b",".join(parts if system_role or not self._of_system else map(as_of_user, parts))

    def _marked_last(self, lifetime: Lifetime | None) -> str:
        if lifetime is None or self._whole is not None or (at := spot(self._blocks)) is None:
            whole = self._last() or ""
            return whole if lifetime is None else marked_message(whole, lifetime)
        blocks = [*self._blocks[:at], marked(self._blocks[at], lifetime), *self._blocks[at + 1 :]]
        return message_text(str(self._role), blocks)

    def _user_ends(self) -> list[int]:
        """The places of the last two user messages, the last one first."""
        found = [len(self._closed)] if self._role == "user" else []
        for index in range(len(self._closed) - 1, -1, -1):
            if len(found) == 2:
                break
            if index in self._tails or self._closed[index].startswith(b'{"role":"user"'):
                found.append(index)
        return found

    def _leave_out(self, parts: list[bytes], count: int) -> None:
        for index in sorted(self._own):
            if count <= 0:
                return
            count -= len(self._own[index])
            parts[index] = without_marks(parts[index].decode()).encode()

    def messages(self) -> list[Message]:
        """The message list as plain dicts in the API's own format, made anew on each call."""
        return given_out(self.messages_json())

    def __len__(self) -> int:
        return len(self._closed) + (self._role is not None)

    def _last(self) -> str | None:
        if self._role is None:
            return None
        if self._whole is not None:
            return self._whole
        return message_text(self._role, self._blocks)

    def _close(self) -> None:
        last = self._last()
        if last is not None:
            index = len(self._closed)
            if self._role == "user" and self._whole is None and (at := spot(self._blocks)) is not None:
                self._tails[index] = len("]}") + sum(len(raw.encode()) + 1 for raw in self._blocks[at + 1 :])
            if own := marks_in(last):
                self._own[index] = own
            self._closed.append(last.encode())
            self._size += len(last)
        self._role, self._whole, self._blocks = None, None, []

    def _reopen_last(self) -> None:
        """The last message is gone: the one before it is the last now."""
        self._role, self._whole, self._blocks = None, None, []
        if self._closed:
            self._whole = self._closed.pop().decode()
            self._tails.pop(len(self._closed), None)
            self._own.pop(len(self._closed), None)
            self._role = decode(raw_members(self._whole)["role"])

    def _add(self, role: str, blocks: list[str]) -> None:
        self._uncounted.extend(blocks)
        if role == self._role:
            self._open_whole()
            self._blocks.extend(blocks)
            return
        self._close()
        self._role, self._blocks = role, blocks
        self._of_system |= role == "system"

    def _open_whole(self) -> None:
        """An imported message stands as it was written until something has to be joined to it."""
        if self._whole is not None:
            content = raw_members(self._whole).get("content", '""')
            self._whole, self._blocks = None, as_blocks(content)

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
        self._of_system |= role == "system"
        self._uncounted.append(message)

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
            self._guidance = 0
            self._add("assistant", blocks)

    def _result(self, call_id: str, content: str, *, is_error: bool) -> None:
        self._results[call_id] = result_block(call_id, content, is_error=is_error)
        if len(self._results) == len(self._order):
            self._add("user", [self._results[one] for one in self._order])
            self._order, self._results = [], {}

    def _drop_vain_guidance(self) -> None:
        """A tool choice said in words, which no kept reply has followed: it would mislead, and the API takes no system
        message before a user's."""
        if self._guidance:
            self._open_whole()
            self._blocks = self._blocks[: -self._guidance]
            self._guidance = 0
            if not self._blocks:
                self._reopen_last()

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
            kept = without_unanswered(self._blocks)
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
        blocks = as_blocks(members["content"])
        kept = without_unanswered(blocks)
        if 0 < len(kept) < len(blocks):
            self._closed[-1] = f'{{"role":{members["role"]},"content":[{",".join(kept)}]}}'.encode()
