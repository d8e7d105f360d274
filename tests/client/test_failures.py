"""Answers that are errors, from the API and from endpoints that imitate it more or less."""

from __future__ import annotations

import json
from typing import Any

import anthropic
import anyio
import httpx2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from turnkeeper.client.api import APIClient
from turnkeeper.client.failures import failure_in_stream
from turnkeeper.errors import APIError

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | (st.text(max_size=8) | st.just("\ud83d")),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


async def refused(status: int, body: bytes, **headers: str) -> APIError:
    def handle(request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(status, content=body, headers={"content-type": "application/json", **headers})

    http = httpx2.AsyncClient(transport=httpx2.MockTransport(handle))
    async with anthropic.AsyncAnthropic(api_key="k", base_url="http://x.test", http_client=http) as sdk:
        with pytest.raises(APIError) as raised:
            await APIClient(sdk).send(b"{}")
    return raised.value


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("status", "error", "kind", "retryable"),
    [
        (503, {"code": 503, "message": "Loading model", "type": "unavailable_error"}, "unavailable_error", True),
        (500, {"message": "x", "type": "InternalServerError"}, "InternalServerError", True),
        (429, {"message": "x", "type": "throttling_error"}, "throttling_error", True),
        (409, {"message": "x", "type": "conflict_error"}, "conflict_error", True),
        (408, {"message": "x", "type": None}, "timeout_error", True),
        (500, {"message": "x", "type": "invalid_request_error"}, "invalid_request_error", False),
        (400, {"message": "x", "type": "BadRequestError"}, "BadRequestError", False),
        (400, {"message": "x", "type": {"a": 1}}, "invalid_request_error", False),
        (422, {"message": "x"}, "unknown_error", False),
    ],
)
async def test_the_kinds_of_other_endpoints_are_judged_by_their_status(
    status: int, error: dict[str, Any], kind: str, retryable: bool
) -> None:
    found = await refused(status, json.dumps({"error": error}).encode())
    assert (found.kind, found.status, found.retryable) == (kind, status, retryable)


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("body", "says"),
    [
        ({"error": {"message": "the API's way"}}, "the API's way"),
        ({"error": "модель не найдена"}, "модель не найдена"),
        ({"message": "Amazon's way"}, "Amazon's way"),
        ({"detail": "a web framework's way"}, "a web framework's way"),
        ({"error": {"message": ["x"], "details": "none", "type": 5}}, "without an error message"),
        ({"error": ["x"], "detail": {}}, "without an error message"),
        (["x"], "without an error message"),
        ("x", "without an error message"),
        (None, "without an error message"),
    ],
)
async def test_the_message_is_found_wherever_an_endpoint_puts_it(body: Any, says: str) -> None:
    found = await refused(404, json.dumps(body).encode())
    assert (found.kind, found.details) == ("not_found_error", None)
    assert says in str(found)


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("given", "seconds"),
    [("7.5", 7.5), ("soon", None), ("", None), ("Wed, 99 Foo 99999", None), ("Thu, 01 Jan 1970 00:00:00 GMT", 0.0)],
)
async def test_the_wait_that_a_server_asks_for_is_read_where_it_is_one(given: str, seconds: float | None) -> None:
    found = await refused(429, b"{}", **{"retry-after": given})
    assert (found.retry_after, found.retryable) == (seconds, True)


@settings(deadline=None)
@given(JSON, st.sampled_from([400, 401, 404, 409, 429, 500, 503, 529]))
def test_any_error_body_is_an_api_error(body: Any, status: int) -> None:
    found = anyio.run(lambda: refused(status, json.dumps(body).encode()))
    assert found.status == status
    assert len(f"{found.kind}{found}".encode()) > 0


@given(JSON | st.fixed_dictionaries({"error": st.fixed_dictionaries({"type": JSON, "message": JSON, "details": JSON})}))
def test_any_error_event_is_an_api_error(data: Any) -> None:
    found = failure_in_stream(data, "req_1")
    assert (found.status, found.request_id) == (200, "req_1")
    assert len(f"{found.kind}{found}".encode()) > 0


def test_an_error_event_of_another_endpoint_is_retried_unless_its_kind_is_final() -> None:
    assert failure_in_stream({"error": {"type": "server_error", "message": "x"}}, None).retryable
    assert not failure_in_stream({"error": {"type": "invalid_request_error", "message": "x"}}, None).retryable
    spent = {"type": "rate_limit_error", "details": {"error_code": "enforced_spend_limit_reached"}}
    assert not failure_in_stream({"error": spent}, None).retryable
    assert failure_in_stream({"error": spent | {"details": {"error_code": {}}}}, None).retryable
