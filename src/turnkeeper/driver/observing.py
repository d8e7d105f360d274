"""Telling an agent's observer what happens, where it has one; see `turnkeeper.telemetry.port`."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

from turnkeeper.core.events import Event, RequestStarted, TurnStarted
from turnkeeper.telemetry.port import CallWatch, Drive, Observer, RequestWatch, Watch
from turnkeeper.tools import Outcome
from turnkeeper.types import Effect, Principal

if TYPE_CHECKING:
    from turnkeeper.driver.loop import Plan
    from turnkeeper.driver.recorder import Recorder

__all__ = ("observed", "observer_for", "watched_call", "watched_request")


def observer_for(given: Observer | None) -> Observer | None:
    """The observer given, else that of the environment (TURNKEEPER_TELEMETRY), for which OpenTelemetry is loaded.

    ConfigurationError if it isn't installed.
    """
    if given is not None or not os.environ.get("TURNKEEPER_TELEMETRY"):
        return given
    from turnkeeper.telemetry import from_environment  # noqa: PLC0415 - loads OpenTelemetry, only where it was asked for

    return from_environment()


class _Nobody:
    """Stands where nobody watches."""

    headers: Mapping[str, str] = {}

    def chunk(self) -> None:
        """Nothing."""

    def ended(self, outcome: Outcome) -> None:
        """Nothing."""


_NOBODY = nullcontext(_Nobody())


@contextmanager
def observed(
    plan: Plan, recorder: Recorder, conversation_id: str, principal: Principal | None, opening: Sequence[Event]
) -> Iterator[None]:
    """Have the plan's observer watch what `recorder` is told in this block; `opening` are the events that begin it."""
    if plan.observer is None:
        yield
        return
    new = any(isinstance(event, TurnStarted) for event in opening)
    traces = [] if new else [trace for event in recorder.turn_events if (trace := getattr(event, "trace", None))]
    about = Drive(
        conversation_id=conversation_id,
        agent=plan.agent,
        model=plan.model.id,
        stream=plan.stream,
        principal=principal,
        resumed=not new,
        settings=plan.body.extra,
        traces=tuple(dict.fromkeys((*traces[:1], *traces[-1:]))),
    )
    with plan.observer.drive(about) as watch:
        recorder.watch = watch
        try:
            yield
        finally:
            recorder.watch = None


def watched_request(watch: Watch | None, event: RequestStarted, body: bytes) -> AbstractContextManager[RequestWatch]:
    """Around a try of a request, whether or not somebody watches."""
    return _NOBODY if watch is None else watch.request(event, body)


def watched_call(
    watch: Watch | None, call_id: str, tool: str, effect: Effect, given: Any
) -> AbstractContextManager[CallWatch]:
    """Around a call, whether or not somebody watches."""
    return _NOBODY if watch is None else watch.call(call_id, tool, effect, given)
