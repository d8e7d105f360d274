"""What a turn prints while it runs and when it ends: text on a screen, text for a program, JSON, a line per update."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any, Protocol

from turnkeeper.cli.escapes import Cleaner, clean, clean_line, json_text
from turnkeeper.cli.terminal import Terminal
from turnkeeper.cli.wording import call_line, content_text, explain, how_to_decide, seconds, way_on
from turnkeeper.driver.reply import Reply
from turnkeeper.types import TurnStatus
from turnkeeper.updates import (
    ApprovalNeeded,
    CallFinished,
    CallStarted,
    ReplyDiscarded,
    ReplyReceived,
    RequestStarted,
    RetryScheduled,
    TextDelta,
    ThinkingDelta,
    ToolProgress,
    TurnEnded,
    Update,
    Warned,
)

__all__ = ("Filter", "JSONPrinter", "Printer", "StreamPrinter", "TextPrinter", "Whole", "filtered", "printer_for")

LONGEST_REASON = 200
"""Characters that are shown of what a failed call told the model."""


class Filter(Protocol):
    """Chooses what of a reply's text is for the user, as it streams in; one for each reply."""

    def feed(self, delta: str) -> str:
        """What can be shown by now."""
        ...

    def finish(self) -> str:
        """The text has ended: what was held back."""
        ...


class Whole:
    """The filter that lets everything through."""

    def feed(self, delta: str) -> str:
        """All of it."""
        return delta

    def finish(self) -> str:
        """Nothing was held back."""
        return ""


class Printer(Protocol):
    """How a turn is shown."""

    def show(self, update: Update) -> None:
        """One update, at once."""
        ...

    def end(self, reply: Reply) -> None:
        """The turn has come to its end."""
        ...

    def failed(self, error: Exception, conversation_id: str) -> None:
        """The turn ended with an error, which is reported elsewhere."""
        ...


def printer_for(
    output_format: str,
    terminal: Terminal,
    make_filter: Callable[[], Filter] = Whole,
    *,
    principal_kind: str | None = None,
    input_of: Callable[[str], Any] = str,
    journal: str | None = None,
    tools: Sequence[str] = (),
    database: str | None = None,
) -> Printer:
    """The printer of an output format.

    `principal_kind` says whose conversation it is; `input_of` gives the input of a call that never started; `journal`
    is where an approval is decided, None for the default journal; `tools` and the desk's
    `database` are those named on the command line.
    """
    if output_format == "json":
        return JSONPrinter(terminal, make_filter)
    if output_format == "stream-json":
        return StreamPrinter(terminal)
    return TextPrinter(
        terminal,
        make_filter,
        principal_kind=principal_kind,
        input_of=input_of,
        journal=journal,
        tools=tools,
        database=database,
    )


def filtered(text: str, make_filter: Callable[[], Filter]) -> str:
    """What of a whole text is for the user."""
    chosen = make_filter()
    return chosen.feed(text) + chosen.finish()


