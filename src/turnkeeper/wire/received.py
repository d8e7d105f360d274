"""One block as an endpoint sent it: kept to the letter, mended where endpoints are known to differ, else refused.

Whatever is kept is a JSON object with a type, and the parts of it that later code reads are of the type they should be.
"""

from __future__ import annotations

from typing import Any

from turnkeeper.wire.blocks import CLIENT_CALL
from turnkeeper.wire.json import MOST_NESTED, NestedTooDeepError, decode, encode, sendable

__all__ = ("MalformedReplyError", "keep_block", "text_block")

_TEXTS = {"text": ("text",), "thinking": ("thinking", "signature"), "redacted_thinking": ("data",)}


class MalformedReplyError(ValueError):
    """What a 200 answer holds is not a message; the text says what is wrong with it."""


def text_block(text: str) -> dict[str, Any]:
    """A text block around a bare string, which some endpoints send for a whole content."""
    return {"type": "text", "text": text}


def keep_block(
    block: dict[str, Any], *, where: str, raw: str | None = None, input_text: str = ""
) -> tuple[str, str | None]:
    """The block's JSON text and, for a call whose input isn't a JSON object's text, that text.

    `raw` is the text that the block came as, `input_text` the joined pieces of a streamed input. A call id that isn't
    text counts as empty. Raises MalformedReplyError, which names the block by `where`.
    """
    kind = block.get("type")
    if not isinstance(kind, str):
        raise MalformedReplyError(f"{where} has no type")
    for key in _TEXTS.get(kind, ("name",) if kind == CLIENT_CALL else ()):
        found = block.get(key)
        if not isinstance(found, str) and (found is not None or key == "name"):
            raise MalformedReplyError(f"the {key} of {where} is not text")
    if kind.endswith("tool_use") and not isinstance(block.get("id"), str):
        block, raw = {**block, "id": ""}, None
    try:
        if input_text.strip():
            return _with_input(block, input_text)
        given = block.get("input")
        if kind == CLIENT_CALL and not isinstance(given, dict):
            found, problem = _mended(given)
            return encode({**block, "input": found}), problem
        return (encode(block) if raw is None else sendable(raw)), None
    except NestedTooDeepError as error:
        raise MalformedReplyError(f"the input of {where} is nested too deeply") from error


def _with_input(block: dict[str, Any], text: str) -> tuple[str, str | None]:
    try:
        given = decode(text, most_nested=MOST_NESTED)
    except NestedTooDeepError:
        raise
    except ValueError:
        return encode({**block, "input": {"INVALID_JSON": text}}), text
    if not isinstance(given, dict):
        found, problem = _mended(given)
        return encode({**block, "input": found}), problem
    # The model's own spelling of the input is kept: later requests must repeat it byte for byte.
    members = [f"{encode(key)}:{text if key == 'input' else encode(value)}" for key, value in block.items()]
    if "input" not in block:
        members.append(f'"input":{text}')
    return sendable("{" + ",".join(members) + "}"), None


def _mended(given: Any) -> tuple[dict[str, Any], str | None]:
    """An input that is null, or JSON in a string, as proxies send it: the object, and the text of one that is none."""
    if given is None:
        return {}, None
    text = given if isinstance(given, str) else encode(given)
    if isinstance(given, str):
        try:
            inner = decode(given, most_nested=MOST_NESTED) if given.strip() else {}
        except NestedTooDeepError:
            raise
        except ValueError:
            inner = None
        if isinstance(inner, dict):
            return inner, None
    return {"INVALID_JSON": text}, text
