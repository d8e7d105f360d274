"""Whoever sits at a terminal of the desk: what is asked and answered beside the conversation, where no model sees it.

Codes, cards to confirm, and who somebody says they are after their session has idled, each at a prompt of its own.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

import anyio.to_thread

from turnkeeper import desk as technova
from turnkeeper.cli.escapes import clean_line, json_text
from turnkeeper.cli.terminal import Terminal
from turnkeeper.driver.turn import Turn
from turnkeeper.driver.waiting import Approval
from turnkeeper.errors import UnconfirmedError
from turnkeeper.types import Principal

if TYPE_CHECKING:
    from turnkeeper.cli.conversing import Session

__all__ = ("GO_ON", "Cards", "Visit", "card_lines")

GO_ON = "✓"
"""The customer's message after a code was right: the model is told to go on, in no language."""

Ask = Callable[[str], Awaitable[str]]
Run = Callable[[Turn], Awaitable[None]]


class Cards:
    """Whoever talks at this terminal, asked about calls that are theirs to confirm. Without `ask` there is nobody."""

    def __init__(self, who: Principal, terminal: Terminal) -> None:
        self._who = who
        self._terminal = terminal
        self.ask: Ask | None = None

    async def admits(self, session: Session, text: str) -> bool:
        """Whether a message may go to the model."""
        del session, text
        return True

    async def follow(self, session: Session, run: Run) -> None:
        """After a turn: ask for what waits, and go on, until nothing waits that this person can do."""
        while self.ask is not None and await self._step(session, run):
            pass

    async def _step(self, session: Session, run: Run) -> bool:
        conversation = session.conversation
        waiting = [one for one in await session.keeper.approvals.list(conversation.id) if one.requester_level]
        if not waiting:
            return False
        decided = await self._card(session, waiting[0])
        if decided:
            await run(conversation.resume())
        return decided

    async def _card(self, session: Session, waiting: Approval) -> bool:
        """Show what would run, in full and with nothing that could mislead, and ask."""
        self._terminal.note("This is to be confirmed by you:", "yellow")
        for line in card_lines(waiting):
            self._terminal.note(line)
        return await self._decide(session, waiting, self._who)

    async def _decide(self, session: Session, waiting: Approval, by: Principal) -> bool:
        approvals = session.keeper.approvals
        if (await self._asked("Confirm? [y/N] ") or "").casefold() in ("y", "yes"):
            await approvals.approve(waiting.id, by=by, digest=waiting.digest)
        else:
            await approvals.deny(waiting.id, by=by, reason=f"the {by.kind} did not confirm it")
        return True

    async def _asked(self, prompt: str) -> str | None:
        if self.ask is None:
            return None
        try:
            return await self.ask(prompt)
        except (EOFError, KeyboardInterrupt):
            return None


class Visit(Cards):
    """One customer at the door."""

    def __init__(self, door: technova.Door, visitor: Principal, terminal: Terminal) -> None:
        super().__init__(visitor, terminal)
        self._door = door
        self._visitor = visitor
        self._goes_on = False  # a code was typed as a message, and was right

    async def admits(self, session: Session, text: str) -> bool:
        """Whether a message may go to the model. It may not if it is a code, or if nobody is proven any more."""
        name = session.conversation.id
        received = await self._call(self._door.receive, self._visitor, name, text)
        done = received.confirmation
        if received.refusal is not None or done is not None:
            self._say((received.refusal or done).text)
            self._goes_on = done is not None and done.accepted and done.purpose == "identify"
            return False
        try:
            await session.conversation.admit()
        except UnconfirmedError:
            self._say("You have been away for a while. Please confirm who you are, or begin anew with /new.")
            await self._prove(name)
            return False
        return True

    async def _step(self, session: Session, run: Run) -> bool:
        conversation = session.conversation
        if self._goes_on:
            self._goes_on = False
            await run(conversation.send(GO_ON))
            return True
        if await super()._step(session, run):
            return True
        if await self._call(self._door.waiting, self._visitor, conversation.id) is not None:
            done = await self._code(conversation.id)
            if done is not None and done.accepted and done.purpose == "identify":
                await run(conversation.send(GO_ON))
            return done is not None and done.accepted
        if await self._call(self._door.change_waits, self._visitor, conversation.id):
            asked = await self._call(self._door.start_new_contact, self._visitor, conversation.id)
            self._say(asked.text)
            return not isinstance(asked, technova.Refusal)
        return False

    async def _decide(self, session: Session, waiting: Approval, by: Principal) -> bool:
        approvals, name = session.keeper.approvals, session.conversation.id
        by = await self._call(self._door.seen, self._visitor)
        if waiting.requester_level != "step_up":
            return await super()._decide(session, waiting, by)
        asked = await self._call(self._door.start_action, self._visitor, name, waiting.digest)
        self._say(asked.text)
        done = None if isinstance(asked, technova.Refusal) else await self._code(name)
        if done is None or not done.accepted:
            await approvals.deny(waiting.id, by=by, reason="the customer did not confirm it")
        else:
            await approvals.approve(waiting.id, by=done.principal, digest=done.subject)
        return True

    async def _code(self, name: str) -> technova.Confirmation | None:
        """Ask for the code until it is right or good for nothing; None if the customer leaves it for later."""
        while True:
            typed = await self._asked("Code (empty: later): ")
            if not typed:
                return None
            done: technova.Confirmation = await self._call(self._door.confirm, self._visitor, name, typed)
            self._say(done.text)
            if done.accepted or await self._call(self._door.waiting, self._visitor, name) is None:
                return done

    async def _prove(self, name: str) -> None:
        contact = await self._asked("Your e-mail address, phone number or username: ")
        if not contact:
            return
        kind = technova.kind_of(contact)
        asked = await self._call(self._door.start_confirmation, self._visitor, name, kind, contact)
        self._say(asked.text)
        if not isinstance(asked, technova.Refusal):
            await self._code(name)

    def _say(self, text: str) -> None:
        self._terminal.note(text, "bold")

    async def _call(self, work: Callable[..., Any], *given: Any) -> Any:
        """The door waits for the database, so it works beside the loop."""
        return await anyio.to_thread.run_sync(lambda: work(*given))


def card_lines(waiting: Approval) -> list[str]:
    """A card: the tool, each argument on a line of its own and whole, and why it is asked."""
    given = waiting.input if isinstance(waiting.input, dict) else {"": waiting.input}
    lines = [f"    {clean_line(waiting.tool)}"]
    lines += [f"      {clean_line(str(name))} = {clean_line(json_text(value))}" for name, value in given.items()]
    return [*lines, f"    because: {clean_line(waiting.policy)}"]
