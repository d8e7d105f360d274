"""What customers prove and confirm beside the chat, over the desk's door: one-time codes, cards, signing in.

None of it passes through a model or the journal's messages. A proof raises the level of whoever sits there, so the
session's cookie is made anew with it: one that was planted in the browser before, or copied, is good for nothing from
then on, in every process.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import anyio.to_thread

from turnkeeper.core.identity import is_proven, same_person
from turnkeeper.driver.people import Approval
from turnkeeper.errors import ConversationBusyError, UnconfirmedError
from turnkeeper.types import Principal
from turnkeeper.web.answers import RefusedError
from turnkeeper.web.cleaning import visible
from turnkeeper.web.service import Service
from turnkeeper.web.sessions import Session, Sessions

if TYPE_CHECKING:
    from turnkeeper import desk

__all__ = ("GO_ON", "Proof", "Prover")

GO_ON = "✓"
"""The customer's message after a code was right: the model is told to go on, in no language."""
_STEP_UP = "step_up"
_MOST_REMEMBERED = 10_000
_LETTING_GO_SECONDS = 10.0
_LOOK_SECONDS = 0.2

Refused: TypeAlias = "desk.Refusal | None"
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Proof:
    """What became of a code, in the form or in a message, or of a message too many: it is for no model.

    `outcome` is `right`, or a word for why not; `text` is for the customer; `session` is the new one after a proof.
    """

    outcome: str
    text: str
    principal: Principal
    purpose: str | None = None
    subject: str = ""
    session: Session | None = None


