"""The prompt cache, by the documented rules: marks, 20 positions of lookback, minimum lengths, two lifetimes.

Per request: every mark looks at up to 20 positions (itself included), walking back, for a prefix that an earlier
request wrote at a mark; the longest hit is read. One entry is written at each mark that is long enough. Entries
become readable when the writer's response begins; their lifetime runs from the start of the request that wrote or
read them.
Source: platform.claude.com/docs/en/build-with-claude/prompt-caching.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any

from turnkeeper.simulator.prompt import Position, count_tokens, has_marks, positions

__all__ = ("InputTokens", "PromptCache")

LOOKBACK = 20


@dataclass(frozen=True, slots=True)
class _Entry:
    lifetime: int
    expires: float


@dataclass(frozen=True, slots=True)
class InputTokens:
    """The input side of one request's usage, in tokens, and what it will write when its response begins."""

    input: int
    read: int
    written_5m: int
    written_1h: int
    writes: Mapping[str, _Entry]

    def usage(self) -> dict[str, Any]:
        """As the reply's `usage` object states it (without the output side)."""
        return {
            "input_tokens": self.input,
            "cache_creation_input_tokens": self.written_5m + self.written_1h,
            "cache_read_input_tokens": self.read,
            "cache_creation": {
                "ephemeral_5m_input_tokens": self.written_5m,
                "ephemeral_1h_input_tokens": self.written_1h,
            },
        }


class PromptCache:
    """Prefixes that earlier requests wrote; one workspace. Not thread-safe: the ledger holds the lock."""

    def __init__(self) -> None:
        self._entries: dict[str, _Entry] = {}

    def account(self, request: Mapping[str, Any], *, now: float, minimum: int) -> InputTokens:
        """What this request reads, writes and pays in full; refreshes what it reads. `minimum`: tokens of a prefix."""
        if not has_marks(request):
            return InputTokens(input=count_tokens(request), read=0, written_5m=0, written_1h=0, writes={})
        row = _with_automatic_mark(positions(request), request.get("cache_control"))
        sums = list(accumulate(position.tokens for position in row))
        total = max(1, sums[-1] if sums else 0)
        marks = [i for i, position in enumerate(row) if position.mark is not None and sums[i] >= minimum]
        hit = -1
        for mark in marks:
            for place in range(mark, max(mark - LOOKBACK, -1), -1):
                entry = self._entries.get(row[place].digest)
                if entry is not None and entry.expires > now:
                    self._entries[row[place].digest] = replace(entry, expires=now + entry.lifetime)
                    hit = max(hit, place)
                    break
        read = sums[hit] if hit >= 0 else 0
        hour = max((sums[i] for i in marks if i > hit and row[i].mark == 3600), default=read)
        last = max((sums[i] for i in marks if i > hit), default=read)
        return InputTokens(
            input=total - last,
            read=read,
            written_5m=last - hour,
            written_1h=hour - read,
            writes={row[i].digest: _entry(row[i], now) for i in marks},
        )

    def begin(self, tokens: InputTokens, *, now: float) -> None:
        """The response to an accounted request begins: its entries become readable. Drops what has expired."""
        self._entries = {digest: entry for digest, entry in self._entries.items() if entry.expires > now}
        for digest, entry in tokens.writes.items():
            known = self._entries.get(digest)
            if known is None or known.expires < entry.expires:
                self._entries[digest] = entry


def _entry(position: Position, now: float) -> _Entry:
    lifetime = position.mark or 300
    return _Entry(lifetime=lifetime, expires=now + lifetime)


def _with_automatic_mark(row: tuple[Position, ...], control: Any) -> tuple[Position, ...]:
    """The top-level `cache_control` puts one mark on the last eligible position."""
    if not isinstance(control, Mapping):
        return row
    for i in range(len(row) - 1, -1, -1):
        if row[i].eligible:
            mark = row[i].mark or (3600 if control.get("ttl") == "1h" else 300)
            return (*row[:i], replace(row[i], mark=mark), *row[i + 1 :])
    return row
