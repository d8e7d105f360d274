"""The customers' door: sessions, one-time codes, signing in, and what a code proves. All of it is outside of the model.

A visitor is a principal of kind `customer` whose id is the session's own (`door.enter()`, or whatever the application
names its visitors). Nothing here takes a destination from anybody: messages go to contacts on file, and to a new one
only as a confirmed change says. What an answer says, and how, is the same whether an account exists or not.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, Literal

import turnkeeper as tk
from turnkeeper.desk import schema
from turnkeeper.desk.answers import (
    ASKED,
    MISPLACED,
    NO_CHANGE,
    NO_CODE,
    RIGHT,
    SENT,
    TOO_LONG,
    TOO_MANY,
    TOO_OFTEN,
    UNPROVEN,
    WRONG,
    Asked,
    CodeSent,
    Confirmation,
    Received,
)
from turnkeeper.desk.asking import fits, identify, on_file, over_cap, why_not
from turnkeeper.desk.cards import Card, card_of
from turnkeeper.desk.changing import Changes
from turnkeeper.desk.codes import Code, Codes, Sealer, digits_of, number_of_six, windows_of
from turnkeeper.desk.contact import contact_key, hint
from turnkeeper.desk.couriers import Carried, Courier, Notice, Post
from turnkeeper.desk.database import Desk
from turnkeeper.desk.domain import ContactKind, Refusal
from turnkeeper.desk.forgetting import forget_old
from turnkeeper.desk.notices import changed_notices, code_notice
from turnkeeper.desk.record import SYSTEM, Actor
from turnkeeper.desk.repository import Repository
from turnkeeper.desk.sessions import Ending, Session, Sessions
from turnkeeper.desk.tokens import TokenRules, customer_of_token

__all__ = ("KEY_VARIABLE", "LONGEST_MESSAGE", "Door")

KEY_VARIABLE = "TURNKEEPER_DESK_KEY"
LONGEST_MESSAGE = 8_000
"""Characters of one message of a customer."""


class Door:
    """The door over an open desk. Safe to use from many threads; close it, or use it as a context manager.

    Args:
        records: The desk.
        couriers: What carries messages, by kind of contact.
        key: Seals the codes, 16 bytes at least: the same in every process of a service. Without it, the environment's
            `TURNKEEPER_DESK_KEY`; without that a random one, and codes are good in this process only.
        tokens: How tokens of an identity provider are checked; without it nobody signs in with one.
        at_once: Send before a method returns. It is for tests: how long an answer takes then says what it must not.

    Its methods are synchronous and short. ConfigurationError for a key that is too short.
    """

    def __init__(
        self,
        records: Desk,
        couriers: Mapping[Carried, Courier],
        *,
        key: bytes | None = None,
        tokens: TokenRules | None = None,
        at_once: bool = False,
    ) -> None:
        self._records = records
        given = key if key is not None else os.environ.get(KEY_VARIABLE, "").encode() or secrets.token_bytes(32)
        if len(given) < 16:
            raise tk.errors.ConfigurationError(f"the desk's key ({KEY_VARIABLE}) must be at least 16 bytes")
        self._sealer = Sealer(given)
        self._post = Post(couriers, at_once=at_once)
        self._tokens = tokens

    # -- who is talking -------------------------------------------------------------------------------------------

    def enter(self) -> tk.Principal:
        """A new visitor."""
        return tk.Principal("customer", f"visitor-{secrets.token_hex(12)}")

    def who(self, given: tk.Principal, conversation_id: str, at: float) -> tk.Principal:
        """Who a principal is at that time (seconds since 1970): the agent's `identity`. Reads only."""
        del conversation_id
        if given.kind != "customer":
            return given
        with self._records.reading() as repository:
            session = Sessions(repository.connection, repository.now).get(given.id)
        if session is None:
            return given
        return session.principal(datetime.fromtimestamp(at, UTC))

    def has_proven(self, visitor: tk.Principal) -> bool:
        """Whether the visitor has ever proven who they are, however long ago. Reads only."""
        with self._records.reading() as repository:
            session = Sessions(repository.connection, repository.now).get(visitor.id)
        return session is not None and session.has_proven

    def seen(self, visitor: tk.Principal) -> tk.Principal:
        """The customer did something: call it for whatever they do. Who they are now."""
        with self._work(visitor) as (repository, sessions, session):
            sessions.seen(session)
            return self._now(sessions, session, repository.now)

    def leave(self, visitor: tk.Principal, *, how: Ending = "left") -> None:
        """End the session: the customer logs out, is handed over to staff, or it is taken back. It stays ended."""
        with self._work(visitor) as (repository, sessions, session):
            sessions.ended(session.id, how)
            self._codes(repository).void(schema.codes.c.session_id == session.id, "withdrawn")
            repository.note("leave", f"session:{session.id}", "ended", how)

    def sign_in(self, visitor: tk.Principal, token: str) -> tk.Principal:
        """Who a token of the identity provider says the visitor is, at level `signed_in`.

        InputError, with one text for whatever is wrong, if the token isn't good or names no account here.
        """
        with self._work(visitor) as (repository, sessions, session):
            customer_id = customer_of_token(token, self._tokens, repository.now)
            known = repository.customer(customer_id) if customer_id else None
            other = session.is_proven(repository.now) and known is not None and session.customer_id != known.id
            if known is None or other or session.ended_at is not None:
                repository.note("confirm", f"session:{session.id}", "refused", "token")
                who = None
            else:
                sessions.proven(session, known.id, "signed_in")
                repository.note("confirm", f"customer:{known.id}", "confirmed", "token")
                who = self._now(sessions, session, repository.now)
        if who is None:
            raise tk.errors.InputError("that sign-in is not valid; sign in again")
        return who

    # -- codes ----------------------------------------------------------------------------------------------------

    def start_confirmation(
        self,
        visitor: tk.Principal,
        conversation_id: str,
        kind: ContactKind,
        value: str,
        *,
        client: str = "",
        code_id: str | None = None,
    ) -> Asked:
        """Somebody says whose account it is: a code goes to the contact on file, if there is such an account.

        `client` is the address that the visitor comes from, for the cap; `code_id` makes asking twice the same as once.
        The answer is the same whether there is an account or not.
        """
        with self._work(visitor) as (repository, sessions, session):
            codes = self._codes(repository)
            if code_id is not None and (before := codes.known(code_id)) is not None:
                return CodeSent(purpose="identify", expires_at=before.expires_at, text=ASKED)
            asked = f"{kind}:{contact_key(kind, value)}"
            counted = (("contact", asked), ("everyone", ""), ("client", client))
            refused = why_not(session, repository.now) or over_cap(codes, *counted)
            if refused is not None:
                repository.note("start_confirmation", f"session:{session.id}", "refused", refused.code)
                return refused
            customer = repository.find(kind, value)
            code, notices = identify(
                codes,
                session,
                conversation_id,
                kind,
                customer,
                carried=self._post.kinds,
                account=f"nobody:{asked}",
                code_id=code_id,
            )
            sessions.claimed(session)
            repository.note("start_confirmation", f"session:{session.id}", "asked", f"by {kind}")
        self._post.send(*notices)
        return CodeSent(purpose="identify", expires_at=code.expires_at, text=ASKED)

    def start_action(self, visitor: tk.Principal, conversation_id: str, digest: str) -> Asked:
        """A code to the contact on file for one action, named by the digest of its approval."""
        return self._start(visitor, conversation_id, "act", digest)

    def start_new_contact(self, visitor: tk.Principal, conversation_id: str) -> Asked:
        """A code to the new contact of the change that was asked for in that conversation."""
        return self._start(visitor, conversation_id, "new_contact", "")

    def waiting(self, visitor: tk.Principal, conversation_id: str) -> CodeSent | None:
        """The code that the form asks for, None if there is none (any more)."""
        with self._records.reading() as repository:
            code = self._codes(repository).open(visitor.id, conversation_id)
            if code is None:
                return None
            session = Sessions(repository.connection, repository.now).get(visitor.id)
            sent_to = "" if session is None else self._sent_to(repository, session, code)
        return CodeSent(
            purpose=code.purpose,
            expires_at=code.expires_at,
            text=ASKED if code.purpose == "identify" else SENT,
            tries_left=code.tries_left,
            sent_to=sent_to,
        )

    def again(self, visitor: tk.Principal, conversation_id: str, *, client: str = "") -> Asked:
        """Another code in place of the last one that was asked for there within an hour, to the same contact."""
        with self._work(visitor) as (repository, _, session):
            codes = self._codes(repository)
            before = codes.latest(session.id, conversation_id)
            if before is not None and before.purpose == "identify":
                counted = (("again", session.id), ("everyone", ""), ("client", client))
                refused = why_not(session, repository.now) or over_cap(codes, *counted)
                if refused is not None:
                    return refused
                customer = repository.customer(before.customer_id or "")
                code, notices = identify(
                    codes, session, conversation_id, before.subject, customer, carried=self._post.kinds
                )
        if before is None:
            return NO_CODE
        if before.purpose != "identify":
            return self._start(visitor, conversation_id, before.purpose, before.subject)
        self._post.send(*notices)
        return CodeSent(purpose="identify", expires_at=code.expires_at, text=ASKED)

    def change_waits(self, visitor: tk.Principal, conversation_id: str) -> bool:
        """Whether a change of a contact waits for its new contact to be verified: `start_new_contact` then."""
        with self._records.reading() as repository:
            session = Sessions(repository.connection, repository.now).get(visitor.id)
            if session is None or not session.is_proven(repository.now) or session.customer_id is None:
                return False
            return Changes(repository).waiting(session.customer_id, conversation_id) is not None

    def card(self, tool: str, arguments: Any, who: tk.Principal) -> Card | None:
        """What a waiting call of that customer would do, by the desk's records; None for what nobody confirms here."""
        return card_of(self._records, tool, arguments, who)

    def confirm(self, visitor: tk.Principal, conversation_id: str, code: str) -> Confirmation:
        """Try a code that was entered in the form; never through the chat, the model or a tool."""
        digits = digits_of(code)
        notices: list[Notice] = []
        with self._work(visitor) as (repository, sessions, session):
            codes = self._codes(repository)
            found = codes.open(session.id, conversation_id) if session.ended_at is None else None
            suits = found is not None and fits(found, session, repository.now)
            right = found is not None and digits is not None and codes.spend(found, digits)
            if found is None or not right or not suits:
                repository.note("confirm", f"session:{session.id}", "refused", "code")
                return self._refused(sessions, session, repository.now)
            assert found.customer_id is not None
            if found.purpose == "new_contact":
                refused = self._apply(repository, found, notices)
                if refused is not None:
                    return self._refused(sessions, session, repository.now, refused.text, refused.code)
            elif found.purpose == "identify":
                sessions.proven(session, found.customer_id, "confirmed")
            sessions.seen(session if found.purpose != "identify" else sessions.begun(session.id))
            repository.note("confirm", f"customer:{found.customer_id}", "confirmed", found.purpose)
            who = self._now(sessions, session, repository.now)
        self._post.send(*notices)
        if found.purpose == "act":
            who = tk.Principal(who.kind, who.id, "step_up")
        subject = "" if found.purpose == "identify" else found.subject
        return Confirmation(
            accepted=True, principal=who, text=RIGHT[found.purpose], purpose=found.purpose, subject=subject
        )

    def intercept(self, visitor: tk.Principal, conversation_id: str, text: str) -> Confirmation | None:
        """For a channel without a form, and for whoever types the code into the chat: call it before the model sees it.

        While a code is waited for, a message with a number of six digits is a try, and is not for the model. Nor is one
        that holds a code of the session in any other way: run together with other numbers, spelled with dots, in
        another conversation, or used up. That is no try, so an open code is void and another one has to be asked for.
        None for every other message.
        """
        number, windows = number_of_six(text), windows_of(text)
        with self._records.reading() as repository:
            codes = self._codes(repository)
            waited, right = codes.open(visitor.id, conversation_id), codes.among(visitor.id, windows)
        if right and not (waited is not None and right == {waited.id: number}):
            with self._work(visitor) as (repository, sessions, session):
                void = self._codes(repository).void(schema.codes.c.id.in_(right), "withdrawn")
                repository.note("confirm", f"session:{session.id}", "refused", "code in the chat")
                why = (MISPLACED, "misplaced") if void else (WRONG, "wrong")
                return self._refused(sessions, session, repository.now, *why)
        return None if number is None or waited is None else self.confirm(visitor, conversation_id, number)

    def receive(self, visitor: tk.Principal, conversation_id: str, text: str, *, client: str = "") -> Received:
        """Call it for each message of a customer, before the model sees it: `seen`, `intercept`, and the caps."""
        with self._work(visitor) as (repository, sessions, session):
            sessions.seen(session)
            who, codes = self._now(sessions, session, repository.now), self._codes(repository)
            counted = [("message", visitor.id)] + ([("messages of a client", client)] if client else [])
            if session.is_proven(repository.now):  # whoever has many sessions of an account has no more for that
                counted.append(("message", f"account:{session.customer_id}"))
            if len(text) > LONGEST_MESSAGE or any(codes.is_over(*one) for one in counted):
                too = TOO_LONG if len(text) > LONGEST_MESSAGE else TOO_OFTEN
                return Received(principal=who, refusal=too)
            for one in counted:
                codes.count(*one)
        done = self.intercept(visitor, conversation_id, text)
        return Received(principal=who if done is None else done.principal, confirmation=done)

    def tidy(self) -> None:
        """Forget what counts for nothing any more: codes and counts after a week, sessions after a month of silence."""
        with self._records.transaction(SYSTEM) as repository:
            forget_old(repository)

    def close(self) -> None:
        """Wait for what is on its way to customers."""
        self._post.close()

    # -- inside ---------------------------------------------------------------------------------------------------

    @contextmanager
    def _work(self, visitor: tk.Principal) -> Iterator[tuple[Repository, Sessions, Session]]:
        with self._records.transaction(Actor(kind=visitor.kind, id=visitor.id)) as repository:
            sessions = Sessions(repository.connection, repository.now)
            yield repository, sessions, sessions.begun(visitor.id)

    def _codes(self, repository: Repository) -> Codes:
        return Codes(repository.connection, self._sealer, repository.now)

    def _start(
        self, visitor: tk.Principal, conversation_id: str, purpose: Literal["act", "new_contact"], subject: str
    ) -> Asked:
        with self._work(visitor) as (repository, _, session):
            codes = self._codes(repository)
            customer = repository.customer(session.customer_id or "") if session.is_proven(repository.now) else None
            if customer is None:
                return UNPROVEN
            if codes.is_over("account", customer.id) or codes.wrong_tries(customer.id):
                return TOO_MANY
            to = on_file(customer, "email", self._post.kinds)
            if purpose == "new_contact":
                change = Changes(repository).waiting(customer.id, conversation_id)
                if change is None:
                    return NO_CHANGE
                to, subject = (change.field, change.new_value), change.id
            codes.count("account", customer.id)
            code, digits = codes.make(
                session_id=session.id,
                conversation_id=conversation_id,
                purpose=purpose,
                subject=subject,
                customer_id=customer.id,
            )
            repository.note("start_confirmation", f"customer:{customer.id}", "asked", purpose)
        self._post.send(code_notice(to, purpose, digits))
        return CodeSent(purpose=purpose, expires_at=code.expires_at, text=SENT)

    def _apply(self, repository: Repository, code: Code, notices: list[Notice]) -> Refusal | None:
        changes = Changes(repository)
        change = changes.get(code.subject)
        refused = NO_CHANGE if change is None else changes.apply(change)
        if change is None or refused is not None:
            return refused
        # whoever has another code, or another session, of this account has it from the time before
        self._codes(repository).void(schema.codes.c.customer_id == change.customer_id, "withdrawn")
        Sessions(repository.connection, repository.now).end_all_of(change.customer_id, but=code.session_id)
        notices += changed_notices(change)
        return None

    def _sent_to(self, repository: Repository, session: Session, code: Code) -> str:
        """Where a code went, masked; nothing for whoever has not proven who they are."""
        if code.purpose == "identify" or not session.is_proven(repository.now):
            return ""
        change = Changes(repository).get(code.subject) if code.purpose == "new_contact" else None
        if change is not None:
            return hint(change.field, change.new_value)
        customer = repository.customer(session.customer_id or "")
        return "" if customer is None else hint(*on_file(customer, "email", self._post.kinds))

    def _refused(
        self, sessions: Sessions, session: Session, now: datetime, text: str = WRONG, outcome: str = "wrong"
    ) -> Confirmation:
        who = self._now(sessions, session, now)
        return Confirmation(accepted=False, principal=who, text=text, outcome=outcome)

    def _now(self, sessions: Sessions, session: Session, now: datetime) -> tk.Principal:
        return sessions.begun(session.id).principal(now)

    def __enter__(self) -> Door:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
