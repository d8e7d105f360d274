"""Long conversations: before the window is full, the API is asked to put a summary in the place of what came first.

The history that is sent stays whole, and so does the journal: the API leaves out by itself what its summary stands for
(platform.claude.com/docs/en/build-with-claude/compaction). Nothing is ever cut here, where a cut could part a call from
its result, or thinking from what it is bound to.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from turnkeeper.wire.json import encode

__all__ = ("BETA", "LEAST_TRIGGER", "WINDOW_FULL", "Compaction", "holds_summary", "is_full")

BETA = "compact-2026-01-12"
LEAST_TRIGGER = 50_000
"""The smallest number of tokens that the API takes."""
WINDOW_FULL = "context_window"
"""The kind of a RequestFailed whose prompt the model's window does not hold."""
_SHARE = 0.75


@dataclass(frozen=True, slots=True)
class Compaction:
    """When the API is asked to compact: from a prompt of `trigger` tokens on."""

    trigger: int

    @classmethod
    def for_window(cls, window: int) -> Compaction:
        """At three quarters of the window, so that a long reply and its results still fit."""
        return cls(max(int(window * _SHARE), LEAST_TRIGGER))

    def member(self, tokens: int, *, compacted: bool) -> str | None:
        """The member of the request, as JSON text; None while the prompt is short and holds no summary yet."""
        if tokens < self.trigger and not compacted:
            return None
        edit = {"type": "compact_20260112", "trigger": {"type": "input_tokens", "value": self.trigger}}
        return f'"context_management":{encode({"edits": [edit]})}'


def holds_summary(blocks: Iterable[str]) -> bool:
    """Whether a reply holds the summary of what came before it: later requests need the beta to send it back."""
    return any(
        '"compaction"' in raw[:200] and raw.replace(" ", "").startswith('{"type":"compaction"') for raw in blocks
    )


def is_full(status: int | None, message: str) -> bool:
    """Whether the API refused a request because its prompt is too long."""
    return status in (400, 413) and "prompt is too long" in message.lower()
