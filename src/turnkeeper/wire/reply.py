"""One whole reply of the API, kept as it was received."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from turnkeeper.wire.json import decode, encode, raw_elements, raw_members, sendable

__all__ = ("MalformedReplyError", "WireReply", "read_reply")


class MalformedReplyError(ValueError):
    """The body of a 200 answer is not a message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WireReply:
    """A reply: blocks as the JSON text they came as, and the fields around them.

    `invalid_inputs` maps a block's index to the raw text of a tool input that is not a JSON object's text
    (fine-grained streaming and compatible endpoints send such inputs). `fields` holds every other member of the
    message, unknown ones too, as received.
    """

    blocks: tuple[str, ...]
    stop_reason: str | None
    usage: dict[str, Any] = field(default_factory=dict)
    invalid_inputs: dict[int, str] = field(default_factory=dict)
    fields: dict[str, Any] = field(default_factory=dict)
    request_id: str | None = None

    def parsed(self) -> list[dict[str, Any]]:
        """The blocks as objects, made anew on each call."""
        return [decode(block) for block in self.blocks]


def read_reply(body: bytes, *, request_id: str | None = None) -> WireReply:
    """Read the body of a non-streaming answer. Raises MalformedReplyError saying what is missing.

    A null `content` counts as empty and a bare string as one text block: compatible endpoints send both.
    """
    try:
        members = raw_members(body.decode("utf-8", "replace"))
    except ValueError as error:
        raise MalformedReplyError(f"the reply is not a JSON object ({error})") from error
    if "content" not in members:
        kind = members.get("type", "none")
        raise MalformedReplyError(f"the reply has no content (its type is {kind})")
    content = members.pop("content")
    if content == "null":
        blocks: list[str] = []
    elif content.startswith('"'):
        blocks = [encode({"type": "text", "text": decode(content)})] if content != '""' else []
    else:
        try:
            blocks = raw_elements(content)
        except ValueError as error:
            raise MalformedReplyError("the reply's content is not a list") from error
    fields = {key: decode(value) for key, value in members.items()}
    stop_reason = fields.pop("stop_reason", None)
    usage = fields.pop("usage", None)
    kept: list[str] = []
    invalid: dict[int, str] = {}
    for index, raw in enumerate(blocks):
        block = decode(raw)
        if not isinstance(block, dict):
            raise MalformedReplyError(f"content.{index} is not an object")
        if block.get("type") == "tool_use" and not isinstance(block.get("input"), dict):
            mended, problem = _mend_input(block)
            kept.append(mended)
            if problem is not None:
                invalid[index] = problem
        else:
            kept.append(sendable(raw))
    return WireReply(
        blocks=tuple(kept),
        stop_reason=stop_reason if isinstance(stop_reason, str) else None,
        usage=usage if isinstance(usage, dict) else {},
        invalid_inputs=invalid,
        fields=fields,
        request_id=request_id,
    )


def _mend_input(block: dict[str, Any]) -> tuple[str, str | None]:
    """A call whose input is null, or JSON in a string, as proxies send it: the block to keep, and what was wrong."""
    given = block.get("input")
    if given is None:
        return encode({**block, "input": {}}), None
    if isinstance(given, str):
        try:
            inner = decode(given) if given.strip() else {}
        except ValueError:
            inner = None
        if isinstance(inner, dict):
            return encode({**block, "input": inner}), None
        return encode({**block, "input": {"INVALID_JSON": given}}), given
    return encode({**block, "input": {"INVALID_JSON": encode(given)}}), encode(given)
