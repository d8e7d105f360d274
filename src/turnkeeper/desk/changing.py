"""Changing a contact: proven on the old one, verified on the new one, told to both, and followed by a time of caution.

| from | what happens | to |
|---|---|---|
| (nothing) | the customer asks, with a code sent to the old contact, or a member of staff approves | `waiting` |
| `waiting` | the code sent to the new contact is right | `applied` |
| `waiting` | it takes too long, another change is asked for or applied, or the account is on hold by then | `dropped` |

What was asked for before a change may be confirmed after it: so whether the account is on hold is asked again whenever
something is written, not only when it was asked for.

A change takes its new value from what was confirmed or approved, never from what was said afterwards.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from datetime import timedelta
from typing import Literal, TypeAlias

import sqlalchemy as sa

from turnkeeper.desk import schema
from turnkeeper.desk.contact import checked_email, checked_phone, contact_key
from turnkeeper.desk.domain import Refusal
from turnkeeper.desk.repository import Repository

__all__ = ("HOLD", "PATIENCE", "Change", "Changes", "ProvenBy")

HOLD = timedelta(hours=72)
"""How long after a change what the account can do needs a member of staff: a thief's change is noticed by then."""
PATIENCE = timedelta(hours=1)
"""How long a change waits for the new contact to be verified."""

_ON_HOLD = Refusal(
    code="on_hold",
    text=(
        "A contact of the account was changed less than 72 hours ago, so a member of staff has to decide on this."
        " Nothing was changed; ask for it again."
    ),
)

Field: TypeAlias = Literal["email", "phone"]
ProvenBy: TypeAlias = Literal["old_contact", "staff"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A change that was asked for. `old_value` is what the account has now."""

    id: str
    customer_id: str
    field: Field
    old_value: str
    new_value: str


class Changes:
    """The changes in the database, inside the repository's transaction."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._connection = repository.connection
        self._now = repository.now

    def ask(
        self,
        customer_id: str,
        *,
        conversation_id: str,
        email: str | None,
        phone: str | None,
        proven_by: ProvenBy,
    ) -> Change | Refusal:
        """Write down what is wanted: one new contact. Refused for what is none; if it is taken shows at the end.

        Refused too while the account is on hold, unless a member of staff has proven it.
        """
        if (email is None) == (phone is None):
            return Refusal(code="one_contact", text="Give one new contact: an e-mail address or a phone number.")
        field: Field = "email" if email is not None else "phone"
        try:
            new = checked_email(email) if email is not None else checked_phone(str(phone))
        except ValueError as error:
            return Refusal(code=f"{field}_invalid", text=f"{error} Nothing was changed.")
        customer = self._repository.customer(customer_id)
        if customer is None:
            return Refusal(code="no_such_customer", text="There is no such account.")
        old = str(getattr(customer, field))
        if contact_key(field, old) == contact_key(field, new):
            return Refusal(code="unchanged", text="That is what the account has already; nothing was changed.")
        self._repository.hold(customer_id)  # of two at once the second sees what the first has done
        if proven_by != "staff" and self.is_on_hold(customer_id):
            self._repository.note("change_contact", f"customer:{customer_id}", "refused", "on hold")
            return _ON_HOLD
        table = schema.changes
        self._drop_waiting(customer_id)
        change = Change(
            id=secrets.token_hex(12),
            customer_id=customer_id,
            field=field,
            old_value=old,
            new_value=new,
        )
        self._connection.execute(
            sa.insert(table).values(
                id=change.id,
                customer_id=customer_id,
                conversation_id=conversation_id,
                field=field,
                new_value=new,
                state="waiting",
                proven_by=proven_by,
                asked_at=self._now,
            )
        )
        self._repository.note("change_contact", f"customer:{customer_id}", "asked", f"{field}, by {proven_by}")
        return change

    def waiting(self, customer_id: str, conversation_id: str) -> Change | None:
        """The change of that customer, asked for in that conversation, whose new contact is to be verified."""
        table = schema.changes
        query = sa.select(table).where(
            table.c.customer_id == customer_id,
            table.c.conversation_id == conversation_id,
            table.c.state == "waiting",
            table.c.asked_at > self._now - PATIENCE,
        )
        row = self._connection.execute(query.order_by(table.c.asked_at.desc()).limit(1)).one_or_none()
        return None if row is None else self._change(row)

    def get(self, change_id: str) -> Change | None:
        """The change of that id, if it still waits."""
        table = schema.changes
        query = sa.select(table).where(table.c.id == change_id, table.c.state == "waiting")
        row = self._connection.execute(query).one_or_none()
        return None if row is None else self._change(row)

    def apply(self, change: Change) -> Refusal | None:
        """Make it so, once; why not, where it can't be. Whatever else of the account waits is dropped."""
        table = schema.changes
        self._repository.hold(change.customer_id)
        by = self._connection.execute(sa.select(table.c.proven_by).where(table.c.id == change.id)).scalar_one_or_none()
        if by != "staff" and self.is_on_hold(change.customer_id):
            self._drop_waiting(change.customer_id, only=change.id)
            self._repository.note("change_contact", f"customer:{change.customer_id}", "refused", "on hold")
            return _ON_HOLD
        once = sa.update(table).where(table.c.id == change.id, table.c.state == "waiting")
        if not self._connection.execute(once.values(state="applied", applied_at=self._now)).rowcount:
            return Refusal(code="no_such_change", text="That change is not waited for any more.")
        done = self._repository.update_contact(change.customer_id, **{change.field: change.new_value})
        if isinstance(done, Refusal):
            undo = sa.update(table).where(table.c.id == change.id)
            self._connection.execute(undo.values(state="dropped", applied_at=None))
            return Refusal(
                code="not_possible", text="That contact can't be used for this account. Nothing was changed."
            )
        self._drop_waiting(change.customer_id)
        return None

    def is_on_hold(self, customer_id: str) -> bool:
        """Whether a contact of the customer was changed a short while ago."""
        table = schema.changes
        lately = (table.c.customer_id == customer_id) & (table.c.applied_at > self._now - HOLD)
        return bool(self._connection.execute(sa.select(sa.exists().where(lately))).scalar_one())

    def _drop_waiting(self, customer_id: str, *, only: str | None = None) -> None:
        table = schema.changes
        mine = (table.c.customer_id == customer_id) & (table.c.state == "waiting")
        which = mine if only is None else mine & (table.c.id == only)
        self._connection.execute(sa.update(table).where(which).values(state="dropped"))

    def _change(self, row: sa.Row[tuple[object, ...]]) -> Change:
        customer = self._repository.customer(row.customer_id)
        return Change(
            id=row.id,
            customer_id=row.customer_id,
            field=row.field,
            old_value=str(getattr(customer, row.field)),
            new_value=row.new_value,
        )
