"""What a front end asks for, as both protocols have it: what is believed of a request, and what is done with it.

Believed is the newest message of the user, under its id, and nothing else: not the history that is sent along, nor
system messages, tools, state, context or approvals in it. Who is talking is what the session says.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ConfigDict
from starlette.requests import Request

from turnkeeper.core.events import Event
from turnkeeper.core.identity import same_person
from turnkeeper.errors import UnknownConversationError
from turnkeeper.types import Principal
from turnkeeper.web.answers import Body, RefusedError
from turnkeeper.web.cleaning import clean
from turnkeeper.web.door import Door, address_of, checked_conversation
from turnkeeper.web.service import Service
from turnkeeper.web.sessions import Session
from turnkeeper.web.standard.following import Known, Target, known
from turnkeeper.web.standard.history import Message
from turnkeeper.web.takeover import take_in

__all__ = (
    "Asker",
    "Believed",
    "Looked",
    "SeesCalls",
    "SentMessage",
    "asker_of",
    "checked_id",
    "newest",
    "staff_only",
    "text_in",
)

_LONGEST_ID = 200

SeesCalls = Callable[[Principal], bool]
"""Who is shown calls: their names, arguments and results."""


def staff_only(who: Principal) -> bool:
    """The rule where an application brings none."""
    return who.kind == "staff"


class Believed(Body):
    """Base of what is read of a request; what else is in it isn't looked at."""

    model_config = ConfigDict(extra="ignore", strict=True)


class SentMessage(Believed):
    """A message as it is sent: AG-UI has `content`, the AI SDK `parts`."""

    id: str
    role: str
    content: Any = None
    parts: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Looked:
    """A conversation as it stands for whoever asks; `owner` is None for one that doesn't exist yet."""

    conversation: str
    owner: Principal | None
    about: Known


@dataclass(frozen=True, slots=True)
class Asker:
    """Who asks: a session of a customer, or (`staff`) of an employee, who may look at every conversation."""

    door: Door
    session: Session
    staff: bool
    sees_calls: SeesCalls
    address: str = ""

    @property
    def who(self) -> Principal:
        """The principal."""
        return self.session.principal

    @property
    def calls(self) -> bool:
        """Whether they are shown calls."""
        return self.sees_calls(self.who)

    @property
    def service(self) -> Service:
        """What runs the turns."""
        return self.door.running

    async def look(self, name: str) -> Looked:
        """The conversation of that id. UnknownConversationError (404) if it is another's.

        UnconfirmedError (403) if it was held with proof of who they are, and that has run out.
        """
        conversation = checked_conversation(name)
        owner: Principal | None = None
        events: list[Event] = []
        try:
            owner = await self.service.owner(conversation)
        except UnknownConversationError:
            pass  # the first message begins it
        else:
            if not self.staff:
                await self.service.own(conversation, self.who)
            events = await self.service.journal.read(conversation)
        about = known(conversation, events, self.service, calls=self.calls)
        return Looked(conversation=conversation, owner=owner, about=about)

    async def ask(self, looked: Looked, messages: Sequence[SentMessage]) -> tuple[Target, list[Message]]:
        """Take the newest message in, if it is new: the turn to tell, and the conversation's messages before it.

        Without a message of the user, it is the last turn. RefusedError says what can't be done.
        """
        about = looked.about
        message = newest(messages)
        if message is None:
            turn = about.history.turn
            if not turn:
                raise RefusedError(422, "no_message", "there is no message to answer")
            return Target(turn=turn, key=None, after=turn), about.until(turn)
        key = checked_id(message.id)
        if key in about.turns:
            turn = about.turns[key]
            return Target(turn=turn, key=None, after=turn), about.until(turn)
        text = text_in(message)
        if looked.owner is not None and not same_person(looked.owner, self.who):
            raise RefusedError(403, "not_yours", "only whoever began the conversation writes in it")
        self.door.check_message(self.who, text)
        if self.door.prover is not None and not self.staff:
            name, client = looked.conversation, self.address
            proof = await self.door.prover.receive(self.session, name, text, key=key, client=client)
            if proof is not None:
                raise RefusedError(422, "kept_back", proof.text, session=proof.session)
        await take_in(self.service, looked.conversation, text, key=key, principal=self.who)
        before = [*about.history.messages, Message(clean(key), "user", clean(text))]
        return Target(turn=None, key=key, after=about.last), before

    async def refuse_news(self, looked: Looked, messages: Sequence[SentMessage]) -> None:
        """RefusedError (422) if the newest message is new: beside answers it would be lost."""
        message = newest(messages)
        if message is None or any(one.id == message.id for one in looked.about.history.messages):
            return
        if await self.service.journal.message(looked.conversation, message.id) is None:
            raise RefusedError(
                422, "message_with_answers", "send the new message in a run of its own, after the answers"
            )


async def asker_of(request: Request, door: Door, *, staff: bool, sees_calls: SeesCalls) -> Asker:
    """Who asks. RefusedError (401) without a session."""
    session = door.employee(request) if staff else await door.admitted(request)
    return Asker(door, session, staff, sees_calls, address_of(request))


def newest(messages: Sequence[SentMessage]) -> SentMessage | None:
    """The user's newest message."""
    return next((one for one in reversed(messages) if one.role == "user"), None)


def checked_id(name: str) -> str:
    """An id of the client's making. RefusedError (422) for one that can't be kept."""
    if not name or len(name) > _LONGEST_ID or not name.isprintable():
        raise RefusedError(422, "input", f"an id has 1 to {_LONGEST_ID} printable characters")
    return name


def text_in(message: SentMessage) -> str:
    """The message's text. RefusedError (422) if there is none, or if there is something else in it."""
    content = message.content if message.content is not None else message.parts
    if isinstance(content, str):
        parts: list[Any] = [{"type": "text", "text": content}]
    else:
        parts = content if isinstance(content, list) else []
    texts: list[str] = []
    for part in parts:
        if not isinstance(part, dict) or part.get("type") != "text" or not isinstance(part.get("text"), str):
            raise RefusedError(422, "unsupported_content", "a message is text; files and data parts are not taken")
        texts.append(part["text"])
    text = "\n".join(texts)
    if not text.strip():
        raise RefusedError(422, "no_message", "the message is empty")
    return text
