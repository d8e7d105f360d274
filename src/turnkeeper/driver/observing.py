"""The port for those who watch a turn without taking part in it: telemetry.

An agent with an `observer` tells it of each turn that it drives, each request and each call; without one, all that is
left of this is a test for None at each event. An observer must not raise, and must not wait.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from turnkeeper.core.events import Event, RequestStarted, TurnStarted
from turnkeeper.tools import Outcome
from turnkeeper.types import Effect, Principal

if TYPE_CHECKING:
    from turnkeeper.driver.loop import Plan
    from turnkeeper.driver.recorder import Recorder

__all__ = ("CallWatch", "Drive", "Observer", "RequestWatch", "Watch", "observed", "watched_call", "watched_request")


@dataclass(frozen=True, slots=True, kw_only=True)
class Drive:
    """One stretch of work on a turn: from its start or its resumption to where it ends, parks or is interrupted.

    `agent` is the agent's name, empty where it has none. `settings` are the request's own members besides model,
    prompt and messages (`temperature`, …). `traces` are what earlier stretches of the same turn left in the journal
    (see `TurnStarted.trace`), the first and the last.
    """

    conversation_id: str
    agent: str
    model: str
    stream: bool
    principal: Principal | None
    resumed: bool
    settings: Mapping[str, Any] = field(default_factory=dict)
    traces: tuple[str, ...] = ()


class RequestWatch(Protocol):
    """Watches one try of a request."""

    @property
    def headers(self) -> Mapping[str, str]:
        """Headers that the request carries: the trace context."""

    def chunk(self) -> None:
        """A part of the reply's content has arrived."""


class CallWatch(Protocol):
    """Watches one call."""

    def ended(self, outcome: Outcome) -> None:
        """The call has its outcome."""


class Watch(Protocol):
    """Watches one stretch of a turn."""

    def saw(self, event: Event) -> Event:
        """An event of this stretch, before it is written; given back as it is to be written, with its `trace` set."""

    def request(self, event: RequestStarted, body: bytes) -> AbstractContextManager[RequestWatch]:
        """Around a try of a request; how it ended is seen as an event after that."""

    def call(self, call_id: str, tool: str, effect: Effect, given: Any) -> AbstractContextManager[CallWatch]:
        """Around a call; `given` is its input."""


class Observer(Protocol):
    """What an agent is given to have its turns watched."""

    def drive(self, about: Drive) -> AbstractContextManager[Watch]:
        """Around one stretch of a turn."""


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
