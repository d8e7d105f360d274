"""Images and documents in a result: mended where the bytes say how, else named in words.

A result stays in the conversation, so one that the API refuses would be refused with every later request.
Facts: platform docs, build-with-claude/vision and pdf-support; `types/*_source_param.py` of the official SDK.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

from turnkeeper.tools.json_forms import media_type
from turnkeeper.tools.wording import cut
from turnkeeper.types import Block

__all__ = ("BASE64_LIMIT", "has_known_source", "with_sound_source")

BASE64_LIMIT = 10_000_000
"""Base64 characters of an image or document that are still sent; the API takes images of 10 MB (docs, "Vision")."""

_LONGEST_NAME = 80
_PDF_HEAD = 1024
"""Bytes within which a PDF says that it is one; its readers pass over what stands before."""

_KNOWN: dict[str, dict[str, tuple[str, type | tuple[type, ...]]]] = {
    "image": {"base64": ("data", (str, bytes, bytearray)), "url": ("url", str), "file": ("file_id", str)},
    "document": {
        "base64": ("data", (str, bytes, bytearray)),
        "text": ("data", str),
        "content": ("content", (str, list)),
        "url": ("url", str),
        "file": ("file_id", str),
    },
}
"""Per block and type of source: the member that it needs."""


def has_known_source(block: Mapping[str, Any]) -> bool:
    """Whether the source of an image or document block is one that the API knows; else the block is mere data."""
    source = block["source"]
    how = source.get("type")
    needed = _KNOWN[block["type"]].get(how) if isinstance(how, str) else None
    return needed is not None and isinstance(source.get(needed[0]), needed[1])


def with_sound_source(block: Block) -> Block:
    """The block as the API takes it, or a text block that says what was left out, and why."""
    kind, source = block["type"], dict(block["source"])
    if source["type"] == "text":
        return {**block, "source": {**source, "media_type": "text/plain"}}
    if source["type"] != "base64":
        return block
    data = source["data"]
    if isinstance(data, str):
        # with a data: prefix or line breaks, as some encoders write it
        data = "".join(data.rpartition(";base64,")[2].split())
    else:
        data = base64.b64encode(data).decode("ascii")
    given = source.get("media_type")
    what = f"{kind} of type {cut(given, _LONGEST_NAME)}" if isinstance(given, str) else kind
    if len(data) > BASE64_LIMIT:
        return _left_out(f"{what}, {len(data)} base64 characters, limit {BASE64_LIMIT}")
    try:
        raw = base64.b64decode(data, validate=True)
    except ValueError:
        return _left_out(f"{what}, its data is not base64")
    if kind == "image":
        found = media_type(raw)
        if not found.startswith("image/"):
            return _left_out(f"{what}, only PNG, JPEG, GIF and WebP images can be shown")
    else:
        found = "application/pdf"
        if b"%PDF" not in raw[:_PDF_HEAD]:
            return _left_out(f"{what}, only PDF documents can be shown")
    return {**block, "source": {**source, "media_type": found, "data": data}}


def _left_out(what: str) -> Block:
    return {"type": "text", "text": f"[left out: {what}]"}
