"""Rules about what is around the body: encoding, size, version, the model's existence, what isn't simulated."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from turnkeeper.simulator.rules.fields import SAMPLING
from turnkeeper.simulator.rules.rule import Finding, Rule, rule
from turnkeeper.simulator.rules.shapes import extra, wrong
from turnkeeper.simulator.rules.view import RequestView

__all__ = ("FIRST", "LAST", "MAX_BODY_BYTES")

MAX_BODY_BYTES = 32 * 1024 * 1024
"""The largest body of Messages and count_tokens (platform.claude.com/docs/en/api/errors#request-size-limits)."""

MAX_DEPTH = 200
_SURROGATE = re.compile("[\ud800-\udfff]")
VERSIONS = ("2023-06-01", "2026-10-21")


@rule(
    "request.valid-unicode",
    source="https://github.com/anthropics/claude-code/issues/2108; anthropic/lib/tools/_toolsets/_sanitize.py (SDK "
    "2.14.0)",
    sentence="No string holds an unpaired surrogate: such a string can't be encoded.",
    repair="Replace unpaired surrogates by U+FFFD before sending; never cut text inside a surrogate pair.",
)
def valid_unicode(view: RequestView) -> Iterator[Finding]:
    if any(map(_broken, _texts(view.body))):
        for path, text in _strings(view.body):
            if _broken(text):
                yield Finding(path, "The request body is not valid JSON: no low surrogate in string")


def _broken(text: str) -> bool:
    return not text.isascii() and _SURROGATE.search(text) is not None


def _texts(body: Mapping[str, Any]) -> Iterator[str]:
    """Every string of the body, keys included, in no particular order: the quick look before the one with paths."""
    stack: list[Any] = [body]
    while stack:
        value = stack.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, Mapping):
            stack.extend(map(str, value))
            stack.extend(value.values())
        elif isinstance(value, list):
            stack.extend(value)


