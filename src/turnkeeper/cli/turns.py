"""One turn in the terminal: shown as it runs, cancelled by Ctrl-C in good order, ended with an exit code."""

from __future__ import annotations

import anyio

from turnkeeper.cli.conversing import Session
from turnkeeper.cli.exits import EXIT_FOR, Exit
from turnkeeper.cli.interrupts import during
from turnkeeper.cli.printing import Printer
from turnkeeper.cli.problems import CommandError
from turnkeeper.cli.terminal import ReaderLeftError
from turnkeeper.driver.conversation import Conversation
from turnkeeper.driver.turn import Turn
from turnkeeper.errors import APIError
from turnkeeper.updates import Update

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
                async for update in turn:
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
        if isinstance(failure, APIError):
            failure.__dict__["way_on"] = session.way_on  # for the line that tells of it
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
