"""Errors and lost connections, as the SDK sees them (sync and async, streamed and not)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import anthropic
import httpx2
import pytest

from tests.simulator.asking import HEADERS, ask, ask_raw
from turnkeeper.errors import InputError
from turnkeeper.testing import FixedClock, MessagesAPI, faults

REQUEST: Any = {
    "model": "claude-opus-5-5",
    "max_tokens": 64,
    "messages": [{"role": "user", "content": "Wie spät ist es?"}],
}


def sync_create(api: MessagesAPI, **options: Any) -> Any:
    return api.sync_client(**options).messages.create(**REQUEST)


def sync_stream(api: MessagesAPI, **options: Any) -> Any:
    with api.sync_client(**options).messages.stream(**REQUEST) as stream:
        return stream.get_final_message()


def async_create(api: MessagesAPI, **options: Any) -> Any:
    async def go() -> Any:
        async with api.client(**options) as client:
            return await client.messages.create(**REQUEST)

    return asyncio.run(go())


def async_stream(api: MessagesAPI, **options: Any) -> Any:
    async def go() -> Any:
        async with api.client(**options) as client, client.messages.stream(**REQUEST) as stream:
            return await stream.get_final_message()

    return asyncio.run(go())


@pytest.fixture(params=[sync_create, sync_stream, async_create, async_stream])
def converse(request: pytest.FixtureRequest) -> Callable[..., Any]:
    way: Callable[..., Any] = request.param
    return way


@pytest.mark.parametrize(
    ("fault", "kind", "status", "type_"),
    [
        (faults.rate_limited(7), anthropic.RateLimitError, 429, "rate_limit_error"),
        (faults.rate_limited(None), anthropic.RateLimitError, 429, "rate_limit_error"),
        (faults.overloaded(), anthropic.APIStatusError, 529, "overloaded_error"),
        (faults.server_error(), anthropic.InternalServerError, 500, "api_error"),
        (faults.gateway_timeout(), anthropic.APIStatusError, 504, "timeout_error"),
        (faults.bad_request("nein"), anthropic.BadRequestError, 400, "invalid_request_error"),
        (faults.unauthenticated(), anthropic.AuthenticationError, 401, "authentication_error"),
        (faults.http_error(402), anthropic.APIStatusError, 402, "billing_error"),
        (faults.http_error(403), anthropic.PermissionDeniedError, 403, "permission_error"),
        (faults.http_error(404), anthropic.NotFoundError, 404, "not_found_error"),
        (faults.http_error(409), anthropic.ConflictError, 409, "conflict_error"),
        (faults.http_error(503, type="api_error"), anthropic.InternalServerError, 503, "api_error"),
    ],
)
def test_an_error_status_raises_the_sdk_s_class(
    converse: Callable[..., Any], fault: Any, kind: type[anthropic.APIStatusError], status: int, type_: str
) -> None:
    api = MessagesAPI([fault, "danach"])
    with pytest.raises(kind) as caught:
        converse(api)
    assert (caught.value.status_code, caught.value.type) == (status, type_)
    assert caught.value.request_id == "req_000001"
    assert converse(api).content[0].text == "danach"
    assert [(record.status, record.outcome) for record in api.requests] == [(status, "complete"), (200, "complete")]
    api.assert_all_accepted()


def test_the_spend_cap_has_a_code_and_no_retry_after(converse: Callable[..., Any]) -> None:
    with pytest.raises(anthropic.RateLimitError) as caught:
        converse(MessagesAPI([faults.spend_cap()]))
    assert caught.value.error_code == "enforced_spend_limit_reached"
    assert "retry-after" not in caught.value.response.headers


def test_retry_after_is_a_header_in_seconds() -> None:
    assert ask(MessagesAPI([faults.rate_limited(7)])).headers["retry-after"] == "7"
    assert ask(MessagesAPI([faults.rate_limited(0.5)])).headers["retry-after"] == "0.5"
    assert "retry-after" not in ask(MessagesAPI([faults.rate_limited(None)])).headers


def test_the_proxy_s_413_has_no_type(converse: Callable[..., Any]) -> None:
    with pytest.raises(anthropic.APIStatusError) as caught:
        converse(MessagesAPI([faults.too_large()]))
    assert type(caught.value).__name__ == "ContentTooLargeError"
    assert (caught.value.status_code, caught.value.type, caught.value.request_id) == (413, None, None)


def test_a_401_can_repeat_the_caller_s_key() -> None:
    api = MessagesAPI([faults.unauthenticated(echo_key=True)] * 2)
    first = ask(api)
    second = ask_raw(api, api.requests[0].raw, headers={**HEADERS, "x-api-key": "", "authorization": "Bearer tok-key"})
    assert first.json["error"]["message"] == "invalid x-api-key: sk-ant-test"
    assert second.json["error"]["message"].endswith(": tok-key")


@pytest.mark.parametrize(
    ("fault", "cause"), [(faults.refused(), httpx2.ConnectError), (faults.reset(), httpx2.ReadError)]
)
def test_a_lost_connection_is_a_connection_error(
    converse: Callable[..., Any], fault: Any, cause: type[Exception]
) -> None:
    api = MessagesAPI([fault, "danach"])
    with pytest.raises(anthropic.APIConnectionError) as caught:
        converse(api)
    assert isinstance(caught.value.__cause__, cause)
    assert (api.requests[0].status, api.requests[0].outcome) == (None, fault.how)
    assert converse(api).content[0].text == "danach"


def test_a_first_byte_that_comes_too_late_is_a_timeout(converse: Callable[..., Any]) -> None:
    api = MessagesAPI([faults.slow("zu spät", first=31), faults.slow("rechtzeitig", first=29)])
    with pytest.raises(anthropic.APITimeoutError):
        converse(api, timeout=30)
    assert api.requests[0].outcome == "abandoned"
    assert converse(api, timeout=30).content[0].text == "rechtzeitig"
    assert api.clock.slept == (30, 29)


def test_delays_move_the_clock_and_nothing_waits(converse: Callable[..., Any]) -> None:
    clock = FixedClock(1000)
    api = MessagesAPI([faults.slow("eins zwei drei", first=5, between=2)], clock=clock)
    assert converse(api).content[0].text == "eins zwei drei"
    assert clock() == (1011 if api.requests[0].body and api.requests[0].body.get("stream") else 1005)


def test_a_schedule_says_which_request_fails_and_uses_up_no_reply(converse: Callable[..., Any]) -> None:
    api = MessagesAPI(["a", "b"], faults={2: faults.overloaded(), 3: [faults.slow(first=1), faults.reset()]})
    assert converse(api).content[0].text == "a"
    with pytest.raises(anthropic.APIStatusError):
        converse(api)
    with pytest.raises(anthropic.APIConnectionError):
        converse(api)
    assert converse(api).content[0].text == "b"


def test_a_list_of_faults_is_for_the_first_requests() -> None:
    api = MessagesAPI("a", faults=[faults.overloaded(), None, faults.overloaded()])
    assert [ask(api).status for _ in range(4)] == [529, 200, 529, 400]


def test_a_request_that_the_rules_refuse_meets_no_fault() -> None:
    api = MessagesAPI("a", faults=[faults.overloaded()])
    assert ask(api, messages=[]).status == 400
    assert ask(api).status == 529
    assert ask(api).status == 200


def test_the_sdk_s_own_retries_see_the_next_entry() -> None:
    api = MessagesAPI([faults.http_error(529, headers={"retry-after-ms": "1"}), "beim zweiten Mal"])
    assert sync_create(api, max_retries=1).content[0].text == "beim zweiten Mal"
    assert [record.status for record in api.requests] == [529, 200]


@pytest.mark.parametrize(
    ("schedule", "said"),
    [
        ({0: faults.reset()}, "faults: 0 is no request number; the first is 1"),
        ({1: "overloaded"}, "faults[1]: expected a fault without a reply, found 'overloaded'"),
        ([None, faults.done_line("x")], "faults[2]: expected a fault without a reply, found Spoiled("),
    ],
)
def test_a_mistake_in_a_schedule_is_named(schedule: Any, said: str) -> None:
    with pytest.raises(InputError) as caught:
        MessagesAPI("a", faults=schedule)
    assert str(caught.value).startswith(said)
