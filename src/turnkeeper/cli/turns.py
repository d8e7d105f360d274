"""One turn in the terminal: shown as it runs, cancelled by Ctrl-C in good order, ended with an exit code."""

from __future__ import annotations

from collections.abc import AsyncIterator

import anyio

from turnkeeper.cli.conversing import Session
from turnkeeper.cli.exits import EXIT_FOR, Exit
from turnkeeper.cli.interrupts import during
from turnkeeper.cli.printing import Printer
from turnkeeper.cli.problems import CommandError
from turnkeeper.cli.terminal import ReaderLeftError
from turnkeeper.driver.conversation import Conversation
from turnkeeper.driver.turn import Turn
from turnkeeper.types import TurnStatus
from turnkeeper.updates import (
    ApprovalNeeded,
    CallFinished,
    CallStarted,
    ReplyDiscarded,
    ReplyReceived,
    RequestStarted,
    TurnEnded,
    Update,
    Warned,
)

__all__ = ("run_turn",)


async def run_turn(turn: Turn, session: Session, printer: Printer) -> Exit:
    """Run a turn of the session's conversation to its end and print it.

    The first Ctrl-C cancels it: every open call gets its result, and the status is `cancelled`. A reader of stdout that
    leaves cancels it too, and ReaderLeftError is raised once that is written down. Errors of the turn are raised.
    """
    conversation = session.conversation
    failure: Exception | None = None
    async with anyio.create_task_group() as group:
        canceller = _Canceller(conversation, group)
        with during(canceller.ask):
            try:
                async for update in _with_choice_checked(turn, session.forced):
                    canceller.begun()
                    if failure is None:
                        failure = _shown(printer, update)
                        if failure is not None:
                            canceller.ask()
            except Exception as error:  # noqa: BLE001 - raised below, outside of the group
                failure = failure or error
    if failure is None and turn.reply is not None:
        printer.end(turn.reply)
        return EXIT_FOR[turn.reply.status]
    if failure is not None:
        if not isinstance(failure, ReaderLeftError):
            printer.failed(failure, conversation.id)
        raise failure
    return Exit.ERROR


def _shown(printer: Printer, update: Update) -> Exception | None:
    try:
        printer.show(update)
    except (ReaderLeftError, CommandError) as error:
        return error
    return None


class _Canceller:
    """Cancels the turn once, as soon as that is possible: a turn that has not begun can't be cancelled yet."""

    def __init__(self, conversation: Conversation, group: anyio.abc.TaskGroup) -> None:
        self._conversation = conversation
        self._group = group
        self._asked = self._begun = self._done = False

    def ask(self) -> None:
        self._asked = True
        self._go()

    def begun(self) -> None:
        self._begun = True
        self._go()

    def _go(self) -> None:
        if self._asked and self._begun and not self._done:
            self._done = True
            self._group.start_soon(self._conversation.cancel)


async def _with_choice_checked(turn: Turn, forced: str | None) -> AsyncIterator[Update]:
    """The turn's updates, and a warning where a forced tool choice came to nothing.

    Some endpoints take `tool_choice` and ignore it (Ollama's docs say so; llama.cpp falls back to auto).
    """
    open_question = forced is not None
    answered = False
    called: list[str] = []
    async for update in turn:
        if open_question:
            match update:
                case ReplyReceived():
                    answered = True
                case ReplyDiscarded():
                    answered = False
                case CallStarted() | CallFinished() | ApprovalNeeded():
                    called.append(update.name)
                case RequestStarted() | TurnEnded() if answered:
                    open_question = False
                    warning = _ignored_choice(str(forced), called, update)
                    if warning is not None:
                        yield warning
                case _:
                    pass
        yield update


def _ignored_choice(forced: str, called: list[str], update: Update) -> Warned | None:
    if forced in called or (forced == "any" and called):
        return None
    if isinstance(update, TurnEnded) and update.status is not TurnStatus.COMPLETED:
        return None
    came = f"with a call of {called[0]}" if called else "without a call"
    return Warned(
        code="tool_choice_ignored",
        message=f"the endpoint did not keep to tool_choice {forced!r}: its reply came {came}."
        " Some endpoints ignore a forced choice; say in the prompt which tool to use",
    )
