"""What the simulator sent before, for the rules that check thinking blocks.

Signatures carry the block and the digest of the prompt before it (`seals`), so they are known again after a
restart. Whole replies are remembered in memory, the last `keep` of them; rules that compare with a whole reply pass
over forgotten ones.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence

from turnkeeper.simulator.rules.sent import SentReply, mark_of
from turnkeeper.simulator.seals import unseal
from turnkeeper.types import Block

__all__ = ("SentMemory",)


class SentMemory:
    """Replies that were sent, as the rules' `SentReplies`; thread-safe. `keep` is a number of replies, None for all."""

    def __init__(self, *, keep: int | None = None) -> None:
        self._keep = keep
        self._lock = threading.Lock()
        self._replies: OrderedDict[int, tuple[str, ...]] = OrderedDict()
        self._number = 0
        self._by_key: dict[str, SentReply] = {}
        self._digests: dict[str, str] = {}

    def remember(self, content: Sequence[Block], *, model: str, prefix: Callable[[], str]) -> None:
        """Keep a reply to the conversation with this digest; the script's own signatures are known from now on."""
        reply = SentReply(model, tuple(content))
        marks = [mark for block in content if (mark := mark_of(block)) is not None]
        calls = [
            id_ for block in content if block.get("type") == "tool_use" and isinstance(id_ := block.get("id"), str)
        ]
        digest = prefix() if marks else ""
        with self._lock:
            self._number += 1
            self._replies[self._number] = (*marks, *calls)
            self._by_key.update(dict.fromkeys((*marks, *calls), reply))
            self._digests.update(dict.fromkeys(marks, digest))
            while self._keep is not None and len(self._replies) > self._keep:
                for key in self._replies.popitem(last=False)[1]:
                    self._by_key.pop(key, None)
                    self._digests.pop(key, None)

    def signature_known(self, signature: str) -> bool:
        """Whether a block with this signature was ever sent, by this simulator or an earlier one."""
        return signature in self._by_key or unseal(signature) is not None

    def prefix_digest_for(self, signature: str) -> str | None:
        """The digest of the conversation before the block; None if the signature isn't known."""
        digest = self._digests.get(signature)
        if digest is not None:
            return digest
        sealed = unseal(signature)
        return None if sealed is None else sealed.prefix

    def original_block(self, signature: str) -> Block | None:
        """The block as it was sent."""
        reply = self._by_key.get(signature)
        for block in reply.content if reply is not None else ():
            if mark_of(block) == signature:
                return block
        sealed = unseal(signature)
        if sealed is None:
            return None
        key = "data" if sealed.block.get("type") == "redacted_thinking" else "signature"
        return {**sealed.block, key: signature}

    def reply_with(self, key: str) -> SentReply | None:
        """The reply that held this signature or tool_use id, if it is still remembered."""
        return self._by_key.get(key)
