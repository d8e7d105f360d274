"""Cases of what is around the body."""

from __future__ import annotations

from typing import Any

from tests.simulator.rules.asked import NEW, OLD, Case, ask, assistant, call, refused, result, taken, tool, user
from turnkeeper.models import find

__all__ = ("CASES",)


def _nested(depth: int) -> dict[str, Any]:
    """A request with that many objects inside each other, its own among them."""
    value: Any = "глубоко"
    for _ in range(depth - 5):
        value = {"внутри": value}
    return ask(user(), assistant([call(input=value)]), user([result()]), tools=[tool()])


CASES: tuple[Case, ...] = (
    taken("request.nesting", "200 deep", _nested(200)),
    refused(
        "request.nesting",
        "201 deep",
        _nested(201),
        "messages",
        "The request body is not valid JSON: nested too deeply",
    ),
    taken("request.valid-unicode", "emoji, Chinese, Hebrew", ask(user("заказ 🐻‍❄️ 你好 שלום \U0001f600"))),
    refused(
        "request.valid-unicode",
        "half an emoji in a text",
        ask(user("привет \ud83d")),
        "messages.0.content",
        "The request body is not valid JSON: no low surrogate in string",
    ),
    refused(
        "request.valid-unicode",
        "deep inside a tool's input, as a key",
        ask(user([result(content=[{"type": "text", "text": "x", "\udc00": 1}])])),
        "messages.0.content.0.content.0",
        "The request body is not valid JSON: no low surrogate in string",
    ),
    taken("limits.request-size", "exactly 32 MB", ask(), body_bytes=32 * 1024 * 1024),
    refused(
        "limits.request-size",
        "one byte more",
        ask(),
        "body",
        "Request exceeds the maximum allowed number of bytes.",
        body_bytes=32 * 1024 * 1024 + 1,
        status=413,
        error_type="request_too_large",
    ),
    taken("request.version-header", "the SDK's", ask(), headers={"Anthropic-Version": "2026-10-21"}),
    taken("request.version-header", "the older one", ask(), headers=OLD),
    refused(
        "request.version-header",
        "no header",
        ask(),
        "anthropic-version",
        "anthropic-version: header is required",
        headers={},
    ),
    refused(
        "request.version-header",
        "a date that is no version",
        ask(),
        "anthropic-version",
        'anthropic-version: "2027-01-01" is not a valid version',
        headers={"anthropic-version": "2027-01-01"},
    ),
    taken("request.thread", "the whole history, no thread", ask()),
    refused(
        "request.thread",
        "the tool runner's first request",
        ask(thread={"type": "create"}),
        "thread",
        "thread: Message threads are not supported for this request. Send the full conversation without `thread`.",
        details={"error_code": "thread_unsupported_request"},
    ),
    refused(
        "request.thread",
        "a continued thread, whose bare results would break other rules",
        ask(user([result()]), thread={"type": "continue", "previous_message_id": "msg_1"}),
        "thread",
        "thread: Message threads are not supported for this request. Send the full conversation without `thread`.",
        details={"error_code": "thread_unsupported_request"},
    ),
    taken("request.model-exists", "a dated id", ask(model="claude-haiku-4-5-20251001")),
    refused(
        "request.model-exists",
        "a dot where a hyphen belongs",
        ask(model="claude-sonnet-4.6"),
        "model",
        "model: claude-sonnet-4.6",
        status=404,
        error_type="not_found_error",
    ),
    refused(
        "request.model-exists",
        "a retired model",
        ask(model="claude-3-5-sonnet-20241022"),
        "model",
        "model: claude-3-5-sonnet-20241022",
        status=404,
        error_type="not_found_error",
    ),
    taken("request.sampling-removed", "under the older version", ask(model="claude-haiku-4-5", top_p=0.5), headers=OLD),
    refused(
        "request.sampling-removed",
        "the default value is one too many",
        ask(temperature=1.0),
        "temperature",
        "temperature: Extra inputs are not permitted",
        headers=NEW,
    ),
    refused(
        "request.sampling-removed",
        "counting tokens",
        ask(top_k=5, without=["max_tokens"]),
        "top_k",
        "top_k: Extra inputs are not permitted",
        endpoint="count_tokens",
    ),
    taken("request.sampling-model", "default values", ask(model="claude-sonnet-5", temperature=1), headers=OLD),
    taken("request.sampling-model", "Claude 4.6", ask(model="claude-opus-4-6", temperature=0, top_k=3), headers=OLD),
    refused(
        "request.sampling-model",
        "removed from the model",
        ask(model="claude-opus-4-8", temperature=1),
        "temperature",
        "`temperature` is deprecated for this model.",
        headers=OLD,
    ),
    refused(
        "request.sampling-model",
        "another value than the default",
        ask(model="claude-haiku-5-5", top_p=1),
        "top_p",
        "`top_p` is deprecated for this model.",
        headers=OLD,
    ),
    refused(
        "request.sampling-model",
        "both of two",
        ask(model="claude-sonnet-4-5", temperature=0.5, top_p=0.5),
        "top_p",
        "`temperature` and `top_p` cannot both be specified for this model. Please use only one.",
        headers=OLD,
    ),
    taken(
        "request.container",
        "with the code execution tool",
        ask(container="container_1", tools=[{"type": "code_execution_20260521", "name": "code_execution"}]),
    ),
    taken("request.container", "null", ask(container=None)),
    refused(
        "request.container",
        "without it",
        ask(container={"id": "container_1"}, tools=[tool()]),
        "container",
        "container: Container identifier can only be provided when using the code execution tool",
    ),
    refused(
        "request.container",
        "a number",
        ask(container=7),
        "container.ContainerParams",
        "container.ContainerParams: Input does not match the expected shape.",
        model=find("claude-opus-5-5"),
    ),
)
