"""Content in the convention's form: only where somebody asked for it, bounded, with secrets and contacts taken out.

The form is JSON text: a list of messages with `role` and `parts`. What is no text (images, documents) is named, not
copied.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from turnkeeper.redaction import redacted
from turnkeeper.tools.masking import MASK, SECRET_NAME, mask
from turnkeeper.wire.json import decode, encode

__all__ = ("LONGEST", "definitions_json", "input_json", "output_json", "system_json", "value_json")

LONGEST = 65_536
"""Characters that one attribute may have; of a list that is longer, the newest items are kept."""
_LONGEST_TEXT = 8_192


def value_json(value: Any) -> str:
    """Any JSON value (arguments, a result)."""
    text = encode(_clean(value))
    return text if len(text) <= LONGEST else encode({"omitted_characters": len(text)})


def system_json(body: Mapping[str, Any]) -> str | None:
    """The system prompt of a request."""
    system = body.get("system")
    if not system:
        return None
    return _bounded(_parts(system))


def definitions_json(body: Mapping[str, Any]) -> str | None:
    """The tools of a request."""
    tools = body.get("tools")
    if not tools:
        return None
    found = []
    for tool in tools:
        about = {"name": tool.get("name"), "description": tool.get("description")}
        # A schema holds names and no values: masked by their names, it would say nothing.
        found.append({"type": "function", **about, "parameters": tool.get("input_schema")})
    return _fitting([encode(one) for one in found])


def input_json(body: Mapping[str, Any]) -> str:
    """The messages of a request; results of calls are messages of the role `tool`."""
    messages: list[dict[str, Any]] = []
    for message in body.get("messages", ()):
        for part in _parts(message.get("content", "")):
            role = "tool" if part["type"] == "tool_call_response" else message["role"]
            if messages and messages[-1]["role"] == role:
                messages[-1]["parts"].append(part)
            else:
                messages.append({"role": role, "parts": [part]})
    return _bounded(messages)


def output_json(blocks: Iterable[str], finish_reason: str | None) -> str:
    """A reply, from the JSON texts of its blocks."""
    parts = _parts([decode(block) for block in blocks])
    return _bounded([{"role": "assistant", "parts": parts, "finish_reason": finish_reason or ""}])


def _parts(content: Any) -> list[dict[str, Any]]:
    if isinstance(content, str):
        return [{"type": "text", "content": content}]
    return [_part(block) for block in content if isinstance(block, Mapping)]


def _part(block: Mapping[str, Any]) -> dict[str, Any]:
    kind = block.get("type")
    if kind == "text":
        return {"type": "text", "content": block.get("text", "")}
    if kind == "thinking":
        return {"type": "reasoning", "content": block.get("thinking", "")}
    if kind == "tool_use":
        named = {"id": block.get("id"), "name": block.get("name"), "arguments": block.get("input")}
        return {"type": "tool_call", **named}
    if kind == "tool_result":
        content = block.get("content", "")
        said = content if isinstance(content, str) else _parts(content)
        return {"type": "tool_call_response", "id": block.get("tool_use_id"), "response": said}
    return {"type": str(kind)}


def _bounded(items: list[dict[str, Any]]) -> str:
    return _fitting([encode(_clean(item)) for item in items])


def _fitting(items: list[str]) -> str:
    """A JSON list of the newest items that there is room for."""
    room, first = LONGEST - 2, len(items)
    while first and (room := room - len(items[first - 1]) - 1) >= 0:
        first -= 1
    return "[" + ",".join(items[first:]) + "]"


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        masked = redacted(mask(value[: _LONGEST_TEXT + 1]))
        return masked if len(value) <= _LONGEST_TEXT else masked[:_LONGEST_TEXT] + "…"
    if isinstance(value, Mapping):
        return {
            str(name): MASK if isinstance(one, str) and SECRET_NAME.search(str(name)) else _clean(one)
            for name, one in value.items()
        }
    if isinstance(value, list | tuple):
        return [_clean(one) for one in value]
    if isinstance(value, int) and not isinstance(value, bool):
        return value if redacted(text := str(value)) == text else redacted(text)
    return value
