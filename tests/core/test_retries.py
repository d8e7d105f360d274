"""Which failed requests go out again, and after how long."""

from __future__ import annotations

import pytest

from turnkeeper.core.retries import RetryPolicy, is_retryable, wait_before_retry


@pytest.mark.parametrize(
    ("kind", "status", "retryable"),
    [
        ("overloaded_error", 529, True),
        ("overloaded_error", 200, True),
        ("rate_limit_error", 429, True),
        ("api_error", 500, True),
        ("timeout_error", 504, True),
        ("connection_error", None, True),
        ("stream_cut", 200, True),
        ("malformed_reply", 200, True),
        ("invalid_request_error", 400, False),
        ("authentication_error", 401, False),
        ("billing_error", 402, False),
        ("permission_error", 403, False),
        ("not_found_error", 404, False),
        ("request_too_large", 413, False),
        ("unknown_error", 408, True),
        ("unknown_error", 418, False),
        ("something_new", 400, False),
        ("unavailable_error", 503, True),
        ("InternalServerError", 500, True),
        ("throttling_error", 429, True),
        ("conflict_error", 409, True),
        ("something_new", 520, True),
        ("something_new", 200, True),
        ("something_new", None, False),
        ("client_error", None, False),
        ("invalid_request_error", 500, False),
        ("authentication_error", 200, False),
    ],
)
def test_only_what_may_succeed_later_is_retried(kind: str, status: int | None, retryable: bool) -> None:
    assert is_retryable(kind, status) is retryable


def test_a_spend_cap_is_never_waited_for_and_the_server_has_the_last_word() -> None:
    assert not is_retryable("rate_limit_error", 429, error_code="enforced_spend_limit_reached", told="true")
    assert is_retryable("invalid_request_error", 400, told="true")
    assert not is_retryable("api_error", 500, told="false")


def wait(attempt: int, *, retryable: bool = True, asked: float | None = None, chance: float = 0.0) -> float | None:
    return wait_before_retry(RetryPolicy(), attempt=attempt, retryable=retryable, retry_after=asked, chance=chance)


def test_waits_double_up_to_the_longest_and_end() -> None:
    assert [wait(attempt) for attempt in range(1, 7)] == [0.5, 1.0, 2.0, 4.0, None, None]
    policy = RetryPolicy(retries=9)
    found = wait_before_retry(policy, attempt=9, retryable=True, retry_after=None, chance=0.0)
    assert found == 8.0


def test_chance_takes_off_up_to_a_quarter() -> None:
    assert wait(1, chance=1.0) == 0.375


def test_the_server_is_waited_for_as_it_asks_unless_it_asks_too_much() -> None:
    assert wait(1, asked=7.5) == 7.5
    assert wait(1, asked=60.0) == 60.0
    assert wait(1, asked=61.0) is None
    assert wait(1, asked=0.0) == 0.5
    assert wait(5, asked=1.0) is None


def test_what_is_not_retryable_is_not_retried() -> None:
    assert wait(1, retryable=False, asked=1.0) is None
