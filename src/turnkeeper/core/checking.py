"""What a caller's messages must be before they are kept and sent: what the API refuses once, it refuses for ever."""

from __future__ import annotations

import base64
import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from turnkeeper.core.accepting import check_accepted, check_calls_accepted, check_system_accepted
from turnkeeper.core.replies import MOST_CALLS
from turnkeeper.errors import HistoryError
from turnkeeper.types import Block, Message
from turnkeeper.wire.blocks import CLIENT_CALL, is_blank_text, is_server_call, server_result_for
from turnkeeper.wire.json import MOST_NESTED

__all__ = ("USER_BLOCKS", "check_ending", "check_messages", "check_user_content", "open_call_ids")

USER_BLOCKS = ("text", "image", "document", "search_result", "container_upload")
"""What a user's message may hold; results of calls and the assistant's blocks come from the conversation itself."""

_IMAGES = {
    "image/jpeg": (0, b"\xff\xd8\xff"),
    "image/png": (0, b"\x89PNG\r\n\x1a\n"),
    "image/gif": (0, b"GIF8"),
    "image/webp": (8, b"WEBP"),
}
"""The API's image types, and where each shows in the bytes (platform docs, build-with-claude/vision)."""
_LARGEST_IMAGE = 10 * 1024 * 1024
_PDF_HEAD = 1024
"""Bytes within which a PDF says that it is one; its readers pass over what stands before."""
_AROUND = 8
"""Levels of a message around the values in its blocks."""
_LONGEST_INTEGER = 14_000
"""Bits; Python refuses to write integers of more than 4,300 digits."""


def check_user_content(content: object, *, path: str = "message", accept: Collection[str] = ()) -> str | list[Block]:
    """A user's message as it can be sent: non-blank text, or a list of blocks with something in it, as plain JSON.

    Blocks are those of `USER_BLOCKS`: a user can't bring the result of a call, or words of the assistant. What they may
    do beyond saying something is `accept`ed (see `accepting`). HistoryError says what is wrong, and where.
    """
    plain = _checked(_plain(content, f"{path}.content"), path)
    for index, block in enumerate(plain if isinstance(plain, list) else ()):
        if block["type"] not in USER_BLOCKS:
            raise HistoryError(
                f"a user's message can't hold a block of type {block['type']!r}; it holds {', '.join(USER_BLOCKS)}",
                path=f"{path}.content.{index}",
            )
    check_accepted(plain if isinstance(plain, list) else (), f"{path}.content", accept)
    return plain


def _checked(content: object, path: str) -> str | list[Block]:
    """Content that is text, or blocks that each have a type, with images that can be looked at."""
    if isinstance(content, str):
        if not content.strip():
            raise HistoryError("the text is empty; write something to send", path=path)
        return content
    if not isinstance(content, list) or not content:
        raise HistoryError("must be text or a non-empty list of content blocks", path=path)
    for index, block in enumerate(content):
        where = f"{path}.content.{index}"
        if not isinstance(block, dict) or not isinstance(block.get("type"), str):
            raise HistoryError('each block is an object with a "type"', path=where)
        if is_blank_text(block):
            raise HistoryError("the text is empty; leave the block out", path=where)
        if block["type"] == "text" and not isinstance(block["text"], str):
            raise HistoryError(f"the text of a block is a string, not {block['text']!r}", path=f"{where}.text")
        _check_media(block, where)
    return content


def _check_media(block: Mapping[str, Any], path: str) -> None:
    if block.get("type") in ("image", "document"):
        _check_source(block, path)
    elif block.get("type") == "tool_result":
        _check_inner(block.get("content"), f"{path}.content")


def _check_inner(content: object, path: str) -> None:
    for index, block in enumerate(content if isinstance(content, list) else ()):
        if isinstance(block, Mapping):
            _check_media(block, f"{path}.{index}")


def _check_source(block: Mapping[str, Any], path: str) -> None:
    kind, source = block["type"], block.get("source")
    path = f"{path}.source"
    if not isinstance(source, Mapping):
        raise HistoryError(f'the {kind} has no "source" object', path=path)
    if source.get("type") == "base64":
        allowed = tuple(_IMAGES) if kind == "image" else ("application/pdf",)
        _check_type(kind, source.get("media_type"), allowed, path)
        data = _decoded(source.get("data"), f"{path}.data")
        if kind == "image":
            _check_image(data, str(source["media_type"]), f"{path}.data")
        elif b"%PDF" not in data[:_PDF_HEAD]:
            raise HistoryError("the bytes are no PDF", path=f"{path}.data")
    elif source.get("type") == "text":
        _check_type(kind, source.get("media_type"), ("text/plain",), path)
    elif source.get("type") == "content":
        _check_inner(source.get("content"), f"{path}.content")


def _check_type(kind: str, given: object, allowed: Sequence[str], path: str) -> None:
    if given not in allowed:
        raise HistoryError(
            f"the API takes no {kind} of media type {given!r} here, only {', '.join(allowed)}",
            path=f"{path}.media_type",
        )


def _decoded(data: object, path: str) -> bytes:
    try:
        if isinstance(data, str) and data:
            return base64.b64decode(data, validate=True)
    except ValueError:
        pass
    raise HistoryError(
        "is not base64; give base64.b64encode(data).decode(), without a data: prefix and without line breaks", path=path
    )


