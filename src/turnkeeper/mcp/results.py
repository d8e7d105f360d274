"""What a server answered to a call, as what the tool returns: every block in order, nothing lost, `isError` kept."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any

from turnkeeper.errors import ToolError
from turnkeeper.tools import ContentBlock
from turnkeeper.types import Block

if TYPE_CHECKING:
    import mcp_types

__all__ = ("FAILED_SILENTLY", "content_of")

FAILED_SILENTLY = "The tool failed, and its server did not say why."
_LONGEST_WORD = 300


def content_of(result: mcp_types.CallToolResult) -> str | list[Block]:
    """The content; ToolError with the text of a result whose `isError` is set, and of no other.

    What the API has no block for (audio, links, files of other kinds) is named in words. `structuredContent` follows
    the blocks unless they say the same; alone, it is the content, as JSON.
    """
    blocks = [_block(one) for one in result.content]
    texts = [block["text"] for block in blocks if block["type"] == "text"]
    structured = result.structured_content
    if structured is not None and not _is_told(structured, texts):
        blocks.append(_text(_json(structured)))
        texts.append(blocks[-1]["text"])
    if result.is_error:
        raise ToolError("\n".join(text for text in texts if text.strip()) or FAILED_SILENTLY)
    if len(blocks) == 1 and blocks[0]["type"] == "text":
        return str(blocks[0]["text"])
    return blocks or ""


def _block(content: Any) -> Block:
    if content.type == "text":
        return _text(content.text)
    if content.type == "image":
        return _file(content.mime_type, content.data, "image")
    if content.type == "audio":
        return _text(f"[audio of type {_word(content.mime_type)}, {_size(content.data)}: it can't be shown here]")
    if content.type == "resource_link":
        about = [_word(content.title or content.name)]
        about += [_word(part) for part in (content.mime_type, content.description) if part]
        return _text(f"[link to a resource: {_word(content.uri)} ({', '.join(about)})]")
    resource = content.resource
    if hasattr(resource, "text"):
        return _text(f"[resource {_word(resource.uri)}]\n{resource.text}")
    return _file(resource.mime_type or "", resource.blob, f"resource {_word(resource.uri)}")


def _file(kind: str, data: str, what: str) -> Block:
    """An image or a PDF as its block (mended or named later, where the API would refuse it), anything else in words."""
    if kind.startswith("image/"):
        return ContentBlock(type="image", source={"type": "base64", "media_type": kind, "data": data})
    if kind == "application/pdf":
        return ContentBlock(type="document", source={"type": "base64", "media_type": kind, "data": data})
    return _text(f"[{what} of type {_word(kind) or 'unknown'}, {_size(data)}: it can't be shown here]")


def _is_told(structured: Any, texts: list[str]) -> bool:
    """Whether the blocks say what the structured content says: as JSON, or as what its only member wraps."""
    wrapped = next(iter(structured.values())) if isinstance(structured, dict) and len(structured) == 1 else None
    if wrapped is not None and (wrapped == "\n".join(texts) or wrapped == texts):
        return True
    values = [_parsed(text) for text in texts]
    return structured in values or (wrapped is not None and (wrapped in values or wrapped == values))


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _text(text: str) -> Block:
    return ContentBlock.text(text)


def _word(value: Any) -> str:
    text = " ".join(str(value or "").split())
    return text if len(text) <= _LONGEST_WORD else f"{text[:_LONGEST_WORD]}…"


def _size(data: str) -> str:
    try:
        return f"{len(base64.b64decode(data, validate=True))} bytes"
    except ValueError:
        return "damaged"
