"""A request read as the API reads it: one row of positions, tools first, then system, then messages.

A position is one tool, one system block or one content block (the blocks of a tool result each count). Counting
tokens and caching prompts both work on this row. Token counts are an estimate: one token for four bytes of UTF-8,
fixed numbers for images and documents. Source of the order:
platform.claude.com/docs/en/build-with-claude/prompt-caching.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from turnkeeper.models import find
from turnkeeper.simulator.encoding import dump

__all__ = ("Position", "count_tokens", "estimate_output", "estimate_text", "has_marks", "positions")

IMAGE_TOKENS = 1_568
"""What an image counts, whatever its size (the cap of older models; the real number depends on its pixels)."""
DOCUMENT_TOKENS = 3_000
"""What a document that isn't text counts, whatever its length."""


@dataclass(frozen=True, slots=True)
class Position:
    """One place of the prompt: a digest of everything up to and including it, its own tokens, and its cache mark.

    `mark` is the lifetime that a `cache_control` on it asks for, in seconds (300 or 3600), or None. `eligible` says
    whether an automatic mark may stand here (never on thinking or on empty text).
    """

    segment: Literal["tools", "system", "messages"]
    digest: str
    tokens: int
    mark: int | None
    eligible: bool


def positions(request: Mapping[str, Any]) -> tuple[Position, ...]:
    """The row of a request. Marks, and fields that don't change the prompt, leave the digests alone."""
    chain = hashlib.sha256(dump(["model", request.get("model")]))
    row: list[Position] = []
    segment = ""
    for name, key, block in _blocks(request):
        if name != segment:
            segment = name
            chain.update(dump([name, _settings(request, name)]))
        chain.update(dump([key, _unmarked(block)]))
        row.append(
            Position(
                segment=name,
                digest=chain.hexdigest(),
                tokens=_tokens(block),
                mark=_lifetime(block),
                eligible=_eligible(block),
            )
        )
    return tuple(row)


def count_tokens(request: Mapping[str, Any]) -> int:
    """Estimated input tokens of a request, caching left aside; at least 1."""
    return max(1, sum(_tokens(block) for _, _, block in _blocks(request)))


def has_marks(request: Mapping[str, Any]) -> bool:
    """Whether a request asks for caching anywhere."""
    return isinstance(request.get("cache_control"), Mapping) or any(
        _lifetime(block) is not None for _, _, block in _blocks(request)
    )


