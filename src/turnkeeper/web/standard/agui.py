"""AG-UI 1.0: what a run tells, as the protocol's events (https://docs.ag-ui.com/spec/1.0).

One run is one answer to one request of the front end; it ends with a turn, or where the turn waits for a person. Text
that turned out void can't be taken back by an event of its own, so a snapshot of the messages, which the client takes
as the truth, stands in its place.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

from ag_ui.core import (
    PROTOCOL_VERSION,
    AssistantMessage,
    BaseEvent,
    CustomEvent,
    FunctionCall,
    Interrupt,
    Message,
    MessagesSnapshotEvent,
    ReasoningEndEvent,
    ReasoningMessageContentEvent,
    ReasoningMessageEndEvent,
    ReasoningMessageStartEvent,
    ReasoningStartEvent,
    RunErrorEvent,
    RunFinishedCancelledOutcome,
    RunFinishedEvent,
    RunFinishedInterruptOutcome,
    RunFinishedOutcome,
    RunFinishedSuccessOutcome,
    RunStartedEvent,
    TextMessageContentEvent,
    TextMessageEndEvent,
    TextMessageStartEvent,
    TokenUsage,
    ToolCall,
    ToolCallArgsEvent,
    ToolCallEndEvent,
    ToolCallResultEvent,
    ToolCallStartEvent,
    ToolMessage,
    UserMessage,
)

from turnkeeper.types import TurnStatus, Usage
from turnkeeper.web.standard import history
from turnkeeper.web.standard.history import reply_id
from turnkeeper.web.standard.parts import (
    Asked,
    CallEnded,
    CallMade,
    Ended,
    Parked,
    Part,
    Replied,
    Reported,
    TextAdded,
    TextEnded,
    Thought,
    Unknown,
    Voided,
    Waiting,
)
from turnkeeper.wire.json import encode

__all__ = ("APPROVAL_ANSWER", "OUTCOME_ANSWER", "Run", "data_of", "messages_of")

APPROVAL_ANSWER: dict[str, Any] = {
    "type": "object",
    "properties": {
        "approved": {"type": "boolean"},
        "editedArgs": {"type": "object", "description": "Run the call with these arguments instead."},
        "reason": {"type": "string"},
    },
    "required": ["approved"],
    "additionalProperties": False,
}
OUTCOME_ANSWER: dict[str, Any] = {
    "type": "object",
    "properties": {
        "happened": {"type": "boolean"},
        "result": {"description": "What the call came to, if it happened."},
        "reason": {"type": "string"},
    },
    "required": ["happened"],
    "additionalProperties": False,
}
_FAILED = "The answer could not be finished. Nothing that was done is lost; send a new message to go on."


def data_of(event: BaseEvent) -> str:
    """The event as the data of a server-sent event: one line of JSON."""
    return encode(event.model_dump(by_alias=True, mode="json"))


class Run:
    """Encodes one run; ids are the client's. `calls`: calls are shown, see `Fold`.

    `version` is the protocol's version that the client declared. Clients from before 1.0 declare none, and end with an
    error where an outcome is neither success nor interrupt: a cancelled run has no outcome for them.
    """

    def __init__(
        self, thread: str, run: str, *, parent: str | None = None, calls: bool = False, version: str | None = None
    ) -> None:
        self.thread, self.run, self.over = thread, run, False
        self._parent = parent
        self._calls = calls
        self._version = version
        self._open: str | None = None
        self._usage: dict[str, tuple[Usage, int]] = {}

    def started(self) -> BaseEvent:
        """The first event."""
        return RunStartedEvent(
            thread_id=self.thread, run_id=self.run, protocol_version=PROTOCOL_VERSION, parent_run_id=self._parent
        )

    def part(self, part: Part, messages: Sequence[history.Message]) -> list[BaseEvent]:
        """What a part becomes; `messages` are the conversation's, that part included."""
        match part:
            case TextAdded():
                return self._text(part)
            case TextEnded():
                return self._close()
            case Voided():
                return [*self._close(), self.snapshot(messages)] if self._open is not None else []
            case Replied():
                usage, reasoning = self._usage.get(part.model, (Usage(), 0))
                self._usage[part.model] = (usage + part.usage, reasoning + part.reasoning)
                return []
            case Ended():
                return self._ended(part)
            case Parked():
                return [*self._close(), self.finished(interrupts=part.waiting, status=part.status)]
            case _:
                return self._call(part)

    def snapshot(self, messages: Sequence[history.Message]) -> BaseEvent:
        """All messages as the server has them."""
        return MessagesSnapshotEvent(messages=messages_of(messages))

    def failed(self, code: str, message: str) -> BaseEvent:
        """The last event of a run that could not be."""
        self.over = True
        return RunErrorEvent(message=message, code=code, usage=self._counts() or None)

    def finished(
        self, *, status: str, reason: str = "", interrupts: Iterable[Waiting] = (), cancelled: bool = False
    ) -> BaseEvent:
        """The last event of a run."""
        self.over = True
        asked = [self._interrupt(one) for one in interrupts]
        outcome: RunFinishedOutcome | None = RunFinishedSuccessOutcome()
        if asked:
            outcome = RunFinishedInterruptOutcome(interrupts=asked)
        elif cancelled:
            outcome = None if self._version is None else RunFinishedCancelledOutcome()
        result = {"status": status, **({"reason": reason} if reason else {})}
        return RunFinishedEvent(
            thread_id=self.thread, run_id=self.run, outcome=outcome, result=result, usage=self._counts() or None
        )

    def closing(self, *, status: str, waiting: Sequence[Waiting] = ()) -> list[BaseEvent]:
        """The end of a run that is not the end of its own turn."""
        return [*self._close(), self.finished(status=status, interrupts=waiting)]

    # ----- parts -----------------------------------------------------------------------------------------------------

    def _text(self, part: TextAdded) -> list[BaseEvent]:
        name = reply_id(part.reply)
        events: list[BaseEvent] = []
        if self._open != name:
            events = [*self._close(), TextMessageStartEvent(message_id=name, role="assistant")]
            self._open = name
        return [*events, TextMessageContentEvent(message_id=name, delta=part.text)]

    def _close(self) -> list[BaseEvent]:
        name, self._open = self._open, None
        return [] if name is None else [TextMessageEndEvent(message_id=name)]

    def _ended(self, part: Ended) -> list[BaseEvent]:
        if part.status == TurnStatus.FAILED:
            return [*self._close(), self.failed(part.reason or "failed", _FAILED)]
        cancelled = part.status == TurnStatus.CANCELLED
        return [*self._close(), self.finished(status=part.status, reason=part.reason, cancelled=cancelled)]

    def _call(self, part: Part) -> list[BaseEvent]:
        match part:
            case Thought():
                name = f"{reply_id(part.reply)}.thought"
                return [
                    ReasoningStartEvent(message_id=name),
                    ReasoningMessageStartEvent(message_id=name, role="reasoning"),
                    ReasoningMessageContentEvent(message_id=name, delta=part.text),
                    ReasoningMessageEndEvent(message_id=name),
                    ReasoningEndEvent(message_id=name),
                ]
            case CallMade():
                return [
                    ToolCallStartEvent(
                        tool_call_id=part.call_id, tool_call_name=part.tool, parent_message_id=reply_id(part.reply)
                    ),
                    ToolCallArgsEvent(tool_call_id=part.call_id, delta=part.arguments),
                    ToolCallEndEvent(tool_call_id=part.call_id),
                ]
            case CallEnded():
                return [
                    ToolCallResultEvent(
                        message_id=_result_id(part.call_id), tool_call_id=part.call_id, content=part.text, role="tool"
                    )
                ]
            case Reported():
                value = {"toolCallId": part.call_id, "message": part.message, "fraction": part.fraction}
                return [CustomEvent(name="tool_progress", value=value)]
            case _:
                return []

    def _interrupt(self, one: Waiting) -> Interrupt:
        call = one.call_id if self._calls else None
        if isinstance(one, Unknown):
            return Interrupt(
                id=one.id,
                reason="outcome_unknown",
                tool_call_id=call,
                message="It is not known whether this took effect. A person has to find out and say.",
                response_schema=OUTCOME_ANSWER,
            )
        return Interrupt(
            id=one.id,
            reason="tool_call",
            tool_call_id=call,
            message=f"{one.tool} waits for approval: {one.policy}" if self._calls else "This waits for approval.",
            response_schema=APPROVAL_ANSWER,
            expires_at=_moment(one),
        )

    def _counts(self) -> list[TokenUsage]:
        return [
            TokenUsage(
                provider="anthropic",
                model=model or None,
                input_tokens=usage.total_tokens - usage.output_tokens,
                output_tokens=usage.output_tokens,
                total_tokens=usage.total_tokens,
                reasoning_tokens=reasoning or None,
                cached_input_tokens=usage.cache_read_input_tokens,
                cache_write_input_tokens=usage.cache_creation_input_tokens,
            )
            for model, (usage, reasoning) in self._usage.items()
        ]


def _moment(one: Asked) -> str:
    return datetime.fromtimestamp(one.expires_at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _result_id(call_id: str) -> str:
    return f"t-{call_id}"


def messages_of(messages: Sequence[history.Message]) -> list[Message]:
    """Messages in the protocol's form, results of calls as messages of their own."""
    found: list[Message] = []
    for one in messages:
        if one.role == "user":
            found.append(UserMessage(id=one.id, content=one.text))
            continue
        calls = [
            ToolCall(id=call.id, type="function", function=FunctionCall(name=call.tool, arguments=call.arguments))
            for call in one.calls
        ]
        if one.text or calls:
            found.append(AssistantMessage(id=one.id, content=one.text or None, tool_calls=calls or None))
        found += [
            ToolMessage(id=_result_id(call.id), tool_call_id=call.id, content=call.ended.text)
            for call in sorted(one.calls, key=lambda call: call.order)
            if call.ended is not None
        ]
    return found
