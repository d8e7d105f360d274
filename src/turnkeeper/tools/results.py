"""What a tool returned, as the content of a `tool_result`: text, or content blocks. Forms: see `json_forms`."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel

from turnkeeper.tools.content import ContentBlock
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


def render_result(value: Any, *, limit: int = RESULT_LIMIT, text_limit: int | None = None) -> str | list[Block]:
    """The content for a successful result: never blank, valid Unicode, at most `limit` characters of text.

    A string is sent as it is; None, and text of white space only, becomes "(no output)". A `ContentBlock` (with the
    type and the fields of a text, image, document, search_result or tool_reference block), and an object of the
    official SDK that is such a block, is sent as one, and so are the bytes of a PNG, JPEG, GIF or WebP image; in a list
    that holds one of them the other items become text blocks. Other bytes become a data URL. Everything else becomes
    compact JSON, dicts that only look like a block among it; values that JSON writes as a string (dates, Decimal,
    UUID…) stand without quotes.
    An image or document that the API would refuse (another type, too large, not base64) is named in words instead.
    `text_limit` stands for `limit` where the content is one text.
    A text over the limit ends with a mark that says how much was cut. UnrenderableError if a value has no form.
    """
    most = limit if text_limit is None else text_limit
    if type(value) is str:
        return _text(value, most)
    if value is None:
        return PLACEHOLDER
    blocks = _as_blocks(value)
    if blocks is not None:
        return _fitted(blocks, limit)
    form = plain(value)
    return _text(form if isinstance(form, str) else json_text(form), most)


def _text(text: str, limit: int) -> str:
    if not text or text.isspace():
        return PLACEHOLDER
    return cut(clean(text), limit)


def _as_blocks(value: Any) -> list[Block] | None:
    """The blocks that a value is meant as; None for data."""
    if not isinstance(value, list | tuple):
        block = _meant(value)
        return None if block is None else [block]
    meant = [_meant(item) for item in value]
    if not any(meant):
        return None
    return [_told(item) if block is None else block for item, block in zip(value, meant, strict=True)]


def _meant(value: Any) -> Block | None:
    """A block that says that it is one; what has not the fields of its type is data all the same."""
    if isinstance(value, ContentBlock | bytes | bytearray | memoryview):
        return _as_block(value)
    if isinstance(value, BaseModel) and type(value).__module__.startswith("anthropic.types."):
        return _as_block(value.model_dump(mode="json", exclude_none=True))
    return None


def _told(item: Any) -> Block:
    form = plain(item)
    return {"type": "text", "text": form if isinstance(form, str) else json_text(form)}


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
    return _told(part)


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
