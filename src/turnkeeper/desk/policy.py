"""Which calls a person decides on: expensive cancellations, and changes of contacts.

Staff decide for themselves, unless the desk works with four eyes: then another member of staff decides. Customers are
asked about what is theirs only; the tools refuse the rest anyway, and a wait would tell a stranger what an order costs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import turnkeeper as tk
from turnkeeper.desk.database import Desk
from turnkeeper.desk.domain import Order, money, refusal_to_cancel

__all__ = ("APPROVE_ABOVE", "ApprovalPolicy", "amount")

APPROVE_ABOVE = Decimal("100.00")
"""An order whose total is above this is cancelled only after a person's approval."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalPolicy:
    """The desk's rules for approvals, as the tools' `approval=`: each gives the reason, or nothing for none needed.

    `principal` stands in where a conversation has none. The rules may read the database, so they run in worker threads.
    """

    database: Desk
    above: Decimal = APPROVE_ABOVE
    four_eyes: bool = False
    principal: tk.Principal | None = None

    @property
    def version(self) -> str:
        """What stands in the record of an approval: the rules' edition, and what they were set to."""
        return f"staff 1, above {self.above}, {'four eyes' if self.four_eyes else 'two eyes'}"

    def expensive_cancellation(
        self, arguments: Mapping[str, Any], principal: tk.Principal | None, conversation_id: str
    ) -> str:
        """For `cancel_order`: the total is above the amount. The reason shows the order to who decides."""
        del conversation_id
        who = principal or self.principal
        if self._decides_alone(who):
            return ""
        order = self.database.order(arguments["order_id"])
        if order is None or order.total <= self.above or refusal_to_cancel(order) or not _may_know(who, order):
            return ""
        return (
            f"total above {self.above}: order {order.id}, {order.quantity} x {order.product}, {order.total} in total,"
            f" {order.status}"
        )

    def contact_change(self, arguments: Mapping[str, Any], principal: tk.Principal | None, conversation_id: str) -> str:
        """For `update_contact`: always."""
        del arguments, conversation_id
        return "" if self._decides_alone(principal or self.principal) else "contact change"

    def _decides_alone(self, who: tk.Principal | None) -> bool:
        return who is not None and who.kind == "staff" and not self.four_eyes


def amount(value: object) -> Decimal:
    """An amount that a setting gives: a Decimal, a whole number, or text such as "49.99". ConfigurationError."""
    try:
        return money(value)
    except ValueError as error:
        raise tk.errors.ConfigurationError(f"approve_above: {error}") from None


def _may_know(who: tk.Principal | None, order: Order) -> bool:
    return who is not None and (who.kind == "staff" or (who.kind, who.id) == ("customer", order.customer_id))
