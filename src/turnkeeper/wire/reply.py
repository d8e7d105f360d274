"""One whole reply of the API, kept as it was received."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from turnkeeper.wire.json import MOST_NESTED, decode, encode, fold_surrogates, raw_elements, raw_members
from turnkeeper.wire.received import MalformedReplyError, keep_block, text_block

__all__ = ("WireReply", "read_reply")


@dataclass(frozen=True, slots=True, kw_only=True)
class WireReply:
    """A reply: blocks as the JSON text they came as, and the fields around them.

    `invalid_inputs` maps a block's index to the raw text of a tool input that is not a JSON object's text
    (fine-grained streaming and compatible endpoints send such inputs). `fields` holds every other member of the
    message, unknown ones too, as received. `first_at` is when the first part of the content came, if it was streamed.
    """

    blocks: tuple[str, ...]
    stop_reason: str | None
    usage: dict[str, Any] = field(default_factory=dict)
    invalid_inputs: dict[int, str] = field(default_factory=dict)
    fields: dict[str, Any] = field(default_factory=dict)
    request_id: str | None = None
    first_at: float | None = None

    def parsed(self) -> list[dict[str, Any]]:
        """The blocks as objects, made anew on each call."""
        return [decode(block) for block in self.blocks]


def read_reply(body: bytes, *, request_id: str | None = None) -> WireReply:
    """Read the body of a non-streaming answer. Raises MalformedReplyError saying what is wrong with it.

    A null `content` counts as empty and a bare string as one text block: compatible endpoints send both.
    """
    try:
        members = raw_members(body.decode("utf-8-sig", "replace"), unique=True)
    except ValueError as error:
        raise MalformedReplyError(f"the reply is not a JSON object ({error})") from error
    if "content" not in members:
        kind = members.get("type", "none")
        raise MalformedReplyError(f"the reply has no content (its type is {kind[:100]})")
    content = members.pop("content")
    try:
        fields = {key: decode(value, most_nested=MOST_NESTED) for key, value in members.items()}
        blocks = [(decode(raw, most_nested=MOST_NESTED), raw) for raw in _elements(content)]
    except ValueError as error:
        raise MalformedReplyError(f"the reply can't be read ({error})") from error
    if fields.get("type") == "error":
        raise MalformedReplyError("the reply is an error in the shape of a message")
    stop_reason = fields.pop("stop_reason", None)
    usage = fields.pop("usage", None)
    kept: list[str] = []
    invalid: dict[int, str] = {}
    for index, (block, raw) in enumerate(blocks):
        if not isinstance(block, dict):
            raise MalformedReplyError(f"content.{index} is not an object")
        text, problem = keep_block(block, where=f"content.{index}", raw=raw)
        kept.append(text)
        if problem is not None:
            invalid[index] = problem
    return WireReply(
        blocks=tuple(kept),
        stop_reason=fold_surrogates(stop_reason) if isinstance(stop_reason, str) else None,
        usage=usage if isinstance(usage, dict) else {},
        invalid_inputs=invalid,
        fields=fields,
        request_id=request_id,
    )


def _elements(content: str) -> list[str]:
    if content == "null":
        return []
    if content.startswith('"'):
        text = decode(content)
        return [encode(text_block(text))] if text else []
    if not content.startswith("["):
        raise MalformedReplyError("the reply's content is not a list")
    return raw_elements(content)
