"""The audit: who did what to which record, when, with what outcome. It never holds secrets or whole contacts."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal, TypeAlias

import turnkeeper as tk

__all__ = ("SYSTEM", "Action", "Actor", "AuditEntry", "Outcome", "storable")

Action: TypeAlias = Literal[
    "seed",
    "get_user",
    "get_order_by_id",
    "get_customer_orders",
    "get_user_info",
    "cancel_order",
    "update_contact",
    "start_confirmation",
    "confirm",
    "leave",
    "change_contact",
    "ask_customer",
    "ask_staff",
]
Outcome: TypeAlias = Literal[
    "seeded",
    "found",
    "not_found",
    "cancelled",
    "changed",
    "unchanged",
    "refused",
    "denied",
    "asked",
    "confirmed",
    "ended",
]
"""`refused`: the rules of the desk say no; `denied`: this principal may not even ask; `asked`: a code was asked for,
a change, or a decision of the staff; `confirmed`: a code was right; `ended`: a session is over."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Actor:
    """On whose behalf the desk is used, and in which call of which conversation (None outside of one)."""

    kind: str
    id: str
    conversation_id: str | None = None
    call_id: str | None = None

    @classmethod
    def of_call(cls, who: tk.Principal | None, ctx: tk.ToolContext) -> Actor:
        """The principal, or nobody, in the call that a tool is run for."""
        return cls(
            kind=who.kind if who else "nobody",
            id=who.id if who else "",
            conversation_id=ctx.conversation_id or None,
            call_id=ctx.call_id or None,
        )


SYSTEM = Actor(kind="system", id="desk")
"""The desk itself, for what no person asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEntry:
    """One row of the audit. `subject` is such as `order:24601`; `at` is aware and in UTC; `seq` only ever grows."""

    seq: int
    at: datetime
    principal_kind: str
    principal_id: str
    action: Action
    subject: str
    outcome: Outcome
    detail: str
    conversation_id: str | None
    call_id: str | None


def storable(text: str, *, limit: int = 200) -> str:
    """Text that both databases take: no NUL, no half surrogate pairs (each becomes U+FFFD), at most `limit` long."""
    clean = text.replace("\0", "\ufffd").encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return clean if len(clean) <= limit else clean[: limit - 1] + "…"
