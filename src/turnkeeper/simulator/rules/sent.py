"""What the simulator sent before: the port that rules about thinking check against, and a plain implementation.

The API signs thinking blocks, so it can tell whether a block comes back as it left and in the conversation it left
in. The simulator remembers instead.
"""

from __future__ import annotations

import copy
import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from turnkeeper.types import Block

__all__ = ("RememberedReplies", "SentReplies", "SentReply", "mark_of", "prefix_digests")

_THINKING = ("thinking", "redacted_thinking")


@dataclass(frozen=True, slots=True)
class SentReply:
    """One reply as it was sent: the base id of the model it came from, and its blocks."""

    model: str
    content: tuple[Block, ...]


class SentReplies(Protocol):
    """What the rules ask about earlier replies. A signature is a thinking block's, or a redacted block's `data`."""

    def signature_known(self, signature: str) -> bool:
        """Whether a block with this signature was ever sent."""
        ...

    def prefix_digest_for(self, signature: str) -> str | None:
        """The digest (`prefix_digests`) of the conversation before the block; None if none was kept."""
        ...

    def original_block(self, signature: str) -> Block | None:
        """The block as it was sent."""
        ...

    def reply_with(self, key: str) -> SentReply | None:
        """The reply that held the block with this signature, or the tool_use with this id."""
        ...


def mark_of(block: Mapping[str, Any]) -> str | None:
    """What identifies a thinking block: its signature, or a redacted block's data. None for any other block."""
    key = {"thinking": "signature", "redacted_thinking": "data"}.get(str(block.get("type")))
    mark = block.get(key) if key else None
    return mark if isinstance(mark, str) else None


@dataclass(slots=True)
class RememberedReplies:
    """Replies kept in memory: enough for the simulator's ledger, and for tests of the rules."""

    _blocks: dict[str, Block] = field(default_factory=dict)
    _digests: dict[str, str] = field(default_factory=dict)
    _replies: dict[str, SentReply] = field(default_factory=dict)

    def remember(self, request: Mapping[str, Any], content: Sequence[Block], *, model: str) -> None:
        """Keep the reply `content` that answered `request`; `model` is the base id of the model that answered."""
        reply = SentReply(model, tuple(copy.deepcopy(list(content))))
        self._digests.update(prefix_digests(request, content))
        for block in reply.content:
            mark = mark_of(block)
            if mark is not None:
                self._blocks[mark] = block
                self._replies[mark] = reply
            elif block.get("type") == "tool_use":
                self._replies[block["id"]] = reply

    def signature_known(self, signature: str) -> bool:
        """Whether a block with this signature was remembered."""
        return signature in self._blocks

    def prefix_digest_for(self, signature: str) -> str | None:
        """The digest of the conversation before the block."""
        return self._digests.get(signature)

    def original_block(self, signature: str) -> Block | None:
        """The block as it was sent."""
        return self._blocks.get(signature)

    def reply_with(self, key: str) -> SentReply | None:
        """The reply that held this signature or tool_use id."""
        return self._replies.get(key)


def prefix_digests(request: Mapping[str, Any], content: Iterable[Any] = ()) -> dict[str, str]:
    """For each thinking block of the request's messages and of the reply `content` after them: the digest before it.

    The digest covers `system`, `tools` and every earlier block, except what may change freely: `cache_control` marks,
    null members, blank text, the direct caller of a tool_use. It is two hashes, joined by a dot: of that content, and
    of the thinking block sent just before (`-` for none). A leading run of thinking blocks may be left out later
    (platform.claude.com/docs/en/models/fable-5-1/whats-new-fable-5-1); `same_prefix` of the thinking rules compares.
    """
    running = hashlib.sha256(_packed([_plain(request.get("system")), _plain(request.get("tools"))]))
    before = "-"
    digests: dict[str, str] = {}
    for role, block in _flat(request.get("messages"), content):
        mark = mark_of(block)
        if block.get("type") in _THINKING:
            if mark is not None:
                digests.setdefault(mark, f"{running.hexdigest()}.{before}")
                before = hashlib.sha256(mark.encode("utf-8", "surrogatepass")).hexdigest()
            continue
        if block.get("type") == "text" and not str(block.get("text", "")).strip():
            continue
        running.update(_packed([role, _plain_block(block)]))
    return digests


def _flat(messages: Any, content: Iterable[Any]) -> Iterable[tuple[str, Mapping[str, Any]]]:
    for message in messages if isinstance(messages, list) else ():
        if not isinstance(message, Mapping):
            continue
        role, parts = str(message.get("role")), message.get("content")
        for block in _as_blocks(parts):
            yield role, block
    for block in content:
        if isinstance(block, Mapping):
            yield "assistant", block


def _as_blocks(content: Any) -> Iterable[Mapping[str, Any]]:
    if isinstance(content, str):
        return ({"type": "text", "text": content},)
    return [block for block in content if isinstance(block, Mapping)] if isinstance(content, list) else ()


def _plain(value: Any) -> Any:
    return [_plain_block(block) for block in _as_blocks(value)]


def _plain_block(block: Mapping[str, Any]) -> dict[str, Any]:
    kept = {key: value for key, value in block.items() if key != "cache_control" and value is not None}
    if kept.get("caller") == {"type": "direct"}:
        del kept["caller"]
    if kept.get("type") == "tool_result" and isinstance(kept.get("content"), list):
        kept["content"] = _plain(kept["content"])
    return kept


def _packed(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), default=str).encode()
