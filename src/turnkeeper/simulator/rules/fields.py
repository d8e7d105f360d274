"""Rules about the members of the request: present, known, of the right type.

The order of the checks, and most texts, are those that a public comparison with the live API found on 2026-08-31 and
2026-09-04: model, tool_choice, tools, messages, system, thinking, output_config, cache_control, max_tokens, metadata,
stop_sequences, temperature, service_tier, top_k, top_p, stream, container, inference_geo; then unknown members.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from turnkeeper.simulator.rules.blocks import CACHE_CONTROL, CONTENT, CONTENT_WITH_SUMMARIES, SYSTEM
from turnkeeper.simulator.rules.rule import Finding, Rule, rule
from turnkeeper.simulator.rules.shapes import (
    Checker,
    array_of,
    boolean,
    extra,
    integer,
    nullable,
    number,
    object_,
    one_of,
    record,
    required,
    string,
    wrong,
)
from turnkeeper.simulator.rules.view import RequestView

__all__ = ("FIRST", "LAST", "MESSAGES", "MIDDLE")

PARAMS = "anthropic/types/message_create_params.py (SDK 2.14.0)"
COUNT_PARAMS = "anthropic/types/message_count_tokens_params.py (SDK 2.14.0)"
BETA_PARAMS = "anthropic/types/beta/message_create_params.py (SDK 2.14.0)"
_MISFIT = "Input does not match the expected shape."

BETA_FIELDS = frozenset(
    {
        "betas",
        "billing_policy",
        "compaction",
        "context_management",
        "fallback_credit_token",
        "fallbacks",
        "mcp_servers",
    }
)
COMPACT_BETA = "compact-2026-01-12"
LEAST_TRIGGER = 50_000
_COUNTED = frozenset(
    {
        "messages",
        "model",
        "cache_control",
        "output_config",
        "speed",
        "system",
        "thinking",
        "tool_choice",
        "tools",
    }
)
SAMPLING = ("temperature", "top_p", "top_k")
_CREATED = _COUNTED | {
    "max_tokens",
    "container",
    "diagnostics",
    "inference_geo",
    "metadata",
    "service_tier",
    "stop_sequences",
    "stream",
    *SAMPLING,
}


def _member(view: RequestView, name: str, check: Checker) -> Iterator[Finding]:
    if name in view.body:
        yield from check(name, view.body[name])


def _optional(name: str, check: Checker, sentence: str, repair: str) -> Rule:
    """A rule about one optional member of the body."""
    return rule(f"request.{name.replace('_', '-')}", source=PARAMS, sentence=sentence, repair=repair)(
        lambda view: _member(view, name, check)
    )


@rule(
    "request.model",
    source=PARAMS,
    sentence="`model` is required and is a non-empty string.",
    repair="Set `model` to a model id such as claude-opus-5-5.",
)
def model(view: RequestView) -> Iterator[Finding]:
    if "model" not in view.body:
        if not view.saved:
            yield required("model")
    elif not isinstance(view.body["model"], str):
        yield wrong("model", "Input should be a valid string")
    elif not view.body["model"].strip():
        yield wrong("model", "String should have at least 1 character")


def _role(path: str, value: Any) -> Iterator[Finding]:
    if not isinstance(value, str) or value not in {"user", "assistant", "system"}:
        shown = value if isinstance(value, str) else str(value)
        yield Finding(path, f'messages: Unexpected role "{shown}". Allowed roles are "user" or "assistant"')


_MESSAGE = record({"role": _role, "content": CONTENT}, ("role", "content"))
_MESSAGE_WITH_SUMMARIES = record({"role": _role, "content": CONTENT_WITH_SUMMARIES}, ("role", "content"))


@rule(
    "request.messages",
    source=f"{PARAMS}; anthropic/types/*_message_param.py and *_block_param.py",
    sentence="`messages` is a list of messages, each with `role` and `content`; content is text or blocks of known "
    "types with the members of their type.",
    repair="Send each block as the API documents it, or exactly as it was received.",
)
def messages_shape(view: RequestView) -> Iterator[Finding]:
    if "messages" not in view.body:
        yield required("messages")
    else:
        message = _MESSAGE_WITH_SUMMARIES if COMPACT_BETA in view.betas else _MESSAGE
        yield from array_of(message)("messages", view.body["messages"])


@rule(
    "request.system",
    source="anthropic/types/message_create_params.py, text_block_param.py (SDK 2.14.0)",
    sentence="`system` is a string or a list of text blocks.",
    repair="Send the system prompt as a string, or as blocks of type text.",
)
def system(view: RequestView) -> Iterator[Finding]:
    yield from _member(view, "system", SYSTEM)


@rule(
    "request.output-config",
    source="anthropic/types/output_config_param.py, json_output_format_param.py (SDK 2.14.0)",
    sentence="`output_config` holds `effort` (low, medium, high, xhigh or max) and `format` (a json_schema with a "
    "schema).",
    repair="Correct the member that the path names.",
)
def output_config(view: RequestView) -> Iterator[Finding]:
    if "output_config" not in view.body:
        return
    value = view.body["output_config"]
    if not isinstance(value, Mapping):
        yield wrong("output_config", _MISFIT)
        return
    yield from record(
        {
            "effort": nullable(one_of("low", "medium", "high", "xhigh", "max")),
            "format": nullable(record({"type": one_of("json_schema"), "schema": object_}, ("type", "schema"))),
        }
    )("output_config", value)


@rule(
    "request.cache-control",
    source="anthropic/types/cache_control_ephemeral_param.py (SDK 2.14.0)",
    sentence="The top-level `cache_control` is `{type: ephemeral}`, with a `ttl` of 5m or 1h.",
    repair='Send {"type": "ephemeral"} or leave it out.',
)
def cache_control(view: RequestView) -> Iterator[Finding]:
    yield from _member(view, "cache_control", CACHE_CONTROL)


@rule(
    "request.max-tokens",
    source=PARAMS,
    sentence="`max_tokens` is required (not for counting tokens) and is a whole number of 0 or more.",
    repair="Set `max_tokens` to the most tokens that the reply may have.",
)
def max_tokens(view: RequestView) -> Iterator[Finding]:
    if view.endpoint == "count_tokens":
        return
    if "max_tokens" not in view.body:
        if not view.saved:
            yield required("max_tokens")
        return
    value = view.body["max_tokens"]
    faults = list(integer("max_tokens", value))
    if not faults and value < 0:
        faults = [wrong("max_tokens", "must be greater than or equal to 0")]
    yield from faults


@rule(
    "request.metadata",
    source="anthropic/types/metadata_param.py (SDK 2.14.0)",
    sentence="`metadata` holds nothing but `user_id`, a string.",
    repair="Keep other data outside the request.",
)
def metadata(view: RequestView) -> Iterator[Finding]:
    value = view.body.get("metadata")
    if value is None:
        return
    if not isinstance(value, Mapping):
        yield wrong("metadata", _MISFIT)
        return
    yield from record({"user_id": nullable(string)})("metadata", value)


def _sampling_value(name: str, value: Any) -> Iterator[Finding]:
    faults = list((integer if name == "top_k" else number)(name, value))
    if not faults and name != "top_k" and not 0 <= value <= 1:
        faults = [wrong(name, "range: 0..1")]
    yield from faults


@rule(
    "request.sampling-values",
    source="https://platform.claude.com/docs/en/api/messages/create (2023-06-01)",
    sentence="Under API version 2023-06-01, temperature and top_p are numbers from 0 to 1 and top_k is a whole number.",
    repair="Leave the sampling members out; newer API versions and models take none.",
)
def sampling_values(view: RequestView) -> Iterator[Finding]:
    if view.since("2026-10-21") or view.endpoint == "count_tokens":
        return
    for name in SAMPLING:
        if name in view.body:
            yield from _sampling_value(name, view.body[name])


@rule(
    "request.unsimulated-field",
    source=BETA_PARAMS,
    sentence="Members that only the beta client has (mcp_servers, fallbacks, …) are not simulated, but for "
    "context_management under the beta of compaction.",
    repair="Remove the member, or test this request against the API itself: the simulator has no other betas.",
)
def unsimulated(view: RequestView) -> Iterator[Finding]:
    for name in view.body:
        if name in BETA_FIELDS and not (name == "context_management" and COMPACT_BETA in view.betas):
            yield extra(str(name))


@rule(
    "request.compaction",
    source="anthropic/types/beta/beta_compact_20260112_edit_param.py (SDK 2.14.0); "
    "https://platform.claude.com/docs/en/build-with-claude/compaction",
    sentence="A compaction is triggered by 50,000 input tokens or more.",
    repair="Send trigger {type: input_tokens, value: 50000 or more}, or none for the default.",
    text_settled=False,
)
def compaction(view: RequestView) -> Iterator[Finding]:
    management = view.body.get("context_management")
    edits = management.get("edits") if isinstance(management, Mapping) else None
    for index, edit in enumerate(edits if isinstance(edits, list) else ()):
        trigger = edit.get("trigger") if isinstance(edit, Mapping) else None
        value = trigger.get("value") if isinstance(trigger, Mapping) else LEAST_TRIGGER
        if not isinstance(value, int) or value < LEAST_TRIGGER:
            path = f"context_management.edits.{index}.trigger.value"
            yield Finding(path, f"{path}: Input should be greater than or equal to {LEAST_TRIGGER}")


@rule(
    "request.unknown-field",
    source=f"{PARAMS}; {COUNT_PARAMS}",
    sentence="The request has no members that the endpoint doesn't know.",
    repair="Remove the member, or correct its name.",
)
def unknown(view: RequestView) -> Iterator[Finding]:
    allowed = _COUNTED if view.endpoint == "count_tokens" else _CREATED
    elsewhere = BETA_FIELDS | {"thread"} | (set(SAMPLING) if view.since("2026-10-21") else set())
    for name in view.body:
        if name not in allowed and name not in elsewhere:
            yield extra(str(name))


FIRST: tuple[Rule, ...] = (model,)
MESSAGES: tuple[Rule, ...] = (messages_shape, system)
MIDDLE: tuple[Rule, ...] = (
    output_config,
    cache_control,
    max_tokens,
    metadata,
    _optional(
        "stop_sequences",
        nullable(array_of(string)),
        "`stop_sequences` is a list of strings.",
        "Send a list of strings.",
    ),
    _optional(
        "service_tier",
        one_of("auto", "standard_only"),
        "`service_tier` is auto or standard_only.",
        "Send one of the two, or leave it out.",
    ),
    _optional("speed", nullable(one_of("standard", "fast")), "`speed` is standard or fast.", "Leave `speed` out."),
    sampling_values,
    _optional("stream", boolean, "`stream` is true or false.", "Send true or false."),
    _optional("inference_geo", nullable(string), "`inference_geo` is a string.", "Send a region, or leave it out."),
    _optional(
        "diagnostics",
        nullable(record({"previous_message_id": nullable(string)})),
        "`diagnostics` holds nothing but `previous_message_id`, the id of an earlier reply or null.",
        "Send the id of the reply before, or leave `diagnostics` out.",
    ),
)
LAST: tuple[Rule, ...] = (unsimulated, compaction, unknown)