class TextPrinter:
    """Text. On a screen it streams; elsewhere stdout gets the answer only, whole, when it is known to stand.

    A reply that breaks off can't be taken back from a pipe, which is why nothing is written there before the end.
    """

    def __init__(
        self,
        terminal: Terminal,
        make_filter: Callable[[], Filter] = Whole,
        *,
        principal_kind: str | None = None,
        input_of: Callable[[str], Any] = str,
        journal: str | None = None,
        tools: Sequence[str] = (),
        database: str | None = None,
    ) -> None:
        self._terminal = terminal
        self._named = {"journal": journal, "database": database}
        self._tools = tools
        self._input_of = input_of
        self._journal = journal
        self._make_filter = make_filter
        self._principal_kind = principal_kind
        self._live = terminal.answers_on_screen
        self._filter: Filter = make_filter()
        self._cleaner = Cleaner()
        self._streamed = False
        self._written = False
        self._running: dict[str, Any] = {}  # inputs of the calls that run, by id
        self._ended: set[str] = set()

    def show(self, update: Update) -> None:
        """One update."""
        terminal = self._terminal
        match update:
            case RequestStarted():
                self._begin_reply()
                terminal.status("…")
            case TextDelta() if self._live:
                self._streamed = True
                self._write(self._cleaner.feed(self._filter.feed(update.text)))
            case ThinkingDelta():
                terminal.status("… thinking")
            case ReplyReceived() if self._live:
                if not self._streamed:
                    self._write(self._cleaner.feed(self._filter.feed(update.text)))
                self._end_reply()
            case ReplyDiscarded():
                self._end_reply()
                if self._written and self._live:
                    terminal.note(f"  (that broke off and doesn't count: {clean_line(update.reason)})")
            case RetryScheduled():
                terminal.note(f"  {clean_line(update.reason)}: asking again in {seconds(update.delay)}")
            case Warned():
                terminal.note(f"turnkeeper: warning: {clean_line(update.message)}", "yellow")
            case TurnEnded():
                self._end_reply()
            case CallStarted() | ToolProgress() | CallFinished() | ApprovalNeeded():
                self._show_call(update)
            case _:
                pass

    def end(self, reply: Reply) -> None:
        """The answer, where it was not shown yet, and what is to be said about the turn."""
        terminal = self._terminal
        terminal.clear_status()
        if not self._live:
            text = clean(filtered(reply.text, self._make_filter))
            terminal.answer(text if text.endswith("\n") or not text else text + "\n")
        terminal.end_line()
        for call in reply.calls:
            if call.id not in self._ended:  # cut short, or not begun, when the turn was cancelled
                terminal.note(call_line(call.name, call.input, call.outcome, None, width=self._width))
        way = way_on(reply.conversation_id, self._principal_kind, tools=self._tools, **self._named)
        said = explain(reply.status, reply.reason, way)
        if said is not None:
            terminal.note(f"turnkeeper: {clean_line(said)}", "yellow")

    def failed(self, error: Exception, conversation_id: str) -> None:
        """Leave the screen in order."""
        del error, conversation_id
        self._end_reply()
        self._terminal.clear_status()
        self._terminal.end_line()

    @property
    def _width(self) -> int | None:
        return self._terminal.width if self._terminal.notes_on_screen else None

    def _begin_reply(self) -> None:
        self._end_reply()
        self._filter = self._make_filter()
        self._cleaner = Cleaner()
        self._streamed = self._written = False

    def _write(self, text: str) -> None:
        if not self._written:
            text = text.lstrip("\n")
        self._written = self._written or bool(text)
        self._terminal.answer(text)

    def _end_reply(self) -> None:
        """Write what filter and cleaner held back, once."""
        if self._live:
            self._write(self._cleaner.feed(self._filter.finish()) + self._cleaner.finish())
            self._filter, self._cleaner = Whole(), Cleaner()
            self._terminal.end_line()

    def _show_call(self, update: CallStarted | ToolProgress | CallFinished | ApprovalNeeded) -> None:
        terminal, width = self._terminal, self._width
        if isinstance(update, CallStarted):
            self._running[update.call_id] = update.input
            terminal.status(call_line(update.name, update.input, "…", None, width=width))
        elif isinstance(update, ApprovalNeeded):
            self._ended.add(update.call_id)
            terminal.note(call_line(update.name, update.input, "waits for approval", None, width=width), "yellow")
            terminal.note(f"    {clean_line(f'{update.approval_id}: {update.policy}')}")
            if self._principal_kind != "customer":
                terminal.note(f"    {clean_line(how_to_decide(update.approval_id, self._journal))}")
            elif update.requester_level is None:
                terminal.note("    A member of staff decides; /resume goes on then.")
        elif isinstance(update, ToolProgress):
            share = "" if update.fraction is None else f" {update.fraction:.0%}"
            terminal.status(f"  · {clean_line(update.message)}{share}")
        else:
            self._ended.add(update.call_id)
            known = update.call_id in self._running
            given = self._running.pop(update.call_id) if known else self._input_of(update.call_id)
            terminal.note(call_line(update.name, given, update.outcome, update.seconds, width=width))
            if update.is_error:
                reason = clean_line(content_text(update.content))
                cut = reason if len(reason) <= LONGEST_REASON else reason[: LONGEST_REASON - 1] + "…"
                terminal.note(f"    {cut}")


