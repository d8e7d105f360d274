"""What the door answers, to its caller and to the customer: never whether an account exists."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

import turnkeeper as tk
from turnkeeper.desk.codes import MOST_TRIES, Purpose
from turnkeeper.desk.domain import Refusal

__all__ = (
    "ASKED",
    "ENDED",
    "KNOWN",
    "MISPLACED",
    "NO_CHANGE",
    "NO_CODE",
    "RIGHT",
    "SENT",
    "TOO_LONG",
    "TOO_MANY",
    "TOO_OFTEN",
    "UNPROVEN",
    "WRONG",
    "Asked",
    "CodeSent",
    "Confirmation",
    "Received",
)

ASKED = (
    "If that belongs to an account, a code of six digits was sent to the contact on file. Enter it in the form for"
    " codes, not in the chat; it is good for ten minutes."
)
SENT = "A code of six digits was sent. Enter it in the form for codes, not in the chat; it is good for ten minutes."
WRONG = "That code doesn't work. Check it, or ask for a new one."
MISPLACED = (
    "A code can't be used together with other numbers, or in another conversation. It is void now, and nobody has read"
    " it. Ask for a new one, and enter it by itself."
)
RIGHT: dict[str, str] = {
    "identify": "Thank you, that is confirmed.",
    "act": "Thank you, that is confirmed.",
    "new_contact": "Thank you, the new contact is confirmed and in use.",
}
TOO_MANY = Refusal(code="too_many", text="Too many codes were asked for. Please try again later.")
ENDED = Refusal(code="ended", text="This session is over. Please begin a new one.")
KNOWN = Refusal(code="already_confirmed", text="Who you are is confirmed already. To be somebody else, leave first.")
UNPROVEN = Refusal(code="unconfirmed", text="Please confirm first who you are.")
TOO_LONG = Refusal(code="too_long", text="That message is too long. Please say it in fewer words.")
TOO_OFTEN = Refusal(code="too_often", text="That were many messages in a short time. Please try again later.")
NO_CODE = Refusal(code="no_code", text="There is no code that could be sent again. Please ask for one in the chat.")
NO_CHANGE = Refusal(code="no_such_change", text="No change of a contact is waited for.")

Asked: TypeAlias = "CodeSent | Refusal"
"""The answer to a request for a code."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeSent:
    """A code is waited for, whether one was sent or not. `text` is for the customer.

    `sent_to` is the contact, masked, for a customer who is proven; else empty, since it would tell whose account it is.
    """

    purpose: Purpose
    expires_at: datetime
    text: str
    tries_left: int = MOST_TRIES
    sent_to: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Confirmation:
    """What became of a code that was entered. `principal` is who that is now; `text` is for the customer.

    `outcome` is the same as a word: `right`, `wrong`, `misplaced`, `no_such_change`, or why a change is refused now.

    For purpose `act` the principal has the level `step_up`, for the one action whose digest is `subject`: hand both to
    `keeper.approvals.approve(…, by=principal, digest=subject)`. It is in no session.
    """

    accepted: bool
    principal: tk.Principal
    text: str
    purpose: Purpose | None = None
    subject: str = ""
    outcome: str = "right"


@dataclass(frozen=True, slots=True, kw_only=True)
class Received:
    """What becomes of a customer's message: it is for the model only if it is neither refused nor a code."""

    principal: tk.Principal
    refusal: Refusal | None = None
    confirmation: Confirmation | None = None

    @property
    def is_for_the_model(self) -> bool:
        """Send it on."""
        return self.refusal is None and self.confirmation is None
