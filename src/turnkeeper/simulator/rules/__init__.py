"""The rules of the Messages API, one by one: id, source, sentence, check, repair.

`judge` checks a live request the way the API would; the first fault is what the API answers. `verify_messages` checks
a stored request or message list and reports every fault. The rules share the shapes of the wire with the engine, never
its code, so that one misreading can't pass both. docs/rules.md lists them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from turnkeeper.models import Model, find
from turnkeeper.simulator.rules import (
    cache,
    fields,
    history,
    images,
    limits,
    prefill,
    server_tools,
    system_role,
    thinking_config,
    thinking_history,
    tool_calls,
    tool_choice,
    tools,
    transport,
)
from turnkeeper.simulator.rules.rule import Fault, Finding, Rule
from turnkeeper.simulator.rules.sent import RememberedReplies, SentReplies, SentReply, prefix_digest
from turnkeeper.simulator.rules.view import Endpoint, RequestView

__all__ = (
    "RULES",
    "Endpoint",
    "Fault",
    "Finding",
    "RememberedReplies",
    "Rule",
    "SentReplies",
    "SentReply",
    "judge",
    "prefix_digest",
    "verify_messages",
)

RULES: tuple[Rule, ...] = (
    *transport.FIRST,
    *fields.FIRST,
    tool_choice.SHAPE,
    tools.SHAPE,
    *fields.MESSAGES,
    thinking_config.SHAPE,
    *fields.MIDDLE,
    *fields.LAST,
    *transport.LAST,
    *tools.RULES,
    *tool_choice.RULES,
    *thinking_config.RULES,
    *limits.RULES,
    *cache.MARKED_BLOCKS,
    *history.RULES,
    *system_role.RULES,
    *tool_calls.RULES,
    *server_tools.RULES,
    *prefill.RULES,
    *thinking_history.RULES,
    *cache.RULES,
    *images.RULES,
)
"""All rules, in the order the simulator evaluates them."""


def judge(
    request: Any,
    *,
    headers: Mapping[str, str],
    model: Model,
    sent: SentReplies | None = None,
    endpoint: Endpoint = "messages",
    body_bytes: int | None = None,
    input_tokens: int | None = None,
) -> list[Fault]:
    """Every fault of a live request, in the order of the rules; the first is the API's answer. Never raises.

    `request` is the parsed body, `model` what is known of the model it names. `sent` is the memory of earlier replies;
    without it the rules about returned thinking are left out. `body_bytes` (for the size limit) and `input_tokens` (for
    the context window) are checked where given.
    """
    if not isinstance(request, Mapping):
        return [_NOT_AN_OBJECT]
    view = RequestView(
        body=request,
        headers=headers,
        model=model,
        sent=sent,
        endpoint=endpoint,
        body_bytes=body_bytes,
        input_tokens=input_tokens,
    )
    return _faults(view, RULES)


def verify_messages(
    messages: Any, *, tools: Any = None, model: Model | str | None = None, system: Any = None
) -> list[Fault]:
    """Every fault of a stored message list, or of a stored request (an object with `messages`).

    Whether tools are defined is checked only where tools are given, and in a bare list the last message may be the
    assistant's. The model is the argument's, else the request's; without one, nothing that differs by model is refused.
    """
    bare = not (isinstance(messages, Mapping) and "messages" in messages)
    body: dict[str, Any] = {"messages": messages} if bare else dict(messages)
    body.update({name: value for name, value in (("tools", tools), ("system", system)) if value is not None})
    if model is None:
        named = body.get("model")
        model = named if isinstance(named, str) else Model(id="unknown", known=False)
    known = find(model) if isinstance(model, str) else model
    view = RequestView(body=body, headers={}, model=known, saved=True, bare=bare)
    return _faults(view, (rule for rule in RULES if rule.scope == "body"))


def _faults(view: RequestView, rules: Iterable[Rule]) -> list[Fault]:
    found: list[Fault] = []
    for rule in rules:
        found += rule.faults(view)
        if found and rule.final:
            break
    return found


_NOT_AN_OBJECT = Fault(
    rule="request.messages",
    path="body",
    error_type="invalid_request_error",
    status=400,
    message="body: Input should be an object",
    repair="Send a JSON object with model, max_tokens and messages.",
)
