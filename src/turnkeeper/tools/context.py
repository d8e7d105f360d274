"""What a running tool may ask of its surroundings, and the parameters that the application binds."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, TypeVar

from turnkeeper.errors import ToolError
from turnkeeper.tools.wording import clean
from turnkeeper.types import Principal

__all__ = ("CallState", "Injected", "ToolContext")

_logger = logging.getLogger("turnkeeper.tools")

T = TypeVar("T")

if TYPE_CHECKING:
    Injected: TypeAlias = Annotated[T, "bound by the application"]
else:

    class Injected:
        """Marks a parameter that the application binds: `customer: Injected[str]`, or `Annotated[str, Injected]`.

        Such a parameter is absent from the schema that the model sees, and a value that the model sends for it is
        refused as an unknown argument. The value comes from `ToolContext.injected` under the parameter's name, or
        from the parameter's default.
        """

        def __class_getitem__(cls, item):
            return Annotated[item, cls]


class CallState:
    """Whether a call is still wanted; shared by the call's own thread or task and the one that waits for it."""

    __slots__ = ("_ended", "loop", "started", "untrusted")

    def __init__(self) -> None:
        self._ended = threading.Event()
        self.loop: asyncio.AbstractEventLoop | None = None
        self.started = False
        self.untrusted = False

    @property
    def abandoned(self) -> bool:
        """True once nobody waits for the call any more."""
        return self._ended.is_set()

    def abandon(self) -> None:
        """Say that the call's outcome is settled without it."""
        self._ended.set()


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolContext:
    """What a tool gets as its hidden first parameter `ctx`.

    `principal` is who the application says is talking, None when it said nothing. `key` is the same at every attempt
    of the same call: hand it to services that take an idempotency key. `connection` is the journal's own database
    connection, for tools of effect `transactional`, else None. `injected` holds the values of `Injected` parameters.
    `approved_by` is who approved this very call, None where it needed nobody.
    `on_progress` receives what `progress()` reports, always in the event loop's thread. `keeps` and `whole` are for
    results that are too large for the model: how many characters are kept of them, and reading one by its call's id
    (its text, and how many characters the model gets at once).
    """

    principal: Principal | None = None
    conversation_id: str = ""
    call_id: str = ""
    key: str = ""
    injected: Mapping[str, Any] = field(default_factory=dict, repr=False)
    connection: Any = field(default=None, repr=False)
    approved_by: Principal | None = None
    on_progress: Callable[[str, float | None], None] | None = field(default=None, repr=False)
    keeps: int | None = field(default=None, repr=False)
    whole: Callable[[str], Awaitable[tuple[str, int] | None]] | None = field(default=None, repr=False)
    state: CallState = field(default_factory=CallState, repr=False, compare=False)

    @property
    def cancelled(self) -> bool:
        """True when the call has timed out or was cancelled: whatever the tool returns now is thrown away."""
        return self.state.abandoned

    def check_cancelled(self) -> None:
        """Raise `ToolError` if the call is no longer wanted; for loops in sync tools, which nothing can interrupt."""
        if self.cancelled:
            raise ToolError("The call was cancelled.")

    def untrusted(self, text: str) -> str:
        """Say that this text, which the result will hold, comes from outside (a note, a name); gives it back.

        The result is labelled for the model, and calls that change something need a person from then on.
        """
        self.state.untrusted = True
        return text

    def progress(self, message: str, fraction: float | None = None) -> None:
        """Tell whoever watches how far the tool is; `fraction` is from 0 to 1. Never fails, from any thread."""
        report, loop = self.on_progress, self.state.loop
        if report is None or self.cancelled:
            return
        try:
            running = asyncio.get_running_loop()
        except RuntimeError:
            running = None
        try:
            text = clean(str(message))
            share = None if fraction is None else min(max(float(fraction), 0.0), 1.0)
            if loop is None or running is loop:
                report(text, share)
            else:
                loop.call_soon_threadsafe(report, text, share)
        except Exception as error:  # noqa: BLE001
            # A watcher's fault, or a loop that is already closed, is no reason for the tool to fail.
            _logger.warning("Progress of call %s could not be reported (%s)", self.call_id, type(error).__name__)
