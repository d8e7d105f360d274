"""Messages and their blocks as JSON text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from turnkeeper.core.caching import OwnMark, own_marks
from turnkeeper.wire.blocks import is_server_call, server_result_for
from turnkeeper.wire.json import decode, encode, raw_elements

__all__ = ("as_blocks", "as_of_user", "marks_in", "message_text", "result_block", "without_unanswered")

_OF_SYSTEM, _OF_USER = b'{"role":"system","content":[', b'{"role":"user","content":['


def result_block(call_id: str, content: str, *, is_error: bool) -> str:
    """One `tool_result` block; `content` is JSON text."""
    mark = ',"is_error":true' if is_error else ""
    return f'{{"type":"tool_result","tool_use_id":{encode(call_id)},"content":{content}{mark}}}'


def as_of_user(message: bytes) -> bytes:
    """What the application said in a system message, as a user's; any other message as it is."""
    return _OF_USER + message[len(_OF_SYSTEM) :] if message.startswith(_OF_SYSTEM) else message


def message_text(role: str, blocks: Sequence[str]) -> str:
    """A message of these blocks."""
    return f'{{"role":"{role}","content":[{",".join(blocks)}]}}'


def marks_in(message: str) -> tuple[OwnMark, ...]:
    """The cache marks that the caller set in a message."""
    return tuple(own_marks(decode(message))) if '"cache_control"' in message else ()


def as_blocks(content: str) -> list[str]:
    """A message's content as blocks; text alone is one block."""
    return raw_elements(content) if content.startswith("[") else [f'{{"type":"text","text":{content}}}']


def without_unanswered(blocks: Sequence[str]) -> list[str]:
    """The blocks but for calls of the API's own tools that have no result among them."""
    parsed: list[dict[str, Any]] = [decode(raw) for raw in blocks]
    answered = {server_result_for(block) for block in parsed}
    return [
        raw
        for raw, block in zip(blocks, parsed, strict=True)
        if not is_server_call(block) or block.get("id") in answered
    ]
