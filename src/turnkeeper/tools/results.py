"""What a tool returned, as the content of a `tool_result`: text, or content blocks. Forms: see `json_forms`."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import BaseModel

from turnkeeper.tools.json_forms import json_text, media_type, plain
from turnkeeper.tools.wording import clean, clean_value, cut
from turnkeeper.types import Block

__all__ = ("BASE64_LIMIT", "PLACEHOLDER", "RESULT_LIMIT", "render_result")

RESULT_LIMIT = 100_000
"""Characters of text after which a result is cut, unless the tool says otherwise."""
PLACEHOLDER = "(no output)"
"""The text of a blank result: the API refuses blank text blocks, and a model reads silence as a failure."""
BASE64_LIMIT = 10_000_000
"""Base64 characters of an image or document that are still sent; the API takes images of 10 MB (docs, "Vision")."""

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
    return value


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
        block["content"] = [part for part in block["content"] if not _is_blank_text(part)]
        return bool(block["content"])
    return all(holder[key].strip() for holder, key in _texts(block))


def _is_blank_text(part: Any) -> bool:
    return isinstance(part, dict) and part.get("type") == "text" and not str(part.get("text", "")).strip()


def _sendable(block: Block) -> Block:
    source = block.get("source")
    if isinstance(source, Mapping) and isinstance(data := source.get("data"), bytes | bytearray):
        block = {**block, "source": {**source, "data": base64.b64encode(data).decode("ascii")}}
    form: Block = clean_value(plain(block))
    source = form.get("source")
    if isinstance(source, dict) and source.get("type") == "base64":
        size = len(str(source.get("data", "")))
        if size > BASE64_LIMIT:
            what = f"{form['type']} of type {source.get('media_type')}"
            return {"type": "text", "text": f"[left out: {what}, {size} base64 characters, limit {BASE64_LIMIT}]"}
    return form


def _texts(block: Block) -> Iterator[tuple[dict[str, Any], str]]:
    """Where the text of a block stands: the dict and its key."""
    if block["type"] == "text":
        yield block, "text"
    elif block["type"] == "document" and isinstance(block["source"].get("data"), str):
        if block["source"].get("type") == "text":
            yield block["source"], "data"
    elif block["type"] == "search_result":
        for part in block["content"]:
            if isinstance(part, dict) and isinstance(part.get("text"), str):
                yield part, "text"
