"""Short ways to write what the model answers; everything they give is a plain dict in the API's own format."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from turnkeeper.simulator.scripts import Script
from turnkeeper.types import Block

__all__ = ("call", "reply", "script", "text", "thinking")


def text(text: str, **fields: Any) -> Block:
    """A text block."""
    return {"type": "text", "text": text, **fields}


def call(
    name: str,
    input: Mapping[str, Any] | None = None,  # noqa: A002 - the API's own word
    *,
    id: str | None = None,  # noqa: A002 - the API's own word
    raw_input: str | None = None,
    **fields: Any,
) -> Block:
    """A `tool_use` block. Without `id` a fresh one is given when it is sent (`id=""` sends the empty one).

    `raw_input` is the input as text, for input that is cut off or isn't JSON: streams carry it as it is.
    """
    block: Block = {"type": "tool_use"}
    if id is not None:
        block["id"] = id
    block |= {"name": name, "input": dict(input or {})}
    if raw_input is not None:
        block["raw_input"] = raw_input
    return {**block, **fields}


def thinking(thinking: str = "", *, signature: str | None = None, **fields: Any) -> Block:
    """A `thinking` block; without `signature` it is signed when it is sent, and the simulator knows it again."""
    block: Block = {"type": "thinking", "thinking": thinking}
    if signature is not None:
        block["signature"] = signature
    return {**block, **fields}


def reply(*blocks: Block | str, **fields: Any) -> dict[str, Any]:
    """A reply of these blocks (a text stands for a text block) and other fields of the API's reply format.

    Without `stop_reason` it is `tool_use` if there is a `tool_use` block, else `end_turn`; `stop_reason=None` sends
    null. Fields that steer the delivery: `chunk`, `events`, `start_usage`, `delta_usage`; `extra` holds fields the
    API doesn't know.
    """
    return {"content": [text(block) if isinstance(block, str) else dict(block) for block in blocks], **fields}


def script(*replies: Any, then: Literal["refuse", "repeat", "last"] = "refuse") -> Script:
    """What the model answers, request by request: texts, blocks, replies, functions from the request to these, faults.

    `then` says what follows the last one: `refuse` (a 400 that says so, so that tests fail loudly), `repeat`, `last`.
    Raises InputError that names the place of a mistake.
    """
    return Script(replies, then=then)
