"""What a caller's message list must be before a conversation can start from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from turnkeeper.errors import HistoryError
from turnkeeper.wire.blocks import CLIENT_CALL, is_blank_text

__all__ = ("check_messages", "check_user_content", "open_call_ids")


def check_user_content(content: object, *, path: str = "message") -> None:
    """A user's message: non-blank text, or a list of blocks with something in it. HistoryError says what is wrong."""
    if isinstance(content, str):
        if not content.strip():
            raise HistoryError("the text is empty; write something to send", path=path)
        return
    if not isinstance(content, list) or not content:
        raise HistoryError("must be text or a non-empty list of content blocks", path=path)
    for index, block in enumerate(content):
        where = f"{path}.content.{index}"
        if not isinstance(block, Mapping) or not isinstance(block.get("type"), str):
            raise HistoryError('each block is an object with a "type"', path=where)
        if is_blank_text(block):
            raise HistoryError("the text is empty; leave the block out", path=where)


def open_call_ids(message: Mapping[str, Any]) -> list[str]:
    """The ids of the client calls in one message, in order."""
    content = message.get("content")
    blocks = content if isinstance(content, list) else []
    return [block.get("id", "") for block in blocks if block.get("type") == CLIENT_CALL]


def check_messages(messages: Sequence[Mapping[str, Any]]) -> None:
    """Refuse a list that can't be sent: HistoryError names the place and the repair.

    The last message may hold unanswered calls (they will be run). Pairing rules: platform docs,
    agents-and-tools/tool-use/handle-tool-calls.
    """
    if not messages:
        raise HistoryError("the list is empty; start it with a user's message")
    waiting: list[str] = []
    seen: set[str] = set()
    for index, message in enumerate(messages):
        path = f"messages.{index}"
        if not isinstance(message, Mapping):
            raise HistoryError("each message is an object with role and content", path=path)
        role = message.get("role")
        if role not in ("user", "assistant", "system"):
            raise HistoryError(f"the role must be user, assistant or system, not {role!r}", path=path)
        if index == 0 and role != "user":
            raise HistoryError("the first message must be the user's", path=path)
        check_user_content(message.get("content"), path=path)
        _check_results(message, waiting, path)
        waiting = _check_calls(message, seen, path)


def _check_results(message: Mapping[str, Any], waiting: Sequence[str], path: str) -> None:
    content = message["content"]
    blocks = content if isinstance(content, list) else []
    answered = [block.get("tool_use_id") for block in blocks if block.get("type") == "tool_result"]
    for call_id in answered:
        if call_id not in waiting:
            raise HistoryError(
                f"the tool_result for {call_id!r} has no tool_use in the message before it; remove it", path=path
            )
        if answered.count(call_id) > 1:
            raise HistoryError(f"{call_id!r} has two tool_result blocks; keep one", path=path)
    missing = [call_id for call_id in waiting if call_id not in answered]
    if missing:
        raise HistoryError(
            f"no tool_result for {', '.join(missing)}; add one for each (an is_error result if it was not run)",
            path=path,
        )
    kinds = [block.get("type") for block in blocks]
    if answered and "tool_result" in kinds[len(answered) :]:
        raise HistoryError("tool_result blocks must stand before all other blocks; move them to the front", path=path)


def _check_calls(message: Mapping[str, Any], seen: set[str], path: str) -> list[str]:
    calls = open_call_ids(message)
    if calls and message["role"] != "assistant":
        raise HistoryError("tool_use blocks belong in assistant messages", path=path)
    for call_id in calls:
        if not call_id:
            raise HistoryError("a tool_use block has no id", path=path)
        if call_id in seen:
            raise HistoryError(f"the tool_use id {call_id!r} was used before; ids must be unique", path=path)
        seen.add(call_id)
    return calls