def _check_image(data: bytes, media_type: str, path: str) -> None:
    if len(data) * 4 > _LARGEST_IMAGE * 3:
        raise HistoryError("the image has more than 10 MB as base64; scale it down", path=path)
    found = next((name for name, (at, mark) in _IMAGES.items() if data.startswith(mark, at)), None)
    if found is None:
        raise HistoryError(f"the bytes are no image that the API reads; it reads {', '.join(_IMAGES)}", path=path)
    if found != media_type:
        raise HistoryError(f"the bytes are of type {found}, not {media_type}; correct the media_type", path=path)


def _plain(value: Any, path: str, room: int = MOST_NESTED + _AROUND) -> Any:
    """A copy of the value as plain JSON values; SDK objects become dicts, as the API wrote them."""
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, int) and value.bit_length() < _LONGEST_INTEGER:
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    if room == 0:
        raise HistoryError("is nested too deeply, or contains itself", path=path)
    if isinstance(value, list | tuple):
        return [_plain(item, f"{path}.{index}", room - 1) for index, item in enumerate(value)]
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str):
                raise HistoryError(f"the key {key!r} is no text", path=path)
        return {key: _plain(item, f"{path}.{key}", room - 1) for key, item in value.items()}
    if callable(dump := getattr(value, "model_dump", None)) and not isinstance(value, type):
        return _plain(dump(mode="json", exclude_unset=True), path, room)
    kind = type(value).__name__
    if isinstance(value, int | float):
        raise HistoryError(
            f"this {kind} can't be written as a JSON number; leave it out, or give it as text", path=path
        )
    if isinstance(value, bytes | bytearray | memoryview):
        raise HistoryError(f"{kind} can't be sent; give base64.b64encode(data).decode()", path=path)
    raise HistoryError(f"a {kind} has no JSON form; give text, numbers, lists and dicts", path=path)


def open_call_ids(message: Mapping[str, Any]) -> list[str]:
    """The ids of the client calls in one message, in order."""
    content = message.get("content")
    blocks = content if isinstance(content, list) else []
    return [block.get("id", "") for block in blocks if block.get("type") == CLIENT_CALL]


def check_messages(messages: Sequence[Any], *, accept: Collection[str] = ()) -> list[Message]:
    """A message list as it can be sent: a copy as plain JSON, SDK objects in the content as dicts.

    HistoryError names the place of what is wrong, and the repair. The last message may hold unanswered calls (they
    will be run), and others more than words and data, where that is `accept`ed. Pairing rules: platform docs,
    agents-and-tools/tool-use/handle-tool-calls.
    """
    if not messages:
        raise HistoryError("the list is empty; start it with a user's message")
    if isinstance(messages, str | bytes | Mapping) or not isinstance(messages, Sequence):
        raise HistoryError(f"a list of messages is wanted, not a {type(messages).__name__}")
    waiting: list[str] = []
    seen: set[str] = set()
    found: list[Message] = []
    for index, given in enumerate(messages):
        path = f"messages.{index}"
        if hasattr(given, "model_dump"):
            raise HistoryError('give {"role": message.role, "content": message.content}, not the object', path=path)
        if not isinstance(given, Mapping):
            raise HistoryError("each message is an object with role and content", path=path)
        message: Message = _plain(given, path)
        role = message.get("role")
        if role not in ("user", "assistant", "system"):
            raise HistoryError(f"the role must be user, assistant or system, not {role!r}", path=path)
        if index == 0 and role != "user":
            raise HistoryError("the first message must be the user's", path=path)
        content = _checked(message.get("content"), path)
        _check_results(message, waiting, path)
        waiting = _check_calls(message, seen, path)
        check_system_accepted(given, path, accept)
        if role != "assistant":
            check_accepted(content if isinstance(content, list) else (), f"{path}.content", accept)
        found.append(message)
    check_calls_accepted(messages[-1]["content"], f"messages.{len(found) - 1}.content", accept)
    return found


def check_ending(messages: Sequence[Mapping[str, Any]], *, prefill: bool, model: str) -> None:
    """Refuse a sound list that ends in an assistant message which the model can't go on from.

    It can from calls without results, from a turn that was paused in a tool of the API's own and, where the model has
    `prefill`, from the beginning of an answer. Platform docs, api/errors#prefill-not-supported.
    """
    last = messages[-1]
    if prefill or last["role"] != "assistant" or open_call_ids(last):
        return
    ending = last["content"][-1] if isinstance(last["content"], list) else {}
    if not is_server_call(ending) and server_result_for(ending) is None:
        raise HistoryError(
            f"the list ends in the assistant's words, and {model} doesn't continue them; end it with a user's message",
            path=f"messages.{len(messages) - 1}",
        )


def _check_results(message: Mapping[str, Any], waiting: Sequence[str], path: str) -> None:
    content = message["content"]
    blocks = content if isinstance(content, list) else []
    answered = [block.get("tool_use_id") for block in blocks if block.get("type") == "tool_result"]
    asked, done = set(waiting), set[str]()
    for call_id in answered:
        if not isinstance(call_id, str) or call_id not in asked:
            raise HistoryError(
                f"the tool_result for {call_id!r} has no tool_use in the message before it; remove it", path=path
            )
        if call_id in done:
            raise HistoryError(f"{call_id!r} has two tool_result blocks; keep one", path=path)
        done.add(call_id)
    missing = [call_id for call_id in waiting if call_id not in done]
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
        if not call_id or not isinstance(call_id, str):
            raise HistoryError("a tool_use block has no id", path=path)
        if call_id in seen:
            raise HistoryError(f"the tool_use id {call_id!r} was used before; ids must be unique", path=path)
        seen.add(call_id)
    if len(calls) > MOST_CALLS:
        raise HistoryError(f"the message holds {len(calls)} calls, and {MOST_CALLS} are the most", path=path)
    return calls
