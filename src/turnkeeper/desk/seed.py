"""The fictional customers and orders that an empty desk starts with: the facts of a lesson, in `data/lesson.json`.

One order of the lesson has its price as text ("49.99"), the others as numbers. The file keeps that, since real data is
like it; reading makes an exact Decimal of both.
"""

from __future__ import annotations

import functools
import json
from decimal import Decimal
from importlib import resources

from turnkeeper.desk.domain import Customer, Order, OrderStatus, money

__all__ = ("lesson", "wrote")


def lesson() -> tuple[tuple[Customer, ...], tuple[Order, ...]]:
    """The lesson's customers and orders, in its order."""
    text = (resources.files("turnkeeper.desk") / "data" / "lesson.json").read_text(encoding="utf-8")
    data = json.loads(text, parse_float=Decimal)
    customers = tuple(Customer(**row) for row in data["customers"])
    orders = tuple(
        Order(**{**row, "price": money(row["price"]), "status": OrderStatus(row["status"])}) for row in data["orders"]
    )
    return customers, orders


def wrote(customer_id: str, field: str, value: str) -> bool:
    """Whether that value, to the letter, is what the desk itself put there: then no customer has written it."""
    return (customer_id, field, value) in _own_words()


@functools.cache
def _own_words() -> frozenset[tuple[str, str, str]]:
    customers, _ = lesson()
    fields = ("name", "email", "phone", "username", "address")
    return frozenset((one.id, field, getattr(one, field)) for one in customers for field in fields)
