"""The fictional customers and orders that an empty desk starts with: the facts of a lesson, in `data/lesson.json`.

One order of the lesson has its price as text ("49.99"), the others as numbers. The file keeps that, since real data is
like it; reading makes an exact Decimal of both.
"""

from __future__ import annotations

import json
from decimal import Decimal
from importlib import resources

from turnkeeper.desk.domain import Customer, Order, OrderStatus, money

__all__ = ("lesson",)


def lesson() -> tuple[tuple[Customer, ...], tuple[Order, ...]]:
    """The lesson's customers and orders, in its order."""
    text = (resources.files("turnkeeper.desk") / "data" / "lesson.json").read_text(encoding="utf-8")
    data = json.loads(text, parse_float=Decimal)
    customers = tuple(Customer(**row) for row in data["customers"])
    orders = tuple(
        Order(**{**row, "price": money(row["price"]), "status": OrderStatus(row["status"])}) for row in data["orders"]
    )
    return customers, orders
