"""Answers that are errors, from the API and from endpoints that imitate it more or less."""

from __future__ import annotations

import json
import traceback
from typing import Any

import anthropic
import anyio
import httpx2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import turnkeeper as tk
from turnkeeper.client.api import APIClient
from turnkeeper.client.failures import failure_in_stream
from turnkeeper.core.retries import RetryPolicy
from turnkeeper.errors import APIError, ConfigurationError

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


KEY = "gw/ключ-нет:7f3a+9c"  # no pattern of a key: only the client knows that it is one
ASCII_KEY = "gw/7f3a+9c=e2 b1"


def _walk(error: BaseException | None) -> list[BaseException]:
    """The exception with everything that hangs on it."""
    if error is None:
        return []
    return [error, *_walk(error.__cause__), *_walk(error.__context__)]


@pytest.mark.anyio
@pytest.mark.parametrize("status", [400, 403, 404, 429, 500, 529])
@pytest.mark.parametrize("spelled", [ASCII_KEY, "gw%2F7f3a%2B9c%3De2%20b1", "gw%2F7f3a%2B9c%3De2+b1"])
async def test_an_error_repeats_no_key_wherever_the_endpoint_put_it(status: int, spelled: str) -> None:
    inner = {
        "type": f"kind {spelled}",
        "message": f"键 {spelled} 被拒绝",
        "details": {"error_code": 1, "seen": [spelled]},
    }
    answer = json.dumps({"error": inner}).encode()

    def handle(request: httpx2.Request) -> httpx2.Response:
        assert request.headers["authorization"] == f"Bearer {ASCII_KEY}"
        return httpx2.Response(status, content=answer, headers={"request-id": f"req {spelled}"})

    http = httpx2.AsyncClient(transport=httpx2.MockTransport(handle))
    async with anthropic.AsyncAnthropic(api_key=ASCII_KEY, base_url="http://x.test", http_client=http) as sdk:
        with pytest.raises(APIError) as raised:
            await APIClient(sdk).send(b"{}")
    error = raised.value
    assert (str(error), error.kind, error.request_id) == ("键 *** 被拒绝", "kind ***", "req ***")
    assert error.details == {"error_code": 1, "seen": ["***"]}
    assert _walk(error) == [error]  # nothing of the SDK's hangs on it, whose text and request hold the key
    shown = "".join(traceback.format_exception(error))
    assert ASCII_KEY not in shown
    assert spelled not in shown


@pytest.mark.anyio
async def test_headers_of_the_callers_own_and_a_login_in_the_address_are_keys_too() -> None:
    secrets = {"X-Gateway-Token": "tok-1 a", "Cookie": "sid=s3ssion; t=othervalue", "x-request-tag": "harmless"}
    answer = {"error": {"message": "tok-1 a s3ssion othervalue p%40ssw0rd p@ssw0rd qu3ryvalue harmless"}}

    def handle(request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(400, json=answer)

    http = httpx2.AsyncClient(transport=httpx2.MockTransport(handle))
    address, query = "http://us:p%40ssw0rd@x.test", {"sig": "qu3ryvalue", "api-version": "harmless"}
    async with anthropic.AsyncAnthropic(api_key="none", base_url=address, http_client=http, default_query=query) as sdk:
        with pytest.raises(APIError) as raised:
            await APIClient(sdk, headers=secrets).send(b"{}")
    assert str(raised.value) == "*** *** *** *** *** *** harmless"


@pytest.mark.anyio
async def test_an_error_inside_a_stream_repeats_no_key() -> None:
    event = {"type": "error", "error": {"type": "api_error", "message": f"no model for {ASCII_KEY}"}}
    body = f"event: error\ndata: {json.dumps(event)}\n\n".encode()

    def handle(request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, content=body, headers={"content-type": "text/event-stream"})

    http = httpx2.AsyncClient(transport=httpx2.MockTransport(handle))
    sdk = anthropic.AsyncAnthropic(api_key=ASCII_KEY, base_url="http://x.test", http_client=http)
    agent = tk.Agent(client=sdk, retry=RetryPolicy(retries=0))
    async with sdk, agent.open() as keeper:
        conversation = await keeper.conversation("c")
        with pytest.raises(APIError) as raised:
            await conversation.send("привет")
        kept = await keeper.journal.export("c")
    assert str(raised.value) == "no model for ***"
    assert ASCII_KEY not in kept
    assert "no model for ***" in kept


@pytest.mark.anyio
async def test_what_broke_a_connection_is_told_in_a_note_without_the_key() -> None:
    def handle(request: httpx2.Request) -> httpx2.Response:
        raise httpx2.LocalProtocolError(f"Illegal header value b'Bearer {ASCII_KEY}'", request=request)

    http = httpx2.AsyncClient(transport=httpx2.MockTransport(handle))
    async with anthropic.AsyncAnthropic(api_key=ASCII_KEY, base_url="http://x.test", http_client=http) as sdk:
        with pytest.raises(APIError) as raised:
            await APIClient(sdk).send(b"{}")
    error = raised.value
    assert str(error) == "the connection to the API failed (LocalProtocolError)"
    [note] = error.__notes__
    assert note == "from APIConnectionError: Connection error., from LocalProtocolError: Illegal header value b'***'"
    assert ASCII_KEY not in "".join(traceback.format_exception(error))
    assert _walk(error) == [error]


@pytest.mark.parametrize("key", [KEY, "sk-ant-line\nbreak"])
def test_a_key_that_no_header_can_carry_is_refused_without_being_shown(key: str) -> None:
    agent = tk.Agent(api_key=key, base_url="http://127.0.0.1:9")
    with pytest.raises(ConfigurationError, match="the key holds characters that no key has") as raised:
        agent.run_sync("x")
    assert key not in "".join(traceback.format_exception(raised.value))


@pytest.mark.anyio
async def test_a_key_at_the_place_where_a_long_text_is_cut_leaves_no_half() -> None:
    found = await refused(400, json.dumps({"error": {"message": "x" * 1990 + " sk-ant-SENTINEL-0123456789"}}).encode())
    assert str(found) == "x" * 1990 + " sk-***"