class Prover:
    """The desk's door for the web's handlers. Its work waits for the database, so it is done beside the event loop."""

    def __init__(self, door: desk.Door, sessions: Sessions, clock: Callable[[], float]) -> None:
        self._door = door
        self._sessions = sessions
        self._clock = clock
        self._told: OrderedDict[tuple[str, str, str], Proof] = OrderedDict()
        self._clients: OrderedDict[str, str] = OrderedDict()

    def inject(self, conversation_id: str, principal: Principal | None) -> Mapping[str, Any]:
        """The tools' Injected parameters: the address that the conversation's customer comes from, for the caps."""
        del principal
        return {"client": self._clients.get(conversation_id, "")}

    # ----- who it is -------------------------------------------------------------------------------------------------

    async def is_current(self, session: Session) -> bool:
        """Whether the cookie is the one that was given out when its customer proved who they are, if they ever have."""
        return session.proven or not await self._call(self._door.has_proven, session.principal)

    async def sign_in(self, session: Session, token: str) -> Session | None:
        """A session for whom a token of the identity provider names. InputError for a token that isn't good."""
        await self._call(self._door.sign_in, session.principal, token)
        return self._anew(session)

    async def leave(self, session: Session) -> None:
        """The customer is done: nothing of the session is good any more."""
        await self._call(self._door.leave, session.principal)
        self._sessions.end(session)

    # ----- messages --------------------------------------------------------------------------------------------------

    def told(self, who: Principal, conversation: str, key: str) -> Proof | None:
        """What was answered to that very message or code before: the answer may have been lost on its way.

        It holds for a session that its own proof has ended, too: only whoever made the key knows it.
        """
        return self._told.get((who.id, conversation, key))

    async def receive(self, session: Session, conversation: str, text: str, *, key: str, client: str) -> Proof | None:
        """Look at a message before anything else is done with it; None if it may go on to the model."""
        _remember(self._clients, conversation, client)
        received = await self._call(self._door.receive, session.principal, conversation, text, client=client)
        if received.refusal is not None:
            return Proof(received.refusal.code, received.refusal.text, received.principal)
        done = received.confirmation
        if done is None:
            return None
        return self._answered(session, conversation, key, done)

    # ----- the form and the cards ------------------------------------------------------------------------------------

    async def shown(self, service: Service, session: Session, conversation: str) -> dict[str, Any]:
        """What the page shows beside the conversation: who it is, the code that is waited for, what is to be confirmed.

        `admitted` is False where the conversation was held with proof, and that has run out.
        """
        visitor = session.principal
        who = await self._who(session, conversation)
        code = await self._call(self._door.waiting, visitor, conversation)
        admitted = await self.admits(service, session, conversation)
        cards: list[dict[str, Any]] = []
        if admitted and is_proven(who):
            waiting = await self._own(service, who, conversation)
            cards = [card for one in waiting if (card := await self._card(one, who)) is not None]
        return {
            "level": who.level,
            "admitted": admitted,
            "code": None
            if code is None
            else {
                "purpose": code.purpose,
                "expires_at": code.expires_at.timestamp(),
                "tries_left": code.tries_left,
                "sent_to": visible(code.sent_to),
            },
            "new_contact": await self._call(self._door.change_waits, visitor, conversation),
            "cards": cards,
        }

    async def admits(self, service: Service, session: Session, conversation: str) -> bool:
        """Whether the conversation is open to whoever sits there now."""
        try:
            await service.admit(conversation, session.principal)
        except UnconfirmedError:
            return False
        return True

    async def identify(self, session: Session, conversation: str, contact: str, client: str) -> Refused:
        """Have a code sent to whoever has that contact on file; why not, where it isn't."""
        from turnkeeper import desk  # noqa: PLC0415 - loads when a customer proves something

        asked = await self._call(
            self._door.start_confirmation,
            session.principal,
            conversation,
            desk.kind_of(contact),
            contact,
            client=client,
        )
        return asked if isinstance(asked, desk.Refusal) else None

    async def again(self, session: Session, conversation: str, client: str) -> Refused:
        """Have the last code sent once more; why not, where it isn't."""
        return await self._asked(self._door.again, session.principal, conversation, client=client)

    async def new_contact(self, session: Session, conversation: str) -> Refused:
        """Have a code sent to the new contact of a change that waits; why not, where it isn't."""
        return await self._asked(self._door.start_new_contact, session.principal, conversation)

    async def enter(self, session: Session, conversation: str, code: str, *, key: str) -> Proof:
        """Try a code that was entered in the form."""
        done = await self._call(self._door.confirm, session.principal, conversation, code)
        return self._answered(session, conversation, key, done)

    async def carry_out(self, service: Service, proof: Proof, conversation: str) -> None:
        """Do what a right code confirmed. RefusedError (409) if it doesn't wait any more."""
        if proof.purpose != "act":
            return
        waiting = await self._own(service, proof.principal, conversation)
        approval = next((one for one in waiting if one.digest == proof.subject), None)
        if approval is None:
            raise _gone()
        approve = service.keeper.approvals.approve
        await self._settled(
            service, conversation, lambda: approve(approval.id, by=proof.principal, digest=proof.subject)
        )

    async def decide(
        self, service: Service, session: Session, conversation: str, card: str, *, digest: str, confirmed: bool
    ) -> Refused:
        """Confirm or withdraw one's own call. Where that takes a code, one is sent, and `enter` confirms.

        RefusedError (409) for a card that isn't there any more, or is of other arguments than were shown.
        """
        who = await self._call(self._door.seen, session.principal)
        waiting = await self._own(service, who, conversation) if is_proven(who) else []
        approval = next((one for one in waiting if one.id == card and one.digest == digest), None)
        if approval is None:
            raise _gone()
        approvals = service.keeper.approvals
        if not confirmed:
            reason = "the customer did not confirm it"
            await self._settled(service, conversation, lambda: approvals.deny(approval.id, by=who, reason=reason))
        elif approval.requester_level == _STEP_UP:
            return await self._asked(self._door.start_action, session.principal, conversation, digest)
        else:
            await self._settled(service, conversation, lambda: approvals.approve(approval.id, by=who, digest=digest))
        return None

    # ----- inside ----------------------------------------------------------------------------------------------------

    async def _own(self, service: Service, who: Principal, conversation: str) -> list[Approval]:
        """The calls that wait for that customer themself."""
        found = [one for one in await service.keeper.approvals.list(conversation) if one.requester_level]
        return [one for one in found if one.requester is not None and same_person(one.requester, who)]

    async def _card(self, approval: Approval, who: Principal) -> dict[str, Any] | None:
        card = await self._call(self._door.card, approval.tool, approval.input, who)
        if card is None:
            return None
        return {
            "id": approval.id,
            "digest": approval.digest,
            "action": card.action,
            "facts": [{"name": name, "value": visible(value)} for name, value in card.facts],
            "by": "code" if approval.requester_level == _STEP_UP else "button",
            "expires_at": approval.expires_at,
        }

    async def _who(self, session: Session, conversation: str) -> Principal:
        return await self._call(self._door.who, session.principal, conversation, self._clock())

    async def _asked(self, ask: Callable[..., desk.CodeSent | desk.Refusal], *given: Any, **named: Any) -> Refused:
        from turnkeeper import desk  # noqa: PLC0415 - as above

        asked = await self._call(ask, *given, **named)
        return asked if isinstance(asked, desk.Refusal) else None

    async def _settled(self, service: Service, conversation: str, step: Callable[[], Any]) -> None:
        """Write a decision down, and have the turn go on; whoever drove it to where it waits may need a moment."""
        until = self._clock() + _LETTING_GO_SECONDS
        with service.switchboard.reading(conversation) as channel:
            while True:
                seen = channel.version
                try:
                    await step()
                    break
                except ConversationBusyError:
                    if self._clock() > until:
                        raise
                    with anyio.move_on_after(_LOOK_SECONDS):
                        await channel.changed(seen)
        service.switchboard.announce(conversation)
        service.kick(conversation)

    def _answered(self, session: Session, conversation: str, key: str, done: desk.Confirmation) -> Proof:
        raised = done.accepted and done.purpose == "identify"
        anew = self._anew(session) if raised else None
        proof = Proof(done.outcome, done.text, done.principal, done.purpose, done.subject, anew)
        if done.accepted:
            _remember(self._told, (session.principal.id, conversation, key), proof)
        return proof

    def _anew(self, session: Session) -> Session | None:
        """The session's cookie made anew after a proof, and the one before ended; None where there is no cookie."""
        if session.is_given:
            return None
        self._sessions.end(session)
        return self._sessions.start(session.principal, proven=True)

    async def _call(self, work: Callable[..., T], *given: Any, **named: Any) -> T:
        return await anyio.to_thread.run_sync(lambda: work(*given, **named))


def _gone() -> RefusedError:
    return RefusedError(409, "card_gone", "this doesn't wait to be confirmed any more")


def _remember(kept: OrderedDict[Any, Any], name: Any, value: Any) -> None:
    kept[name] = value
    kept.move_to_end(name)
    while len(kept) > _MOST_REMEMBERED:
        kept.popitem(last=False)