class JSONPrinter:
    """One JSON object when the turn has ended. Warnings, calls and approvals are in it, so stderr stays quiet."""

    def __init__(self, terminal: Terminal, make_filter: Callable[[], Filter] = Whole) -> None:
        self._terminal = terminal
        self._make_filter = make_filter
        self._ended: TurnEnded | None = None
        self._warnings: list[str] = []
        self._approvals: list[ApprovalNeeded] = []

    def show(self, update: Update) -> None:
        """Nothing yet."""
        if isinstance(update, TurnEnded):
            self._ended = update
        elif isinstance(update, Warned):
            self._warnings.append(update.message)
        elif isinstance(update, ApprovalNeeded):
            self._approvals.append(update)

    def end(self, reply: Reply) -> None:
        """The object."""
        self._print(
            {
                "conversation_id": reply.conversation_id,
                "status": reply.status,
                "reason": reply.reason,
                "text": filtered(reply.text, self._make_filter),
                "model": reply.model,
                "stop_reason": reply.stop_reason,
                "stop_details": reply.stop_details,
                "usage": _usage(reply.usage),
                "cost": _cost(reply.cost),
                "calls": [
                    {
                        "id": call.id,
                        "name": call.name,
                        "input": call.input,
                        "outcome": call.outcome,
                        "is_error": call.is_error,
                        "content": call.content,
                        "seconds": round(call.seconds, 3),
                    }
                    for call in reply.calls
                ],
                "approvals": [
                    {
                        "id": one.approval_id,
                        "call": one.call_id,
                        "tool": one.name,
                        "input": one.input,
                        "policy": one.policy,
                        "expires_at": one.expires_at,
                    }
                    for one in self._approvals
                ],
                "warnings": list(dict.fromkeys([*reply.warnings, *self._warnings])),
                "error": None,
            }
        )

    def failed(self, error: Exception, conversation_id: str) -> None:
        """The object of a turn that an error ended."""
        from turnkeeper.cli.problems import line_for  # noqa: PLC0415 - only a failing turn needs it

        ended = self._ended
        self._print(
            {
                "conversation_id": conversation_id,
                "status": ended.status if ended else TurnStatus.FAILED,
                "reason": ended.reason if ended else "",
                "text": filtered(ended.text, self._make_filter) if ended else "",
                "usage": _usage(ended.usage) if ended else None,
                "cost": _cost(ended.cost) if ended else None,
                "warnings": self._warnings,
                "error": {
                    "code": getattr(error, "code", type(error).__name__),
                    "kind": getattr(error, "kind", None),
                    "message": line_for(error),
                },
            }
        )

    def _print(self, value: dict[str, Any]) -> None:
        self._terminal.answer(json_text(value, indent=2 if self._terminal.answers_on_screen else None) + "\n")


class StreamPrinter:
    """One line of JSON per update, as it happens."""

    def __init__(self, terminal: Terminal) -> None:
        self._terminal = terminal

    def show(self, update: Update) -> None:
        """The update's line."""
        self._terminal.answer(json_text(update.to_json()) + "\n")

    def end(self, reply: Reply) -> None:
        """Its last update has said it."""

    def failed(self, error: Exception, conversation_id: str) -> None:
        """Its last update has said it."""


def _usage(usage: Any) -> dict[str, int]:
    return {name: getattr(usage, name) for name in type(usage).__dataclass_fields__}


def _cost(cost: Decimal | None) -> str | None:
    return None if cost is None else str(cost)
