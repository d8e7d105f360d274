"""The rate-limit headers of a response: what is left of this minute. Nothing is refused because of them.

Source: platform.claude.com/docs/en/api/rate-limits (cache reads don't count as input tokens; remaining tokens are
rounded to thousands; times are RFC 3339).
"""

from __future__ import annotations

import datetime
import threading

from turnkeeper.types import Usage

__all__ = ("RateLimits",)

REQUESTS = 4_000
INPUT_TOKENS = 2_000_000
OUTPUT_TOKENS = 400_000


class RateLimits:
    """Counts of the running minute. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._minute = -1
        self._used = (0, 0, 0)

    def count(self, usage: Usage, *, now: float) -> list[tuple[str, str]]:
        """Count one request and give the headers that go with its response."""
        minute = int(now // 60)
        with self._lock:
            if minute != self._minute:
                self._minute, self._used = minute, (0, 0, 0)
            requests, tokens_in, tokens_out = self._used
            tokens_in += usage.input_tokens + usage.cache_creation_input_tokens
            requests, tokens_out = requests + 1, tokens_out + usage.output_tokens
            self._used = requests, tokens_in, tokens_out
        reset = datetime.datetime.fromtimestamp((minute + 1) * 60, datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        rows = (
            ("requests", REQUESTS, requests, 1),
            ("tokens", INPUT_TOKENS + OUTPUT_TOKENS, tokens_in + tokens_out, 1_000),
            ("input-tokens", INPUT_TOKENS, tokens_in, 1_000),
            ("output-tokens", OUTPUT_TOKENS, tokens_out, 1_000),
        )
        headers = []
        for name, limit, used, step in rows:
            left = max(limit - used, 0)
            headers += [
                (f"anthropic-ratelimit-{name}-limit", str(limit)),
                (f"anthropic-ratelimit-{name}-remaining", str(left // step * step)),
                (f"anthropic-ratelimit-{name}-reset", reset),
            ]
        return headers
