"""One stretch of a turn as it is watched: its span, and those of its requests and calls."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from opentelemetry import context as otel_context
from opentelemetry.context import Context
from opentelemetry.trace import Span, SpanKind, Status, StatusCode, Tracer, set_span_in_context

from turnkeeper.core.events import (
    ApprovalDecided,
    ApprovalRequested,
    CallRejected,
    CallUnresolved,
    Event,
    ReplyReceived,
    RequestFailed,
    RequestStarted,
    TurnEnded,
    TurnParked,
    TurnResumed,
    TurnStarted,
    TurnWarned,
)
from turnkeeper.telemetry import content
from turnkeeper.telemetry.conventions import PROVIDER, Convention
from turnkeeper.telemetry.instruments import Instruments
from turnkeeper.telemetry.port import Drive
from turnkeeper.telemetry.propagation import headers_for, trace_of
from turnkeeper.tools import Outcome
from turnkeeper.types import Effect, TurnStatus, Usage
from turnkeeper.wire.json import decode, fold_surrogates

__all__ = ("Kit", "Stretch")

_INTERRUPTED = "interrupted"
_LONGEST_WORD = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Kit:
    """What the spans and measurements are made with."""

    names: Convention
    tracer: Tracer
    instruments: Instruments
    content: bool
    clock: Callable[[], float]


class _Request:
    """One try of a request."""

    def __init__(self, kit: Kit, span: Span, labels: dict[str, Any]) -> None:
        self.span = span
        self.labels = labels
        self.began = kit.clock()
        self.first: float | None = None
        self._kit = kit
        self._last = 0.0

    @property
    def headers(self) -> Mapping[str, str]:
        """The trace context that the request carries."""
        return headers_for(set_span_in_context(self.span, Context()))

    def chunk(self) -> None:
        """A part of the reply has arrived."""
        now, instruments = self._kit.clock(), self._kit.instruments
        if self.first is None:
            self.first = now - self.began
            instruments.first_chunk.record(self.first, self.labels)
        else:
            instruments.later_chunk.record(now - self._last, self.labels)
        self._last = now


class _Call:
    """One call."""

    def __init__(self, kit: Kit, span: Span) -> None:
        self.span = span
        self.error: str | None = None
        self._kit = kit

    def ended(self, outcome: Outcome) -> None:
        """The call has its outcome."""
        self.span.set_attribute("turnkeeper.call.outcome", outcome.state)
        self.span.set_attribute("turnkeeper.call.attempts", outcome.attempts)
        if outcome.error_id is not None:
            self.span.set_attribute("turnkeeper.error.id", outcome.error_id)
        if self._kit.content:
            self.span.set_attribute(self._kit.names.result, content.value_json(outcome.content))
        if outcome.is_error:
            self.error = outcome.state


class Stretch:
    """The `Watch` of one stretch."""

    def __init__(self, kit: Kit, about: Drive, span: Span) -> None:
        self._kit = kit
        self._about = about
        self._span = span
        self._context = set_span_in_context(span)
        self._began = kit.clock()
        self._request: _Request | None = None
        self._error: str | None = None
        self._usage = Usage()
        self._cost: float | None = None

    # ----- what the driver tells -------------------------------------------------------------------------------------

    def saw(self, event: Event) -> Event:
        """Note an event; those that others may go on from get this stretch's trace."""
        if isinstance(event, TurnStarted | TurnResumed | TurnParked):
            if isinstance(event, TurnParked):
                self._span.set_attribute("turnkeeper.turn.status", event.status)
            return replace(event, trace=trace_of(self._span))
        if isinstance(event, ReplyReceived):
            self._replied(event)
        elif isinstance(event, RequestFailed):
            self._failed(event)
        elif isinstance(event, TurnEnded):
            self._span.set_attribute("turnkeeper.turn.status", str(event.status))
            if event.reason:
                self._span.set_attribute("turnkeeper.turn.reason", event.reason)
            if event.status == TurnStatus.FAILED:
                self._error = event.reason or "_OTHER"
        else:
            self._happened(event)
        return event

    @contextmanager
    def request(self, event: RequestStarted, body: bytes) -> Iterator[_Request]:
        """Around a try of a request: a span of its own, current while the request is under way."""
        names, about = self._kit.names, self._about
        labels = {names.operation: names.chat, names.provider: PROVIDER, names.request_model: event.model}
        attributes: dict[str, Any] = {
            **labels,
            names.conversation: about.conversation_id,
            names.max_tokens: event.max_tokens,
            names.request_stream: about.stream,
            "turnkeeper.request.number": event.number,
            "turnkeeper.request.attempt": event.attempt,
        }
        for member, name in names.settings:
            if about.settings.get(member) is not None:
                attributes[name] = about.settings[member]
        if self._kit.content:
            sent = decode(body.decode())
            texts = {
                names.system: content.system_json(sent),
                names.tool_definitions: content.definitions_json(sent),
                names.input_messages: content.input_json(sent),
            }
            attributes |= {name: text for name, text in texts.items() if text is not None}
        span = self._kit.tracer.start_span(
            f"{names.chat} {event.model}", self._context, SpanKind.CLIENT, attributes=attributes
        )
        request = self._request = _Request(self._kit, span, labels)
        with self._current(span):
            try:
                yield request
            except asyncio.CancelledError:
                self._end_request(error=_INTERRUPTED)
                raise

    @contextmanager
    def call(self, call_id: str, tool: str, effect: Effect, given: Any) -> Iterator[_Call]:
        """Around a call: a span of its own, current while the tool runs."""
        names = self._kit.names
        labels: dict[str, Any] = {names.tool: tool, names.tool_type: "function"}
        if self._about.agent:
            labels[names.agent] = self._about.agent
        attributes = {
            **labels,
            names.operation: names.execute_tool,
            names.call_id: _given(call_id),
            names.conversation: self._about.conversation_id,
            "turnkeeper.call.effect": effect,
        }
        if self._kit.content:
            attributes[names.arguments] = content.value_json(given)
        began = self._kit.clock()
        span = self._kit.tracer.start_span(
            f"{names.execute_tool} {tool}", self._context, SpanKind.INTERNAL, attributes=attributes
        )
        watch = _Call(self._kit, span)
        with self._current(span):
            try:
                yield watch
            except BaseException as error:
                watch.error = _word_for(error)
                raise
            finally:
                self._finish(span, watch.error)
                self._kit.instruments.tool_duration.record(
                    self._kit.clock() - began, self._with_error(labels, watch.error)
                )

    # ----- the end ---------------------------------------------------------------------------------------------------

    def broke(self, error: BaseException) -> None:
        """The stretch was left with an exception."""
        self._error = _word_for(error)
        if self._error == _INTERRUPTED:
            self._span.set_attribute("turnkeeper.turn.status", _INTERRUPTED)
            self._error = None

    def close(self) -> None:
        """End the span, and that of a request that nothing more was heard of."""
        self._end_request(error=_INTERRUPTED)
        names, usage = self._kit.names, self._usage
        if usage.requests:
            self._span.set_attributes(
                {names.input_tokens: usage.total_tokens - usage.output_tokens, names.output_tokens: usage.output_tokens}
            )
        if self._cost is not None:
            self._span.set_attribute("turnkeeper.cost.usd", self._cost)
        self._finish(self._span, self._error)
        labels = {names.request_model: self._about.model}
        if self._about.agent:
            labels[names.agent] = self._about.agent
        self._kit.instruments.agent_duration.record(
            self._kit.clock() - self._began, self._with_error(labels, self._error)
        )

    # ----- requests --------------------------------------------------------------------------------------------------

    def _replied(self, event: ReplyReceived) -> None:
        request, names = self._request, self._kit.names
        if request is None:  # an imported reply: nobody asked for it here
            return
        answered = {name: _given(value) for name, value in event.fields.items() if name in ("id", "model") and value}
        if "model" in answered:
            request.span.set_attribute(names.response_model, answered["model"])
        if "id" in answered:
            request.span.set_attribute(names.response_id, answered["id"])
        if event.stop_reason is not None:
            request.span.set_attribute(names.finish_reasons, [_given(event.stop_reason)])
        if self._kit.content:
            request.span.set_attribute(names.output_messages, content.output_json(event.blocks, event.stop_reason))
        self._spent(request, event)
        self._end_request(request_id=event.request_id, model=answered.get("model"))

    def _failed(self, event: RequestFailed) -> None:
        request = self._request
        if request is not None:
            self._spent(request, event)
            if event.status is not None:
                request.span.set_attribute("http.response.status_code", event.status)
            self._end_request(error=event.kind, request_id=event.request_id)
        if event.delay is not None:
            self._span.add_event(
                "turnkeeper.retry",
                {
                    self._kit.names.error: event.kind,
                    "turnkeeper.retry.delay": event.delay,
                    "turnkeeper.request.attempt": event.attempt + 1,
                },
            )

    def _spent(self, request: _Request, event: ReplyReceived | RequestFailed) -> None:
        names, instruments = self._kit.names, self._kit.instruments
        if event.usage:
            usage = Usage.of(event.usage)
            self._usage += usage
            inputs = usage.total_tokens - usage.output_tokens
            request.span.set_attributes(
                {
                    names.input_tokens: inputs,
                    names.output_tokens: usage.output_tokens,
                    names.cache_read: usage.cache_read_input_tokens,
                    names.cache_creation: usage.cache_creation_input_tokens,
                }
            )
            details = event.usage.get("output_tokens_details")
            thought = details.get("thinking_tokens") if isinstance(details, dict) else None
            if isinstance(thought, int) and thought >= 0:
                request.span.set_attribute(names.reasoning, thought)
            instruments.tokens.record(inputs, {**request.labels, names.token_type: "input"})
            instruments.tokens.record(usage.output_tokens, {**request.labels, names.token_type: "output"})
        if event.cost is not None:
            cost = float(event.cost)
            self._cost = cost if self._cost is None else self._cost + cost
            request.span.set_attribute("turnkeeper.cost.usd", cost)
            instruments.cost.add(cost, {names.request_model: request.labels[names.request_model]})

    def _end_request(
        self, *, error: str | None = None, request_id: str | None = None, model: str | None = None
    ) -> None:
        request, self._request = self._request, None
        if request is None:
            return
        names = self._kit.names
        if request_id is not None:
            request.span.set_attribute("turnkeeper.request.id", _given(request_id))
        if request.first is not None:
            request.span.set_attribute(names.time_to_first_chunk, request.first)
        self._finish(request.span, error)
        labels = request.labels if model is None else {**request.labels, names.response_model: model}
        self._kit.instruments.request_duration.record(
            self._kit.clock() - request.began, self._with_error(labels, error)
        )

    # ----- the rest --------------------------------------------------------------------------------------------------

    def _happened(self, event: Event) -> None:
        """What is no span of its own, as events of the stretch's span: words and ids, no text of anybody's."""
        if isinstance(event, CallRejected):
            said = {"turnkeeper.reason": event.reason}
        elif isinstance(event, ApprovalRequested):
            said = {"turnkeeper.approval.id": _given(event.approval_id), self._kit.names.tool: event.tool}
        elif isinstance(event, ApprovalDecided):
            said = {"turnkeeper.approval.id": _given(event.approval_id), "turnkeeper.approval.decision": event.decision}
        elif isinstance(event, TurnWarned):
            said = {"turnkeeper.warning.code": event.code}
        elif isinstance(event, CallUnresolved):
            said = {}
        else:
            return
        if (call_id := getattr(event, "call_id", None)) is not None:
            said[self._kit.names.call_id] = _given(call_id)
        self._span.add_event(f"turnkeeper.{event.type}", said)

    @contextmanager
    def _current(self, span: Span) -> Iterator[None]:
        token = otel_context.attach(set_span_in_context(span))
        try:
            yield
        finally:
            otel_context.detach(token)

    def _finish(self, span: Span, error: str | None) -> None:
        if error is not None:
            span.set_attribute(self._kit.names.error, error)
            span.set_status(Status(StatusCode.ERROR))
        span.end()

    def _with_error(self, labels: Mapping[str, Any], error: str | None) -> dict[str, Any]:
        return dict(labels) if error is None else {**labels, self._kit.names.error: error}


def _given(value: object) -> str:
    """A word of the endpoint's own: short, and text that an exporter can write."""
    return fold_surrogates(str(value)[:_LONGEST_WORD])


def _word_for(error: BaseException) -> str:
    return _INTERRUPTED if isinstance(error, asyncio.CancelledError) else type(error).__name__
