"""From a scripted reply to the message that is sent: ids, signatures, stop reason and usage filled in."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from turnkeeper.simulator.encoding import dump_text
from turnkeeper.simulator.ids import IdSource
from turnkeeper.simulator.imitations import Imitation
from turnkeeper.simulator.prompt import estimate_output
from turnkeeper.simulator.scripts import ScriptedReply

__all__ = ("PREWARM", "build_message", "plain", "raw_input")

ID_PREFIX = {"tool_use": "toolu", "server_tool_use": "srvtoolu", "mcp_tool_use": "mcptoolu"}
SIGNATURE = {"thinking": "signature", "redacted_thinking": "data"}
PREWARM = ScriptedReply(fields={"content": [], "stop_reason": "max_tokens"})
"""The answer to `max_tokens: 0`, which only warms the cache; the model isn't asked."""


def build_message(
    reply: ScriptedReply,
    request: Mapping[str, Any],
    *,
    input_usage: Mapping[str, Any],
    ids: IdSource,
    sign: Callable[[dict[str, Any]], str],
    imitation: Imitation | None = None,
) -> dict[str, Any]:
    """The message (blocks may still hold `raw_input`; see `plain`). `sign` signs a thinking block."""
    fields = dict(reply.fields)
    content = [dict(block) for block in fields["content"]]
    if imitation is not None and imitation.empty_leading_text and content:
        content.insert(0, {"type": "text", "text": ""})
    _fill_ids(content, request, ids, imitation)
    for block in content:
        key = SIGNATURE.get(block["type"])
        if key is not None and key not in block:
            block[key] = sign(block)
    message: dict[str, Any] = {
        "id": fields["id"] if "id" in fields else ids(imitation.message_prefix if imitation else "msg"),
        "type": "message",
        "role": "assistant",
        "model": request.get("model"),
        "content": content,
        "stop_reason": _stop_reason(fields, content, imitation),
        "stop_sequence": None,
        "usage": _usage(content, request, input_usage),
    }
    message.update({key: value for key, value in fields.items() if key not in ("content", "stop_reason")})
    message["usage"] = _with_scripted_events(message["usage"], reply)
    if imitation is not None:
        if imitation.usage == "zero" and "usage" not in fields:
            message["usage"] = {"input_tokens": 0, "output_tokens": 0}
        elif imitation.usage == "absent" and "usage" not in fields:
            del message["usage"]
        message.update(imitation.extra)
    message.update(reply.extra)
    return message


def plain(message: Mapping[str, Any]) -> dict[str, Any]:
    """The message as a JSON reply states it: `raw_input` becomes `input` if it is JSON, `{}` otherwise."""
    content = message.get("content")
    if not isinstance(content, list):
        return dict(message)
    return {**message, "content": [_plain_block(block) for block in content]}


def raw_input(block: Mapping[str, Any]) -> str:
    """The input of a call as text, whole or not, as the stream carries it."""
    raw = block.get("raw_input")
    return raw if isinstance(raw, str) else dump_text(block.get("input", {}))


def _plain_block(block: Any) -> Any:
    if not isinstance(block, Mapping) or "raw_input" not in block:
        return block
    try:
        value = json.loads(block["raw_input"])
    except ValueError:
        value = {}
    return {**{key: kept for key, kept in block.items() if key != "raw_input"}, "input": value}


def _fill_ids(
    content: list[dict[str, Any]], request: Mapping[str, Any], ids: IdSource, imitation: Imitation | None
) -> None:
    used = set(_used_ids(request)) | {block["id"] for block in content if isinstance(block.get("id"), str)}
    server_call = None
    number = 0
    for place, block in enumerate(content):
        kind = block["type"]
        if kind in ID_PREFIX:
            if "id" not in block:
                content[place] = _with_id(block, _call_id(block, number, used, ids, imitation))
            content[place].setdefault("input", {})
            number += 1
        if kind in ("server_tool_use", "mcp_tool_use"):
            server_call = content[place]["id"]
        elif kind.endswith("_tool_result") and "tool_use_id" not in block and server_call is not None:
            content[place] = {"type": kind, "tool_use_id": server_call, **block}


def _with_id(block: dict[str, Any], id_: str) -> dict[str, Any]:
    """The API writes type and id first."""
    return {"type": block["type"], "id": id_, **{key: value for key, value in block.items() if key != "type"}}


def _call_id(block: Mapping[str, Any], number: int, used: set[str], ids: IdSource, imitation: Imitation | None) -> str:
    kind = block["type"]
    if imitation is not None and kind == "tool_use":
        if "{id}" not in imitation.call_id:
            return imitation.call_id.format(name=block["name"], n=number)
        return imitation.call_id.format(name=block["name"], n=number, id=ids(imitation.call_prefix))
    # A counting id source that was started anew must not repeat an id of the conversation's history.
    while (fresh := ids(ID_PREFIX[kind])) in used:
        pass
    used.add(fresh)
    return fresh


def _used_ids(request: Mapping[str, Any]) -> Iterator[str]:
    messages = request.get("messages")
    for message in messages if isinstance(messages, list) else []:
        content = message.get("content") if isinstance(message, Mapping) else None
        for block in content if isinstance(content, list) else []:
            if isinstance(block, Mapping) and isinstance(block.get("id"), str):
                yield block["id"]


def _stop_reason(fields: Mapping[str, Any], content: list[dict[str, Any]], imitation: Imitation | None) -> Any:
    calls = any(block["type"] == "tool_use" for block in content)
    reason = fields.get("stop_reason", "tool_use" if calls else "end_turn")
    if imitation is None or reason is None:
        return reason
    return imitation.stop_reasons.get(reason, reason)


def _with_scripted_events(usage: Any, reply: ScriptedReply) -> Any:
    """The whole usage where a script states that of `message_start` or `message_delta`: the later count wins."""
    if reply.start_usage is None and reply.delta_usage is None:
        return usage
    known = usage if isinstance(usage, Mapping) else {}
    output = {key: known[key] for key in ("output_tokens",) if key in known}
    return {**known, **(reply.start_usage or {}), **(output if reply.delta_usage is None else reply.delta_usage)}


def _usage(content: list[dict[str, Any]], request: Mapping[str, Any], input_usage: Mapping[str, Any]) -> dict[str, Any]:
    output, thinking = estimate_output(content)
    if request.get("max_tokens") == 0:
        output = 0
    usage = {**input_usage, "output_tokens": output, "service_tier": "standard"}
    if thinking:
        usage["output_tokens_details"] = {"thinking_tokens": thinking}
    return usage
