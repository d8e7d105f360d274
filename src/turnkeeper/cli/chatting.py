"""The conversation at a terminal: ask, answer, ask again."""

from __future__ import annotations

from collections.abc import Sequence

from turnkeeper.cli.conversing import Session
from turnkeeper.cli.escapes import clean_line
from turnkeeper.cli.exits import Exit
from turnkeeper.cli.interrupts import during
from turnkeeper.cli.problems import line_for, report
from turnkeeper.cli.prompting import Prompter
from turnkeeper.cli.slash import COMMANDS, LeaveError, Slash
from turnkeeper.cli.terminal import Terminal, keeps_typing
from turnkeeper.cli.turns import run_turn
from turnkeeper.driver.turn import Turn
from turnkeeper.errors import InputError, TurnkeeperError

__all__ = ("talk_at_terminal",)


async def talk_at_terminal(session: Session, terminal: Terminal, *, title: str, hints: Sequence[str] = ()) -> int:
    """Talk until the person leaves: 0 for /quit and Ctrl-D, 130 for Ctrl-C twice."""
    return await _Chat(session, terminal).run(title, hints)


class _Chat:
    def __init__(self, session: Session, terminal: Terminal) -> None:
        self._session = session
        self._terminal = terminal
        self._prompter = Prompter(commands=[f"/{name}" for name in COMMANDS])
        self._slash = Slash(session, terminal, self._turn)
        if session.visit is not None:
            session.visit.ask = self._prompter.private
        self._interrupted = False  # the last thing that happened was a Ctrl-C

    async def run(self, title: str, hints: Sequence[str]) -> int:
        """The loop."""
        self._greet(title, hints)
        # what is typed while a turn runs waits for the next prompt; a Ctrl-C between two of them counts there
        with keeps_typing(), during(self._note_interrupt):
            while True:
                try:
                    text = await self._prompter.message()
                except EOFError:
                    return Exit.DONE
                except KeyboardInterrupt:
                    if self._interrupted:
                        return Exit.INTERRUPTED
                    self._interrupted = True
                    self._terminal.note("Ctrl-C once more leaves; so do Ctrl-D and /quit.")
                    continue
                self._interrupted = False
                try:
                    await self._take(text)
                except LeaveError:
                    return Exit.DONE
                except (TurnkeeperError, OSError) as error:
                    report(error)

    def _note_interrupt(self) -> None:
        self._interrupted = True

    def _greet(self, title: str, hints: Sequence[str]) -> None:
        terminal, conversation = self._terminal, self._session.conversation
        model = "the practice model" if self._session.practice else clean_line(self._session.agent.model)
        terminal.note(
            f"{title}: {model}, conversation {clean_line(conversation.id)}. /help lists the commands, Ctrl-D leaves."
        )
        for hint in hints:
            terminal.note(hint)
        if self._prompter.trouble:
            terminal.note(f"turnkeeper: {self._prompter.trouble}", "yellow")
        if conversation.status is not None and conversation.is_open:
            terminal.note("The last turn waits for a person's decision; /resume goes on once it is made.")
        elif conversation.is_open:
            terminal.note("The last turn was interrupted: /resume goes on with it, a new message leaves it as it is.")

    async def _take(self, text: str) -> None:
        if not text.strip():
            return
        if await self._slash.run(text):
            return
        visit = self._session.visit
        if visit is not None and not await visit.admits(self._session, text):
            await visit.follow(self._session, self._one_turn)
            return
        try:
            turn = self._session.conversation.send(text)
        except InputError as error:
            self._terminal.note(f"turnkeeper: {line_for(error)}", "yellow")
            return
        await self._turn(turn)

    async def _turn(self, turn: Turn) -> None:
        await self._one_turn(turn)
        if self._session.visit is not None:
            await self._session.visit.follow(self._session, self._one_turn)

    async def _one_turn(self, turn: Turn) -> None:
        printer = self._session.printer("text", self._terminal)
        exit_code = await run_turn(turn, self._session, printer, way_on="/resume")
        self._interrupted = exit_code is Exit.INTERRUPTED
