"""Records in words: an account, an order, a list of orders, in the user's language."""

from __future__ import annotations

from collections.abc import Mapping

from turnkeeper.simulator.practice.outcomes import Record
from turnkeeper.simulator.practice.phrasebook import Language

__all__ = ("account_line", "order_line", "order_lines", "order_name")

ACCOUNT_PARTS = ("name", "id", "email", "phone", "username")
ORDER_PARTS = ("product", "quantity", "price", "status")


def account_line(language: Language, customer: Record) -> str:
    """One sentence with what the tool told about an account."""
    return language.say("account", details=_parts(language, customer, ACCOUNT_PARTS))


def order_line(language: Language, order: Record) -> str:
    """One sentence about one order."""
    return language.say("order", id=order.get("id", ""), details=_parts(language, order, ORDER_PARTS))


def order_lines(
    language: Language, orders: Mapping[str, Record], customer: Record | None, *, head: str | None = None
) -> str:
    """A heading and one line for each order; another sentence if there are none."""
    if not orders:
        return language.say("no_orders")
    name = (customer or {}).get("name")
    head = head or (language.say("orders_of", name=name) if name else language.say("orders"))
    items = [
        language.say("order_item", id=number, details=_parts(language, order, ORDER_PARTS))
        for number, order in orders.items()
    ]
    return "\n".join([head, *items])


def order_name(number: str, order: Record) -> str:
    """The order's number, and its product if it is known."""
    product = order.get("product")
    return f"{number} ({product})" if product else number


def _parts(language: Language, record: Record, names: tuple[str, ...]) -> str:
    shown = {name: record[name] for name in names if record.get(name)}
    if "status" in shown:
        shown["status"] = language.status(shown["status"])
    return language.say("separator").join(language.say(f"part_{name}", value=value) for name, value in shown.items())
