"""What was asked and answered: every request with its bytes, what was sent back, and what it would have cost."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Literal

from turnkeeper.models import find
from turnkeeper.simulator.cache import InputTokens, PromptCache
from turnkeeper.types import Usage

__all__ = ("Ledger", "Record", "Refusal")

DEFAULT_CACHE_MINIMUM = 1_024
"""Shortest cached prefix, in tokens, of a model whose minimum isn't known."""


KEEP_BYTES = 256 * 2**20
"""Bytes of requests' bodies that a ledger keeps; parsed, they take several times as much."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a request was answered 4xx: the rule broken, the place in the request, and how to repair it."""

    rule: str
    path: str
    status: int
    type: str
    message: str
    repair: str = ""
    details: Mapping[str, Any] | None = None


@dataclass(slots=True, kw_only=True)
class Record:
    """One request and its answer; filled in while the answer is sent.

    `time` is the clock's when the request came, in seconds. `body` is the parsed body, None if it isn't a JSON
    object. `message` is the reply's message as JSON (also of a streamed one), None for other answers. `outcome` is
    `open` until the answer has ended, then `complete`, `cut`, `abandoned` (by the client), `refused` or `reset` (no
    response).
    """

    number: int
    time: float
    method: str
    path: str
    headers: Mapping[str, str]
    raw: bytes
    body: dict[str, Any] | None = None
    status: int | None = None
    response_headers: Mapping[str, str] = field(default_factory=dict)
    message: dict[str, Any] | None = None
    usage: Usage = field(default_factory=Usage)
    refusal: Refusal | None = None
    error: BaseException | None = None
    outcome: Literal["open", "complete", "cut", "abandoned", "refused", "reset"] = "open"


class Ledger:
    """Records of the last `keep` requests (None: of all), the prompt cache, and totals over everything. Thread-safe.

    Bodies of requests are kept up to `keep_bytes` in all; older records lose theirs (`raw` is empty, `body` None).
    """

    def __init__(self, *, keep: int | None = None, keep_bytes: int = KEEP_BYTES) -> None:
        self._lock = threading.Lock()
        self._keep_bytes = keep_bytes
        self._bytes = 0
        self._whole: deque[Record] = deque()
        self._records: deque[Record] = deque(maxlen=keep)
        self._count = 0
        self._cache = PromptCache()
        self._usage = Usage()
        self._cost: Decimal | None = Decimal(0)

    @property
    def records(self) -> tuple[Record, ...]:
        """What is kept, oldest first."""
        with self._lock:
            return tuple(self._records)

    @property
    def count(self) -> int:
        """Requests so far, those no longer kept included."""
        return self._count

    @property
    def usage(self) -> Usage:
        """Tokens of all replies together."""
        return self._usage

    def cost(self) -> Decimal | None:
        """What all replies together would have cost, in USD; None if one of the models has no known price."""
        return self._cost

    def open(self, **fields: Any) -> Record:
        """Start the record of a request that came in."""
        with self._lock:
            self._count += 1
            record = Record(number=self._count, **fields)
            self._records.append(record)
            self._whole.append(record)
            self._bytes += len(record.raw)
            while len(self._whole) > len(self._records):  # no longer kept at all
                self._bytes -= len(self._whole.popleft().raw)
            while self._bytes > self._keep_bytes and len(self._whole) > 1:
                oldest = self._whole.popleft()
                self._bytes -= len(oldest.raw)
                oldest.raw, oldest.body = b"", None
        return record

    def account(self, request: Mapping[str, Any], *, now: float) -> InputTokens:
        """The input tokens of a request, with what it reads from and writes to the prompt cache."""
        minimum = find(str(request.get("model"))).cache_minimum
        with self._lock:
            return self._cache.account(request, now=now, minimum=DEFAULT_CACHE_MINIMUM if minimum is None else minimum)

    def begin(self, record: Record, tokens: InputTokens, message: dict[str, Any], *, now: float) -> None:
        """The reply to a request begins: its cache entries become readable, its tokens are billed."""
        record.message = message
        usage = message.get("usage")
        record.usage = Usage.of(usage if isinstance(usage, Mapping) else None)
        with self._lock:
            self._cache.begin(tokens, now=now)
            self._usage += record.usage
            if message.get("stop_reason") == "refusal" and not message.get("content"):
                return  # A refusal before any output is not billed.
            price = find(str(message.get("model"))).cost(record.usage)
            self._cost = None if price is None or self._cost is None else self._cost + price
