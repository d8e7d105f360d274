"""Which failed requests go out again, and when. Pure: the caller brings the chance.

Which kinds may be retried: platform docs, api/errors and api/rate-limits; the official SDK's `_should_retry`. A spend
cap answers 429 without `retry-after` and never clears by waiting.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ("RetryPolicy", "is_retryable", "wait_before_retry")

_RETRYABLE = frozenset(
    {
        "api_error",
        "connection_error",
        "malformed_reply",
        "overloaded_error",
        "rate_limit_error",
        "stream_cut",
        "timeout_error",
    }
)
_FINAL = frozenset(
    {
        "authentication_error",
        "billing_error",
        "invalid_request_error",
        "not_found_error",
        "permission_error",
        "request_too_large",
    }
)
"""The API's own kinds that say that the request, the account or the key has to change first."""
_NEVER = "enforced_spend_limit_reached"


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """`retries` more tries of one request; waits start at `first_wait` seconds, double, and stop at `longest_wait`.

    A server that asks for more than `longest_asked` seconds is not waited for: the error reaches the caller.
    """

    retries: int = 4
    first_wait: float = 0.5
    longest_wait: float = 8.0
    longest_asked: float = 60.0


def is_retryable(kind: str, status: int | None, *, error_code: str | None = None, told: str | None = None) -> bool:
    """Whether the same request may succeed later. `told` is the `x-should-retry` header, which decides where given.

    Kinds of other endpoints say nothing here: their status decides. In a stream that began well (200) an unknown kind
    counts as a failure on the way, since the request itself had been accepted.
    """
    if error_code == _NEVER:
        return False
    if told in ("true", "false"):
        return told == "true"
    if kind in _RETRYABLE or kind in _FINAL:
        return kind in _RETRYABLE
    return status is not None and (status in (200, 408, 409, 429) or status >= 500)


def wait_before_retry(
    policy: RetryPolicy, *, attempt: int, retryable: bool, retry_after: float | None, chance: float
) -> float | None:
    """Seconds to wait before try `attempt + 1`, None if there is none. `chance` (0..1) takes off up to 25 %."""
    if not retryable or attempt > policy.retries:
        return None
    if retry_after is not None and retry_after > 0:
        return retry_after if retry_after <= policy.longest_asked else None
    wait = min(policy.first_wait * 2 ** min(attempt - 1, 20), policy.longest_wait)
    return float(wait * (1 - 0.25 * chance))
