"""What a tool returned, as the content of a `tool_result`: text, or content blocks. Forms: see `json_forms`."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel

from turnkeeper.tools.json_forms import json_text, media_type, plain
from turnkeeper.tools.media import has_known_source, with_sound_source
from turnkeeper.tools.wording import clean, clean_value, cut
from turnkeeper.types import Block

__all__ = ("PLACEHOLDER", "RESULT_LIMIT", "render_result")

RESULT_LIMIT = 100_000
"""Characters of text after which a result is cut, unless the tool says otherwise."""
PLACEHOLDER = "(no output)"
"""The text of a blank result: the API refuses blank text blocks, and a model reads silence as a failure."""

_MARK_ROOM = 80

_BLOCK_FIELDS: dict[str, dict[str, type]] = {
    "text": {"text": str},
    "image": {"source": dict},
    "document": {"source": dict},
    "search_result": {"source": str, "title": str, "content": list},
    "tool_reference": {"tool_name": str},
}


def render_result(value: Any, *, limit: int = RESULT_LIMIT) -> str | list[Block]:
    """The content for a successful result: never blank, valid Unicode, at most `limit` characters of text.

    A string is sent as it is; None, and text of white space only, becomes "(no output)". A content block (a dict with
    the type and the fields of a text, image, document, search_result or tool_reference block), or a list of them, is
    sent as blocks, and so are the bytes of a PNG, JPEG, GIF or WebP image. Other bytes become a data URL. Everything
    else becomes compact JSON; values that JSON writes as a string (dates, Decimal, UUID…) stand without quotes.
    An image or document that the API would refuse (another type, too large, not base64) is named in words instead.
    A text over the limit ends with a mark that says how much was cut. UnrenderableError if a value has no form.
    """
    if type(value) is str:
        return _text(value, limit)
    if value is None:
        return PLACEHOLDER
    if isinstance(value, BaseModel) and str(getattr(value, "type", None)) in _BLOCK_FIELDS:
        value = value.model_dump(mode="json", exclude_none=True)
    blocks = _as_blocks(value)
    if blocks is not None:
        return _fitted(blocks, limit)
    form = plain(value)
    return _text(form if isinstance(form, str) else json_text(form), limit)


def _text(text: str, limit: int) -> str:
    if not text or text.isspace():
        return PLACEHOLDER
    return cut(clean(text), limit)


def _as_blocks(value: Any) -> list[Block] | None:
    if isinstance(value, dict | bytes | bytearray | memoryview):
        block = _as_block(value)
        return None if block is None else [block]
    if not isinstance(value, list | tuple) or not value:
        return None
    blocks: list[Block] = []
    only_text = True
    for item in value:
        block = {"type": "text", "text": item} if type(item) is str else _as_block(item)
        if block is None:
            return None
        only_text = only_text and type(item) is str
        blocks.append(block)
    return None if only_text else blocks


def _as_block(value: Any) -> Block | None:
    if isinstance(value, bytes | bytearray | memoryview):
        data = bytes(value)
        image = media_type(data)
        if not image.startswith("image/"):
            return None
        encoded = base64.b64encode(data).decode("ascii")
        return {"type": "image", "source": {"type": "base64", "media_type": image, "data": encoded}}
    if not isinstance(value, dict):
        return None
    kind = value.get("type")
    needed = _BLOCK_FIELDS.get(kind) if isinstance(kind, str) else None
    if needed is None or not all(isinstance(value.get(name), shape) for name, shape in needed.items()):
        return None
    if kind == "search_result":
        return value if all(_is_text_block(part) for part in value["content"]) else None
    if kind in ("image", "document") and not has_known_source(value):
        return None
    return value


def _is_text_block(part: Any) -> bool:
    return isinstance(part, dict) and part.get("type") == "text" and isinstance(part.get("text"), str)


def _fitted(blocks: list[Block], limit: int) -> str | list[Block]:
    sendable = [_sendable(block) for block in blocks]
    texts = [place for block in sendable for place in _texts(block)]
    total = sum(len(holder[key]) for holder, key in texts)
    if total > limit:
        room = allowed = max(limit - _MARK_ROOM, 0)
        for holder, key in texts:
            holder[key] = holder[key][:room]
            room -= len(holder[key])
        kept = allowed - room
        sendable.append({"type": "text", "text": f"[truncated: {total - kept} of {total} characters were cut]"})
    return [block for block in sendable if _says_something(block)] or PLACEHOLDER


def _says_something(block: Block) -> bool:
    """False for what the API would refuse as blank, and for what cutting left empty."""
    if block["type"] == "search_result":
        block["content"] = [part for part in block["content"] if part["text"].strip()]
        return bool(block["content"])
    return all(holder[key].strip() for holder, key in _texts(block))


def _sendable(block: Block) -> Block:
    if block["type"] in ("image", "document"):
        block = with_sound_source(block)
        source = block.get("source", {})
        if source.get("type") == "content" and isinstance(source["content"], list):
            block = {**block, "source": {**source, "content": [_inner(part) for part in source["content"]]}}
    form: Block = clean_value(plain(block))
    return form


def _inner(part: Any) -> Block:
    """A part of a document made of blocks: those are texts and images."""
    block = _as_block(part)
    if block is not None and block["type"] in ("text", "image"):
        return _sendable(block)
    form = plain(part)
    return {"type": "text", "text": form if isinstance(form, str) else json_text(form)}


def _texts(block: Block) -> Iterator[tuple[dict[str, Any], str]]:
    """Where the text of a block stands: the dict and its key."""
    if block["type"] == "text":
        yield block, "text"
    elif block["type"] == "document" and isinstance(block["source"].get("data"), str):
        if block["source"].get("type") == "text":
            yield block["source"], "data"
    elif block["type"] == "search_result":
        for part in block["content"]:
            yield part, "text"