def _strings(body: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Every string of the body and its path, keys included; in the order of the body, without recursion."""
    stack: list[tuple[str, Any]] = [("", body)]
    while stack:
        path, value = stack.pop()
        if isinstance(value, str):
            yield path, value
        elif isinstance(value, Mapping):
            for key in value:
                if not str(key).isascii():
                    yield path or "body", str(key)
            stack.extend((f"{path}.{key}" if path else str(key), value[key]) for key in reversed(list(value)))
        elif isinstance(value, list):
            stack.extend((f"{path}.{index}", value[index]) for index in reversed(range(len(value))))


@rule(
    "request.nesting",
    source="https://www.rfc-editor.org/rfc/rfc8259#section-9",
    sentence="Objects and lists are nested at most 200 deep.",
    repair="Flatten the value that the path names, or send it as text.",
    text_settled=False,
    open_question="The API's own limit isn't published; 200 is the simulator's.",
    final=True,
)
def nesting(view: RequestView) -> Iterator[Finding]:
    for name, member in view.body.items():
        if _deeper_than(MAX_DEPTH - 1, member):
            yield Finding(str(name), "The request body is not valid JSON: nested too deeply")


def _deeper_than(limit: int, value: Any) -> bool:
    level = [value]
    for _ in range(limit + 1):
        containers = [item for item in level if isinstance(item, Mapping | list)]
        if not containers:
            return False
        level = [inner for item in containers for inner in (item.values() if isinstance(item, Mapping) else item)]
    return True


@rule(
    "limits.request-size",
    source="https://platform.claude.com/docs/en/api/errors#request-size-limits",
    sentence="The body of a request has at most 32 MB.",
    repair="Send less: drop old images and documents, or refer to uploaded files.",
    scope="envelope",
    text_settled=False,
    error_type="request_too_large",
    status=413,
)
def request_size(view: RequestView) -> Iterator[Finding]:
    if view.body_bytes is not None and view.body_bytes > MAX_BODY_BYTES:
        yield Finding("body", "Request exceeds the maximum allowed number of bytes.")


@rule(
    "request.version-header",
    source="https://platform.claude.com/docs/en/api/versioning",
    sentence="The `anthropic-version` header is required and names a version that exists.",
    repair="Send `anthropic-version: 2026-10-21`, as the official SDK does.",
    scope="envelope",
)
def version_header(view: RequestView) -> Iterator[Finding]:
    version = view.header("anthropic-version")
    if version is None:
        yield wrong("anthropic-version", "header is required")
    elif version not in VERSIONS:
        yield wrong("anthropic-version", f'"{version}" is not a valid version')


@rule(
    "request.thread",
    source="anthropic/types/thread_unsupported_request_error_details.py, anthropic/lib/threads/_thread_state.py (SDK "
    "2.14.0)",
    sentence="Message threads (`thread`, a beta) are not simulated; the SDK falls back to sending the whole history.",
    repair="Send the full conversation without `thread` (in the SDK's tool runner: `thread=False`).",
    text_settled=False,
)
def thread(view: RequestView) -> Iterator[Finding]:
    if "thread" in view.body:
        yield wrong(
            "thread",
            "Message threads are not supported for this request. Send the full conversation without `thread`.",
            details={"error_code": "thread_unsupported_request"},
        )


@rule(
    "request.model-exists",
    source="https://github.com/anthropics/skills/blob/main/skills/claude-api/shared/error-codes.md",
    sentence="The model exists and is not retired.",
    repair="Use an id that `turnkeeper models` lists.",
    scope="envelope",
    error_type="not_found_error",
    status=404,
)
def model_exists(view: RequestView) -> Iterator[Finding]:
    if not view.model.known and isinstance(view.body.get("model"), str):
        yield Finding("model", f"model: {view.model_id}")


@rule(
    "request.container",
    source="anthropic/types/container_params.py (SDK 2.14.0)",
    sentence="`container` goes with the code execution tool.",
    repair="Remove `container`, or add the code execution tool.",
)
def container(view: RequestView) -> Iterator[Finding]:
    if view.body.get("container") is None or view.endpoint == "count_tokens":
        return
    if not isinstance(view.body["container"], str | Mapping):
        yield wrong("container.ContainerParams", "Input does not match the expected shape.")
    elif not any(str(tool.get("type", "")).startswith("code_execution_") for _, tool in view.tools):
        yield wrong("container", "Container identifier can only be provided when using the code execution tool")


@rule(
    "request.sampling-removed",
    source="https://platform.claude.com/docs/en/api/migration-2026-10-21",
    sentence="API version 2026-10-21 has no temperature, top_p or top_k, not even with default values.",
    repair="Leave the member out; steer with the prompt and `output_config.effort`.",
    text_settled=False,
)
def sampling_removed(view: RequestView) -> Iterator[Finding]:
    if view.since("2026-10-21"):
        for name in SAMPLING:
            if name in view.body:
                yield extra(name)


@rule(
    "request.sampling-model",
    source="https://platform.claude.com/docs/en/models/haiku-5-5/migration-guide#remove-sampling-parameters; "
    "https://github.com/anthropics/skills/blob/main/skills/claude-api/shared/model-migration.md",
    sentence="Under 2023-06-01, models from Opus 4.7 on take no sampling members, or only their default values; 4.x "
    "models take at most one of temperature and top_p.",
    repair="Leave temperature, top_p and top_k out.",
)
def sampling_model(view: RequestView) -> Iterator[Finding]:
    if view.since("2026-10-21"):
        return
    sent = [name for name in SAMPLING if name in view.body]
    kind = view.model.sampling
    if kind in {"one_of_two", "default_only"} and {"temperature", "top_p"} <= set(sent):
        yield Finding(
            "top_p", "`temperature` and `top_p` cannot both be specified for this model. Please use only one."
        )
        return
    defaults = {"temperature": 1, "top_p": 0.99}
    for name in sent:
        refused = kind == "removed" or (kind == "default_only" and view.body[name] != defaults.get(name))
        if refused:
            yield Finding(name, f"`{name}` is deprecated for this model.")


FIRST: tuple[Rule, ...] = (nesting, valid_unicode, request_size, version_header, thread)
LAST: tuple[Rule, ...] = (model_exists, sampling_removed, sampling_model, container)
