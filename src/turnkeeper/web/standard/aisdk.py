"""The AI SDK's UI message stream, version 1: what a turn tells, as parts of the one message that answers it.

https://ai-sdk.dev/docs/ai-sdk-ui/stream-protocol. Each reply of the model is a step; text that turned out void is taken
back by a `reset-step`. The message's id is that of its turn, so telling it again replaces and never doubles it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from turnkeeper.types import TurnStatus, Usage
from turnkeeper.web.standard.history import Call, Message, reply_id
from turnkeeper.web.standard.parts import (
    Asked,
    CallEnded,
    CallMade,
    Decided,
    Ended,
    Parked,
    Part,
    Replied,
    Reported,
    TextAdded,
    TextEnded,
    Thought,
    Voided,
    Waiting,
)
from turnkeeper.wire.json import decode

__all__ = ("HEADERS", "Chunk", "UIStream", "answer_id", "ui_messages")

Chunk = dict[str, Any]

HEADERS = {"x-vercel-ai-ui-message-stream": "v1", "x-accel-buffering": "no", "cache-control": "no-cache"}

_REASONS = {
    TurnStatus.COMPLETED: "stop",
    TurnStatus.TRUNCATED: "length",
    TurnStatus.REFUSED: "content-filter",
    TurnStatus.AWAITING_APPROVAL: "tool-calls",
    TurnStatus.AWAITING_RESOLUTION: "tool-calls",
    TurnStatus.FAILED: "error",
}
_FAILED = "The answer could not be finished. Nothing that was done is lost; send a new message to go on."
_GOES_ON = frozenset({"approved", "edited"})
_DECISIONS = _GOES_ON | {"denied", "expired"}


def _input_of(arguments: str) -> Any:
    try:
        return decode(arguments)
    except ValueError:
        return arguments


class UIStream:
    """Encodes one answer. `calls`: calls are shown, and what people decide on them, see `Fold`."""

    def __init__(self, *, calls: bool = False) -> None:
        self._calls = calls
        self._step: int | None = None
        self._text = False
        self._usage = Usage()

    def started(self, message: str) -> Chunk:
        """The first part."""
        return {"type": "start", "messageId": message}

    def part(self, part: Part, messages: Sequence[Message]) -> list[Chunk]:
        """What a part becomes."""
        del messages
        match part:
            case TextAdded():
                return [*self._stepped(part.reply), *self._added(part)]
            case TextEnded():
                return self._text_end(part.reply)
            case Voided():
                return self._reset()
            case Replied():
                self._usage += part.usage
                return []
            case Parked():
                return self.closing(status=part.status, waiting=part.waiting)
            case Ended():
                return self._finished(part.status, part.reason)
            case _:
                return self._call(part)

    def closing(self, *, status: str, waiting: Sequence[Waiting] = ()) -> list[Chunk]:
        """The end of an answer that waits for somebody."""
        told: Chunk = {"type": "data-waiting", "id": "waiting", "data": {"status": status, "questions": len(waiting)}}
        return [*self._step_end(), told, self._finish(status)]

    # ----- parts -----------------------------------------------------------------------------------------------------

    def _stepped(self, reply: int) -> list[Chunk]:
        if self._step == reply:
            return []
        ended = self._step_end()
        self._step = reply
        return [*ended, {"type": "start-step"}]

    def _step_end(self) -> list[Chunk]:
        if self._step is None:
            return []
        ended = self._text_end(self._step)
        self._step = None
        return [*ended, {"type": "finish-step"}]

    def _added(self, part: TextAdded) -> list[Chunk]:
        name = reply_id(part.reply)
        begun: list[Chunk] = [] if self._text else [{"type": "text-start", "id": name}]
        self._text = True
        return [*begun, {"type": "text-delta", "id": name, "delta": part.text}]

    def _text_end(self, reply: int) -> list[Chunk]:
        if not self._text:
            return []
        self._text = False
        return [{"type": "text-end", "id": reply_id(reply)}]

    def _reset(self) -> list[Chunk]:
        if self._step is None:
            return []
        ended = self._text_end(self._step)
        return [*ended, {"type": "reset-step"}]

    def _finished(self, status: str, reason: str) -> list[Chunk]:
        ended = self._step_end()
        if status == TurnStatus.CANCELLED:
            return [*ended, {"type": "abort", "reason": reason or status}]
        told: list[Chunk] = [{"type": "error", "errorText": _FAILED}] if status == TurnStatus.FAILED else []
        return [*ended, *told, self._finish(status, reason)]

    def _finish(self, status: str, reason: str = "") -> Chunk:
        usage = self._usage
        counted = {
            "inputTokens": usage.total_tokens - usage.output_tokens,
            "outputTokens": usage.output_tokens,
            "totalTokens": usage.total_tokens,
            "cachedInputTokens": usage.cache_read_input_tokens,
        }
        about = {"status": status, **({"reason": reason} if reason else {}), "usage": counted}
        reasons: dict[str, str] = {str(one): word for one, word in _REASONS.items()}
        return {"type": "finish", "finishReason": reasons.get(status, "other"), "messageMetadata": about}

    def _call(self, part: Part) -> list[Chunk]:
        match part:
            case Thought():
                name = f"{reply_id(part.reply)}.thought"
                return [
                    *self._stepped(part.reply),
                    {"type": "reasoning-start", "id": name},
                    {"type": "reasoning-delta", "id": name, "delta": part.text},
                    {"type": "reasoning-end", "id": name},
                ]
            case CallMade():
                about = {"toolCallId": part.call_id, "toolName": part.tool, "dynamic": True}
                made = {"type": "tool-input-available", **about, "input": _input_of(part.arguments)}
                return [*self._stepped(part.reply), made]
            case CallEnded():
                return [_ended(part)]
            case Reported():
                value = {"toolCallId": part.call_id, "message": part.message, "fraction": part.fraction}
                return [{"type": "data-tool-progress", "id": part.call_id, "data": value, "transient": True}]
            case Asked() | Decided() if self._calls:
                return _on_approval(part)
            case _:
                return []


def _on_approval(part: Asked | Decided) -> list[Chunk]:
    if isinstance(part, Asked):
        reason = {"reason": part.policy} if part.policy else {}
        return [{"type": "tool-approval-request", "approvalId": part.id, "toolCallId": part.call_id, **reason}]
    if part.decision not in _DECISIONS:  # on an outcome that was unknown: nothing that a front end has a part for
        return []
    reason = {"reason": part.reason} if part.reason else {}
    approved = part.decision in _GOES_ON
    return [{"type": "tool-approval-response", "approvalId": part.id, "approved": approved, **reason}]


def _ended(part: CallEnded) -> Chunk:
    if part.outcome in ("denied", "expired"):
        return {"type": "tool-output-denied", "toolCallId": part.call_id}
    if part.is_error:
        return {"type": "tool-output-error", "toolCallId": part.call_id, "errorText": part.text}
    return {"type": "tool-output-available", "toolCallId": part.call_id, "output": part.text}


def ui_messages(messages: Sequence[Message]) -> list[Chunk]:
    """The conversation as UI messages, to begin with; an assistant's message is the whole answer of a turn."""
    found: list[Chunk] = []
    for one in messages:
        if one.role == "user":
            found.append({"id": one.id, "role": "user", "parts": [{"type": "text", "text": one.text}]})
            continue
        name = answer_id(one.answers or one.id)
        if not found or found[-1]["id"] != name:
            found.append({"id": name, "role": "assistant", "parts": []})
        parts = found[-1]["parts"]
        parts.append({"type": "step-start"})
        if one.thought:
            parts.append({"type": "reasoning", "text": one.thought, "state": "done"})
        if one.text:
            parts.append({"type": "text", "text": one.text, "state": "done"})
        parts += [_part_of(call) for call in one.calls]
    return found


def answer_id(asked: str) -> str:
    """The id of the message that answers the user's message of that id."""
    return f"a-{asked}"


def _part_of(call: Call) -> Chunk:
    part: Chunk = {
        "type": "dynamic-tool",
        "toolName": call.tool,
        "toolCallId": call.id,
        "input": _input_of(call.arguments),
    }
    if call.ended is not None and call.ended.outcome in ("denied", "expired"):
        return {**part, "state": "output-denied", "approval": {"id": call.approval or call.id, "approved": False}}
    if call.ended is not None and call.ended.is_error:
        return {**part, "state": "output-error", "errorText": call.ended.text}
    if call.ended is not None:
        return {**part, "state": "output-available", "output": call.ended.text}
    if call.approval is not None:
        return {**part, "state": "approval-requested", "approval": {"id": call.approval}}
    return {**part, "state": "input-available"}
