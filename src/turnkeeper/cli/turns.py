"""One turn in the terminal: shown as it runs, cancelled by Ctrl-C in good order, ended with an exit code."""

from __future__ import annotations

import anyio

from turnkeeper.cli.conversing import Session
from turnkeeper.cli.exits import EXIT_FOR, Exit
from turnkeeper.cli.interrupts import during
from turnkeeper.cli.printing import Printer
from turnkeeper.cli.problems import CommandError
from turnkeeper.cli.terminal import ReaderLeftError
from turnkeeper.cli.wording import how_to_decide, journal_option
from turnkeeper.driver.conversation import Conversation
from turnkeeper.driver.turn import Turn
from turnkeeper.errors import APIError, ConversationBusyError
from turnkeeper.types import TurnStatus
from turnkeeper.updates import Update

__all__ = ("run_turn",)


async def run_turn(turn: Turn, session: Session, printer: Printer, *, way_on: str | None = None) -> Exit:
    """Run a turn of the session's conversation to its end and print it.

    The first Ctrl-C cancels it: every open call gets its result, and the status is `cancelled`. A reader of stdout that
    leaves cancels it too, and ReaderLeftError is raised once that is written down. Errors of the turn are raised.

    `way_on` is how its person goes on with a turn that waits, where that is not the session's command.
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
        if isinstance(failure, ConversationBusyError):
            failure = await _decided_first(session, way_on or session.way_on) or failure
        if not isinstance(failure, ReaderLeftError):
            printer.failed(failure, conversation.id)
        if isinstance(failure, APIError):
            failure.__dict__["way_on"] = session.way_on  # for the line that tells of it
        raise failure
    return Exit.ERROR


async def _decided_first(session: Session, way_on: str) -> CommandError | None:
    """What is to be done where a message can't be sent because a call waits for a person; None if none does."""
    conversation = session.conversation
    if conversation.status not in (TurnStatus.AWAITING_APPROVAL, TurnStatus.AWAITING_RESOLUTION):
        return None
    waiting = await session.keeper.approvals.list(conversation.id)
    unknown = await session.keeper.outcomes.list(conversation.id)
    then = f"then {way_on} goes on"
    if session.principal is not None and session.principal.kind == "customer":
        text = f"a call waits for a decision first; {then}"
    elif len(waiting) == 1 and not unknown:
        text = f"a call waits for a decision first: {how_to_decide(waiting[0].id, session.journal)}; {then}"
    else:
        command = f"`turnkeeper approvals{journal_option(session.journal)}`"
        text = f"calls wait for a person first: {command} lists them and says how to decide; {then}"
    return CommandError(f"the message was not sent: {text}", exit_code=Exit.WAITS_FOR_PERSON)


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
