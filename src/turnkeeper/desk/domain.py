"""Customers, orders and the rules about them: values only, no database and no model.

Money is `Decimal` in the shop's currency with two places, never a float. What may happen to an order when somebody asks
to cancel it is the table `CANCELLING`; nothing else decides that.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from types import MappingProxyType
from typing import Literal, TypeAlias

__all__ = (
    "CANCELLING",
    "Cancelling",
    "ContactKind",
    "Customer",
    "Order",
    "OrderStatus",
    "Refusal",
    "cents",
    "money",
    "refusal_to_cancel",
)

ContactKind: TypeAlias = Literal["email", "phone", "username"]
"""What a customer can be looked up by."""

_CENT = Decimal("0.01")
_MOST = Decimal("1000000000")


class OrderStatus(enum.StrEnum):
    """Where an order stands, in the words the shop uses."""

    PROCESSING = "Processing"
    SHIPPED = "Shipped"
    DELIVERED = "Delivered"
    CANCELLED = "Cancelled"


@dataclass(frozen=True, slots=True)
class Cancelling:
    """What a request to cancel does to an order of one status: the status it gets, or None and why not."""

    becomes: OrderStatus | None
    reason: str = ""


_ONLY = "only orders that are Processing can be cancelled"

CANCELLING: Mapping[OrderStatus, Cancelling] = MappingProxyType(
    {
        OrderStatus.PROCESSING: Cancelling(OrderStatus.CANCELLED),
        OrderStatus.SHIPPED: Cancelling(None, f"is Shipped; {_ONLY}"),
        OrderStatus.DELIVERED: Cancelling(None, f"is Delivered; {_ONLY}"),
        OrderStatus.CANCELLED: Cancelling(None, "is already Cancelled"),
    }
)
"""The rule of cancelling, one row per status. A shipped, delivered or cancelled order stays as it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Customer:
    """One customer. `name`, `email`, `phone`, `username` and `address` are as the customer wrote them."""

    id: str
    name: str
    email: str
    phone: str
    username: str
    address: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """One order of one product. `price` is for one piece; `note` is what whoever ordered wrote beside it."""

    id: str
    customer_id: str
    product: str
    quantity: int
    price: Decimal
    status: OrderStatus
    note: str = ""

    @property
    def total(self) -> Decimal:
        """Price times quantity."""
        return self.price * self.quantity


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """Why something was not done. `code` is a stable word, `text` a sentence that may be shown to anyone."""

    code: str
    text: str


def refusal_to_cancel(order: Order) -> Refusal | None:
    """Why this order can't be cancelled, or None when it can; read from `CANCELLING`."""
    rule = CANCELLING[order.status]
    if rule.becomes is not None:
        return None
    return Refusal(code="not_cancellable", text=f"Order {order.id} {rule.reason}. Nothing was changed.")


def money(value: object) -> Decimal:
    """Read an amount exactly: a Decimal, a whole number, or text such as "49.99".

    Raises ValueError for floats (they have lost the exact amount already), negative amounts, more than two places,
    amounts of a thousand million and more, and anything that is not a number.
    """
    if isinstance(value, bool) or not isinstance(value, Decimal | int | str):
        raise ValueError(f"an amount of money is a decimal number or text such as 49.99, not {value!r}")
    try:
        amount = Decimal(value)
    except InvalidOperation:
        raise ValueError(f"not an amount of money: {value!r}") from None
    if not amount.is_finite() or not 0 <= amount < _MOST:
        raise ValueError(f"an amount of money is at least 0 and below {_MOST}, not {value!r}")
    exact = amount.quantize(_CENT)
    if exact != amount:
        raise ValueError(f"an amount of money has at most two decimal places, not {value!r}")
    return exact + 0  # a negative zero becomes a plain one


def cents(amount: Decimal) -> int:
    """The amount as whole cents, which every database stores exactly."""
    return int(money(amount) * 100)
