"""Which of a customer's calls a person decides on: the customer, with a code, or a member of staff.

The rules read the same rows, found by the same ids, as the tools that they are about.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from typing import Any, Literal, TypeAlias

import sqlalchemy as sa

import turnkeeper as tk
from turnkeeper.desk import schema
from turnkeeper.desk.changing import Changes
from turnkeeper.desk.database import Desk
from turnkeeper.desk.domain import Order, refusal_to_cancel
from turnkeeper.desk.record import Actor
from turnkeeper.desk.repository import Repository

__all__ = ("MOST_CARDS", "TOGETHER", "CustomerPolicy")

Asking: TypeAlias = Literal["ask_customer", "ask_staff"]

TOGETHER = timedelta(hours=24)
"""Cancellations within this time count together: an amount is not made smaller by asking for it in pieces."""
MOST_CARDS = 24
"""So many of a customer's calls are put before the staff within that time, in all conversations together, and as many
before the customer because text from outside was read: whoever has hundreds of cards before them approves without
looking."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CustomerPolicy:
    """The rules, as the tools' `approval=`. An order that isn't there, or isn't theirs, waits for nobody."""

    database: Desk
    above: Decimal

    @property
    def version(self) -> str:
        """What stands in the record of an approval: the rules' edition, and what they were set to."""
        return f"customers 1, above {self.above}"

    def cancellation(self, arguments: Mapping[str, Any], principal: tk.Principal | None, conversation_id: str) -> str:
        """For cancelling: staff decide on what is expensive, alone or together, and while the account is on hold."""
        if principal is None:
            return ""
        with self.database.reading() as repository:
            order = repository.order(arguments["order_id"])
            if order is None or order.customer_id != principal.id:
                return ""
            reason = self.why_staff(repository, order)
        return reason if reason and self._may_ask_staff(principal, f"order:{order.id}", conversation_id) else ""

    def why_staff(self, repository: Repository, order: Order) -> str:
        """Why cancelling this order needs a member of staff as things stand now; empty if it doesn't, or can't be."""
        if refusal_to_cancel(order):
            return ""
        about = f"order {order.id}, {order.quantity} x {order.product}, {order.total} in total, {order.status}"
        if Changes(repository).is_on_hold(order.customer_id):
            return f"a contact of the account was changed less than 72 hours ago: {about}"
        if order.total > self.above:
            return f"total above {self.above}: {about}"
        before = _cancelled_lately(repository, order.customer_id)
        if before + order.total > self.above:
            return f"together with {before} cancelled within 24 hours above {self.above}: {about}"
        return ""

    def contact_change(self, arguments: Mapping[str, Any], principal: tk.Principal | None, conversation_id: str) -> str:
        """For a new contact: the customer confirms it with a code to the old one; staff decide where that is lost."""
        reason = ""
        if arguments.get("old_contact_lost"):
            reason = "change of a contact, and the old one is said to be lost: check who they are by other means"
        elif principal is not None:
            with self.database.reading() as repository:
                if Changes(repository).is_on_hold(principal.id):
                    reason = "a contact of the account was changed less than 72 hours ago"
        if not reason:
            return tk.OwnConfirmation("change of a contact", level="step_up")
        if principal is None or self._may_ask_staff(principal, f"customer:{principal.id}", conversation_id):
            return reason
        return ""  # the tool itself refuses what nobody has approved

    def may_ask_customer(
        self, arguments: Mapping[str, Any], principal: tk.Principal | None, conversation_id: str
    ) -> bool:
        """For what waits because text from outside was read: whether the customer may be asked once more."""
        del arguments  # what they name may not be the customer's
        if principal is None:
            return True
        return self._may_ask("ask_customer", principal, f"customer:{principal.id}", conversation_id)

    def _may_ask_staff(self, principal: tk.Principal, subject: str, conversation_id: str) -> bool:
        return self._may_ask("ask_staff", principal, subject, conversation_id)

    def _may_ask(self, action: Asking, principal: tk.Principal, subject: str, conversation_id: str) -> bool:
        """Whether one more such card of this customer may be made, in whatever conversation; notes it."""
        actor = Actor(kind=principal.kind, id=principal.id, conversation_id=conversation_id)
        with self.database.transaction(actor) as repository:
            repository.hold(principal.id)  # of two at once the second sees the card of the first
            may = _cards_lately(repository, action, principal) < MOST_CARDS
            repository.note(action, subject, "asked" if may else "refused")
        return may


def _cards_lately(repository: Repository, action: Asking, principal: tk.Principal) -> int:
    """How many such cards the customer has had made within the last day."""
    audit = schema.audit
    query = sa.select(sa.func.count()).where(
        audit.c.action == action,
        audit.c.outcome == "asked",
        audit.c.principal_kind == principal.kind,
        audit.c.principal_id == principal.id,
        audit.c.at > repository.now - TOGETHER,
    )
    return int(repository.connection.execute(query).scalar_one())


def _cancelled_lately(repository: Repository, customer_id: str) -> Decimal:
    """What the customer has cancelled within the last day, together."""
    audit, orders = schema.audit, schema.orders
    query = (
        sa.select(sa.func.coalesce(sa.func.sum(orders.c.price_cents * orders.c.quantity), 0))
        .select_from(orders.join(audit, audit.c.subject == sa.literal("order:") + orders.c.id))
        .where(
            orders.c.customer_id == customer_id,
            audit.c.action == "cancel_order",
            audit.c.outcome == "cancelled",
            audit.c.principal_kind == "customer",
            audit.c.at > repository.now - TOGETHER,
        )
    )
    return Decimal(int(repository.connection.execute(query).scalar_one())).scaleb(-2)
