"""The port for those who watch a turn without taking part in it.

An agent with an `observer` tells it of each turn that it drives, each request and each call; without one, all that is
left of this is a test for None at each event. An observer must not raise, and must not wait.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Protocol

from turnkeeper.core.events import Event, RequestStarted
from turnkeeper.tools import Outcome
from turnkeeper.types import Effect, Principal

__all__ = ("CallWatch", "Drive", "Observer", "RequestWatch", "Watch")


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
