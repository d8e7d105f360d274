"""When a code may be asked for, for whom it is made, where it goes, and whom it still fits."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from turnkeeper.desk.answers import ENDED, KNOWN, TOO_MANY
from turnkeeper.desk.codes import Code, Codes
from turnkeeper.desk.couriers import Carried, Notice
from turnkeeper.desk.domain import Customer, Refusal
from turnkeeper.desk.notices import code_notice
from turnkeeper.desk.sessions import Session

__all__ = ("fits", "identify", "on_file", "over_cap", "why_not")


def why_not(session: Session, now: datetime) -> Refusal | None:
    """Why nobody in that session is asked who they are."""
    return ENDED if session.ended_at is not None else KNOWN if session.is_proven(now) else None


def over_cap(codes: Codes, *counted: tuple[str, str]) -> Refusal | None:
    """Count one more of each, unless one of them is too many; for a client without an address nothing is counted."""
    known = [one for one in counted if one != ("client", "")]
    if any(codes.is_over(kind, value) for kind, value in known):
        return TOO_MANY
    for kind, value in known:
        codes.count(kind, value)
    return None


def identify(
    codes: Codes,
    session: Session,
    conversation_id: str,
    kind: str,
    customer: Customer | None,
    *,
    carried: Collection[Carried],
    account: str = "nobody",
    code_id: str | None = None,
) -> tuple[Code, list[Notice]]:
    """A code for whoever says they are that customer, and what is to be sent: nothing where there is no such account.

    `account` is what is counted for one that isn't there. A cap that is about the account is kept in silence.
    """
    account = account if customer is None else customer.id
    silent = codes.is_over("account", account) or codes.wrong_tries(account)
    codes.count("account", account)
    code, digits = codes.make(
        session_id=session.id,
        conversation_id=conversation_id,
        purpose="identify",
        subject=kind,
        customer_id=None if customer is None or silent else customer.id,
        code_id=code_id,
    )
    if customer is None or silent:
        return code, []
    return code, [code_notice(on_file(customer, kind, carried), code.purpose, digits)]


def on_file(customer: Customer, kind: str, carried: Collection[Carried]) -> tuple[Carried, str]:
    """Where to reach a customer: the contact of that kind on file, or the other where nothing carries it."""
    wanted: Carried = "phone" if kind == "phone" else "email"
    if wanted not in carried and carried:
        wanted = "email" if "email" in carried else "phone"
    return wanted, customer.email if wanted == "email" else customer.phone


def fits(code: Code, session: Session, now: datetime) -> bool:
    """Whether a code is still for whoever sits there; one that says who they are is for a visitor without proof."""
    if code.purpose == "identify":
        return not session.is_proven(now)
    return session.is_proven(now) and session.customer_id == code.customer_id
