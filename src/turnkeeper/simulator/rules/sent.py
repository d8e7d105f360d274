"""What the simulator sent before: the port that rules about thinking check against, and a plain implementation.

The API signs thinking blocks, so it can tell whether a block comes back as it left and in the conversation it left
in. The simulator remembers instead.
"""

from __future__ import annotations

import copy
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from turnkeeper.types import Block

__all__ = ("PrefixChain", "RememberedReplies", "SentReplies", "SentReply", "mark_of", "prefix_digest")

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
        """The `prefix_digest` of the request that the block's reply answered; None if none was kept."""
        ...

    def original_block(self, signature: str) -> Block | None:
        """The block as it was sent."""
        ...

    def reply_with(self, key: str) -> SentReply | None:
        """The reply that held the block with this signature, or the tool_use with this id; None if not remembered."""
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
        digest = prefix_digest(request)
        for block in reply.content:
            mark = mark_of(block)
            if mark is not None:
                self._digests[mark] = digest
                self._blocks[mark] = block
                self._replies[mark] = reply
            elif block.get("type") == "tool_use":
                self._replies[block["id"]] = reply

    def signature_known(self, signature: str) -> bool:
        """Whether a block with this signature was remembered."""
        return signature in self._blocks

    def prefix_digest_for(self, signature: str) -> str | None:
        """The digest of the request that the block's reply answered."""
        return self._digests.get(signature)

    def original_block(self, signature: str) -> Block | None:
        """The block as it was sent."""
        return self._blocks.get(signature)

    def reply_with(self, key: str) -> SentReply | None:
        """The reply that held this signature or tool_use id."""
        return self._replies.get(key)


def prefix_digest(request: Mapping[str, Any]) -> str:
    """The digest of a request's conversation: what a thinking block of its reply is bound to.

    It covers `system`, `tools` and the blocks of all messages, except what may change freely afterwards: thinking
    blocks (a leading run may be left out), `cache_control` marks, null members, blank text, the direct caller of a
    tool_use, and where one message of a role ends and the next begins.
    Source: platform.claude.com/docs/en/models/fable-5-1/whats-new-fable-5-1.
    """
    chain = PrefixChain(request.get("system"), request.get("tools"))
    messages = request.get("messages")
    for message in messages if isinstance(messages, list) else ():
        if isinstance(message, Mapping):
            for block in _as_blocks(message.get("content")):
                chain.add(str(message.get("role")), block)
    return chain.digest()


class PrefixChain:
    """The running digest of a conversation, block by block; `prefix_digest` says what it covers."""

    __slots__ = ("_digest", "_running")

    def __init__(self, system: Any, tools: Any) -> None:
        self._running = hashlib.sha256(_packed([_plain(system), _plain(tools)]))
        self._digest: str | None = None

    def add(self, role: str, block: Mapping[str, Any]) -> None:
        """The next block of the conversation."""
        kind = block.get("type")
        if kind in _THINKING or (kind == "text" and not str(block.get("text", "")).strip()):
            return
        self._running.update(_packed([role, _plain_block(block)]))
        self._digest = None

    def digest(self) -> str:
        """The digest of everything added so far."""
        if self._digest is None:
            self._digest = self._running.hexdigest()
        return self._digest


def _as_blocks(content: Any) -> Sequence[Mapping[str, Any]]:
    if isinstance(content, str):
        return ({"type": "text", "text": content},)
    return [block for block in content if isinstance(block, Mapping)] if isinstance(content, list) else ()


def _plain(value: Any) -> list[dict[str, Any]]:
    return [_plain_block(block) for block in _as_blocks(value)]


def _plain_block(block: Mapping[str, Any]) -> dict[str, Any]:
    kept = {key: value for key, value in block.items() if key != "cache_control" and value is not None}
    if kept.get("caller") == {"type": "direct"}:
        del kept["caller"]
    if kept.get("type") == "tool_result" and isinstance(kept.get("content"), list):
        kept["content"] = _plain(kept["content"])
    return kept


def _packed(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()