def estimate_text(text: str) -> int:
    """Estimated tokens of a text: its UTF-8 bytes divided by 4, rounded up."""
    return -(-len(text.encode("utf-8", "surrogatepass")) // 4)


def estimate_output(content: Any) -> tuple[int, int]:
    """Estimated (output tokens, of them thinking tokens) of a reply's content. A reply without content counts 2."""
    blocks = [block for block in content if isinstance(block, Mapping)] if isinstance(content, list) else []
    thinking = sum(_tokens(block) for block in blocks if block.get("type") == "thinking")
    spoken = sum(_tokens(block) for block in blocks if not str(block.get("type")).endswith(("thinking", "tool_result")))
    return max(2, thinking + spoken), thinking


def _blocks(request: Mapping[str, Any]) -> Iterator[tuple[Literal["tools", "system", "messages"], str, Any]]:
    for tool in _list(request.get("tools")):
        # Deferred tools are stripped before the cache key is made, until a search expands them.
        if not (isinstance(tool, Mapping) and tool.get("defer_loading") is True):
            yield "tools", "tool", tool
    for block in _as_blocks(request.get("system")):
        yield "system", "system", block
    blocks = [
        (str(message.get("role")), block)
        for message in _list(request.get("messages"))
        if isinstance(message, Mapping)
        for block in _as_blocks(message.get("content"))
    ]
    # What a summary stands for is no part of the prompt any more (docs, build-with-claude/compaction).
    begins = max((place for place, (_, block) in enumerate(blocks) if _is_summary(block)), default=0)
    for role, block in blocks[begins:]:
        yield from (("messages", key, part) for key, part in _parts(role, block))


def _is_summary(block: Any) -> bool:
    return isinstance(block, Mapping) and block.get("type") == "compaction" and block.get("content") is not None


def _parts(role: str, block: Any) -> Iterator[tuple[str, Any]]:
    """A tool result with several blocks takes as many positions; its own fields count with the last."""
    is_result = isinstance(block, Mapping) and block.get("type") == "tool_result"
    inner = _as_blocks(block.get("content")) if is_result else []
    if not inner:
        yield role, block
        return
    shell = {key: value for key, value in block.items() if key != "content"}
    for part in inner[:-1]:
        yield f"{role}.{shell.get('tool_use_id')}", part
    last = inner[-1]
    mark = shell.pop("cache_control", None) or (last.get("cache_control") if isinstance(last, Mapping) else None)
    whole = {**shell, "content": [last]}
    yield role, {**whole, "cache_control": mark} if mark else whole


def _as_blocks(content: Any) -> list[Any]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return _list(content)


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _settings(request: Mapping[str, Any], segment: str) -> Any:
    """The request's other fields that a segment's cache depends on; defaults read the same as absent fields."""
    if segment == "tools":
        return None
    if segment == "system":
        return request.get("speed") if request.get("speed") != "standard" else None
    choice = _mapping(request.get("tool_choice"))
    output = _mapping(request.get("output_config"))
    model = find(str(request.get("model")))
    thinking = _mapping(request.get("thinking"))
    default = "disabled" if model.thinking_default == "off" else "adaptive"
    images = any(_is_image(block) for _, _, block in _blocks({"messages": request.get("messages")}))
    return [
        choice.get("type") if choice.get("type") != "auto" else None,
        choice.get("name"),
        bool(choice.get("disable_parallel_tool_use")),
        thinking if thinking and thinking != {"type": default} else None,
        output.get("effort") if output.get("effort") != model.effort_default else None,
        output.get("format"),
        images,
    ]


def _is_image(block: Any) -> bool:
    if not isinstance(block, Mapping):
        return False
    return block.get("type") == "image" or any(_is_image(part) for part in _list(block.get("content")))


def _unmarked(block: Any) -> Any:
    if not isinstance(block, Mapping):
        return block
    bare = {key: value for key, value in block.items() if key != "cache_control"}
    if isinstance(bare.get("content"), list):
        bare["content"] = [_unmarked(part) for part in bare["content"]]
    return bare


def _lifetime(block: Any) -> int | None:
    mark = block.get("cache_control") if isinstance(block, Mapping) else None
    if not isinstance(mark, Mapping):
        return None
    return 3600 if mark.get("ttl") == "1h" else 300


def _eligible(block: Any) -> bool:
    if not isinstance(block, Mapping):
        return False
    if block.get("type") in ("thinking", "redacted_thinking"):
        return False
    return not (block.get("type") == "text" and not str(block.get("text")))


def _tokens(block: Any) -> int:
    if not isinstance(block, Mapping):
        return -(-len(dump(block)) // 4)
    kind = block.get("type")
    if kind == "text":
        return estimate_text(str(block.get("text")))
    if kind == "thinking":
        return estimate_text(str(block.get("thinking")))
    if kind == "image":
        return IMAGE_TOKENS
    if kind == "document":
        source = block.get("source")
        text = source.get("data") if isinstance(source, Mapping) and source.get("type") == "text" else None
        return estimate_text(text) if isinstance(text, str) else DOCUMENT_TOKENS
    if kind == "tool_use":
        return estimate_text(str(block.get("name"))) + -(-len(dump(block.get("input"))) // 4)
    if kind == "tool_result":
        return max(1, sum(_tokens(part) for part in _as_blocks(block.get("content"))))
    return -(-len(dump(_unmarked(block))) // 4)
