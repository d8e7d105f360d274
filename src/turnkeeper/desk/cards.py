"""What a customer confirms, as the desk's own records have it: never in a model's words.

A card names the action and its facts; the door that shows it has the words for both.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import turnkeeper as tk
from turnkeeper.desk.contact import hint
from turnkeeper.desk.database import Desk

__all__ = ("Card", "card_of")

Action: TypeAlias = Literal["cancel_order", "change_email", "change_phone"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """One action. `facts` are names and values: `order`, `product`, `total`, `old` (masked) and `new` contact."""

    action: Action
    facts: tuple[tuple[str, str], ...]


def card_of(records: Desk, tool: str, arguments: Any, who: tk.Principal) -> Card | None:
    """What that call would do for that customer; None for what no customer confirms."""
    given: Mapping[str, Any] = arguments if isinstance(arguments, dict) else {}
    with records.reading() as repository:
        if tool == "cancel_my_order":
            order = repository.own_order(str(given.get("order_id", "")), who.id)
            facts = [("order", str(given.get("order_id", "")))]
            if order is not None:
                product = f"{order.quantity} × {order.product}"
                facts = [("order", order.id), ("product", product), ("total", str(order.total))]
            return Card(action="cancel_order", facts=tuple(facts))
        customer = repository.customer(who.id)
        if tool != "update_my_contact" or customer is None:
            return None
        if given.get("phone") is not None:
            return Card(
                action="change_phone",
                facts=(("old", hint("phone", customer.phone)), ("new", str(given["phone"]))),
            )
        return Card(
            action="change_email",
            facts=(("old", hint("email", customer.email)), ("new", str(given.get("email", "")))),
        )
