"""What is checked before a request is read as a message, and what every response carries."""

from __future__ import annotations

import json

import pytest

from tests.simulator.asking import HEADERS, REQUEST, ask, ask_raw
from turnkeeper.testing import FixedClock, MessagesAPI

BODY = json.dumps(REQUEST).encode()


@pytest.mark.parametrize(
    "headers",
    [
        {"x-api-key": "any", "anthropic-version": "2023-06-01"},
        {"x-api-key": "any", "anthropic-version": "2026-10-21"},
        {"authorization": "Bearer any", "anthropic-version": "2026-10-21"},
        {"Authorization": "bearer any", "Anthropic-Version": "2023-06-01"},
    ],
)
def test_a_key_in_either_header_and_either_version_are_accepted(headers: dict[str, str]) -> None:
    assert ask_raw(MessagesAPI("Да"), BODY, headers=headers).json["content"] == [{"type": "text", "text": "Да"}]


@pytest.mark.parametrize(
    ("headers", "status", "kind", "message"),
    [
        (
            {"anthropic-version": "2026-10-21"},
            401,
            "authentication_error",
            "x-api-key header is required",
        ),
        (
            {"authorization": "Basic YTpi", "anthropic-version": "2026-10-21"},
            401,
            "authentication_error",
            "x-api-key header is required",
        ),
        ({"x-api-key": "k"}, 400, "invalid_request_error", "anthropic-version: header is required"),
        (
            {"x-api-key": "k", "anthropic-version": "2024-01-01"},
            400,
            "invalid_request_error",
            'anthropic-version: "2024-01-01" is not a valid version',
        ),
    ],
)
def test_a_missing_key_or_version_is_refused(headers: dict[str, str], status: int, kind: str, message: str) -> None:
    api = MessagesAPI("unused")
    answer = ask_raw(api, BODY, headers=headers)
    assert (answer.status, answer.json["error"]) == (status, {"type": kind, "message": message})
    assert api.refusals == api.requests
    assert api.unused_replies == 1


@pytest.mark.parametrize(
    ("method", "path", "status", "kind", "message"),
    [
        ("GET", "/", 404, "not_found_error", "Not Found"),
        ("POST", "/v1/complete", 404, "not_found_error", "Not Found"),
        ("POST", "/v1/messages/batches", 404, "not_found_error", "Not Found"),
        ("GET", "/v1/messages", 405, "invalid_request_error", "Method Not Allowed"),
        ("DELETE", "/v1/models/claude-opus-5-5", 405, "invalid_request_error", "Method Not Allowed"),
        ("PUT", "/v1/messages/count_tokens", 405, "invalid_request_error", "Method Not Allowed"),
    ],
)
def test_other_paths_and_methods_answer_with_the_envelope(
    method: str, path: str, status: int, kind: str, message: str
) -> None:
    answer = ask_raw(MessagesAPI(), method=method, path=path)
    assert answer.status == status
    assert answer.json == {
        "type": "error",
        "error": {"type": kind, "message": message},
        "request_id": answer.headers["request-id"],
    }


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"", "The request body is not valid JSON: Expecting value: line 1 column 1 (char 0)"),
        (b'{"model": "x",', "The request body is not valid JSON: "),
        (b'{"max_tokens": NaN}', "The request body is not valid JSON: NaN is not JSON"),
        ("«привет»".encode("cp1251"), "The request body is not valid JSON: 'utf-8' codec"),
        (b"[" * 100_000, "The request body is not valid JSON: "),
        (b"[]", "The request body is not a JSON object"),
        (b'"text"', "The request body is not a JSON object"),
    ],
)
def test_a_body_that_is_no_json_object_is_refused(raw: bytes, message: str) -> None:
    api = MessagesAPI("unused")
    answer = ask_raw(api, raw)
    assert (answer.status, answer.json["error"]["type"]) == (400, "invalid_request_error")
    assert answer.json["error"]["message"].startswith(message)
    assert api.requests[0].body is None
    assert api.requests[0].raw == raw


def test_a_body_over_32_megabytes_meets_the_proxy_in_front_of_the_api() -> None:
    api = MessagesAPI("unused")
    answer = ask_raw(api, b" " * (32 * 1024 * 1024 + 1))
    assert answer.status == 413
    assert answer.headers["content-type"] == "text/html; charset=UTF-8"
    assert answer.raw.startswith(b"<html>")
    assert b"413 Request Entity Too Large" in answer.raw
    assert "request-id" not in answer.headers
    assert [record.status for record in api.refusals] == [413]


def test_every_response_carries_ids_and_what_is_left_of_the_minute() -> None:
    api = MessagesAPI(["eins", "zwei"], clock=FixedClock(1_796_000_459.0))
    first, second = ask(api), ask(api, stream=True)
    assert first.headers["request-id"] == "req_000001"
    assert second.headers["request-id"] == "req_000002"
    assert first.headers["anthropic-organization-id"] == "00000000-0000-4000-8000-000000000000"
    assert {name: value for name, value in second.headers.items() if name.startswith("anthropic-ratelimit-")} == {
        "anthropic-ratelimit-requests-limit": "4000",
        "anthropic-ratelimit-requests-remaining": "3998",
        "anthropic-ratelimit-requests-reset": "2026-11-30T01:01:00Z",
        "anthropic-ratelimit-tokens-limit": "2400000",
        "anthropic-ratelimit-tokens-remaining": "2399000",
        "anthropic-ratelimit-tokens-reset": "2026-11-30T01:01:00Z",
        "anthropic-ratelimit-input-tokens-limit": "2000000",
        "anthropic-ratelimit-input-tokens-remaining": "1999000",
        "anthropic-ratelimit-input-tokens-reset": "2026-11-30T01:01:00Z",
        "anthropic-ratelimit-output-tokens-limit": "400000",
        "anthropic-ratelimit-output-tokens-remaining": "399000",
        "anthropic-ratelimit-output-tokens-reset": "2026-11-30T01:01:00Z",
    }


def test_a_new_minute_starts_with_full_rate_limits() -> None:
    api = MessagesAPI(["eins", "zwei"], clock=FixedClock(1_796_000_459.0))
    ask(api)
    api.clock.advance(1)
    answer = ask(api)
    assert answer.headers["anthropic-ratelimit-requests-remaining"] == "3999"
    assert answer.headers["anthropic-ratelimit-requests-reset"] == "2026-11-30T01:02:00Z"


def test_a_query_string_and_a_trailing_slash_change_nothing() -> None:
    api = MessagesAPI(["eins", "zwei"])
    assert ask(api, path="/v1/messages?beta=true").status == 200
    assert ask(api, path="/v1/messages/").status == 200
    assert [record.path for record in api.requests] == ["/v1/messages", "/v1/messages/"]


def test_the_content_type_says_what_the_body_is() -> None:
    api = MessagesAPI(["eins", "zwei"])
    plain, stream = ask(api), ask(api, stream=True)
    assert plain.headers["content-type"] == "application/json"
    assert plain.headers["content-length"] == str(len(plain.raw))
    assert stream.headers["content-type"] == "text/event-stream; charset=utf-8"
    assert stream.headers["cache-control"] == "no-cache"
    assert "content-length" not in stream.headers


def test_header_names_are_kept_in_lower_case() -> None:
    api = MessagesAPI("eins")
    ask_raw(api, BODY, headers={**HEADERS, "X-Mixed-Case": "Wert"})
    assert api.requests[0].headers["x-mixed-case"] == "Wert"
