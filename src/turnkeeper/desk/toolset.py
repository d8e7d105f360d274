"""The desk's tools: what the model may look up and change, for a member of staff.

Who asks comes from the call's context, which the application bound; the model has no say in it. What people get wrong
(no such order, too late to cancel) goes to the model as a `ToolError`, in the repository's words; anything else is an
exception, and the model learns nothing of it.

What customers wrote is marked as text from outside: notes, and whatever stands in an account (the name as well, however
much it looks like one) but for the desk's own first records and what the call itself was given.

Lookups use the desk's own connections. Changes are part of the transaction in which the journal records the call, with
their line in the audit, so they happen once whatever stops the program; a refusal keeps its line in the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from decimal import Decimal
from typing import Any, TypeAlias, TypeVar

import turnkeeper as tk
from turnkeeper.desk.database import Desk
from turnkeeper.desk.domain import ContactKind, Customer, Order, Refusal
from turnkeeper.desk.policy import APPROVE_ABOVE, ApprovalPolicy, amount
from turnkeeper.desk.record import Action, Actor
from turnkeeper.desk.repository import Repository
from turnkeeper.desk.seed import wrote

__all__ = ("tools",)

Answer: TypeAlias = dict[str, Any]
T = TypeVar("T")

_ADVICE = {
    "no_such_email": "Check its spelling with the user, or ask for the phone number or username.",
    "no_such_phone": "Check it with the user, country code included, or ask for the e-mail or username.",
    "no_such_username": "Check its spelling with the user, or ask for the e-mail address or phone number.",
    "no_such_customer": "Ids come from looking the customer up; don't make one up.",
    "no_such_order": "Check the number with the user, or look the customer's orders up.",
}


def tools(
    database: Desk,
    *,
    approve_above: Decimal = APPROVE_ABOVE,
    four_eyes: bool = False,
    principal: tk.Principal | None = None,
) -> tuple[tk.Tool, ...]:
    """The tools over one open desk. Turns with them need its own database as journal: `agent.open(desk.journal_url)`.

    A person's approval is needed for cancelling an order whose total is above `approve_above`, and for every change of
    a contact. Staff need none, unless `four_eyes` is set: then another member of staff decides, for whoever asked
    can't.

    `principal` is on whose behalf they are used where the conversation has no principal of its own; without either, and
    for any principal that is not of kind `staff`, a call is denied.

    ConfigurationError for an amount that is none, and for `four_eyes` together with `principal`: an approval knows only
    a conversation's own principal as the one who asked.
    """
    if four_eyes and principal is not None:
        raise tk.errors.ConfigurationError(
            "four_eyes needs to know who asked: open each conversation with its principal, and leave `principal` out"
        )
    counter = _Counter(database, principal)
    policy = ApprovalPolicy(database=database, above=amount(approve_above), four_eyes=four_eyes, principal=principal)
    return (
        tk.tool(counter.get_user, effect="read"),
        tk.tool(counter.get_order_by_id, effect="read"),
        tk.tool(counter.get_customer_orders, effect="read"),
        tk.tool(counter.get_user_info, effect="read"),
        tk.tool(counter.cancel_order, effect="transactional", approval=policy.expensive_cancellation),
        tk.tool(counter.update_contact, effect="transactional", approval=policy.contact_change),
    )


class _Counter:
    """The functions behind the tools; their signatures and docstrings are what the model sees."""

    def __init__(self, database: Desk, principal: tk.Principal | None) -> None:
        self._database = database
        self._principal = principal

    def get_user(self, ctx: tk.ToolContext, key: ContactKind, value: str) -> Answer:
        """Find one customer's account by e-mail address, phone number or username.

        Returns the customer's id, name, email, phone and username. It doesn't return orders: use get_customer_orders
        with the id, or get_user_info to have both at once. Use it only with a value that the user gave.

        Args:
            key: What the value is.
            value: The customer's e-mail address, phone number or username; spelling in capitals or with other
                separators doesn't matter.
        """
        customer = self._ask("get_user", ctx, lambda desk: desk.get_user(key, value))
        return _customer(ctx, customer, given=(value,))

    def get_order_by_id(self, ctx: tk.ToolContext, order_id: str) -> Answer:
        """Look up one order by its number.

        Returns its id, customer_id, product, quantity, price of one piece, total and status. The status is Processing,
        Shipped, Delivered or Cancelled. Amounts are text, to be exact.

        Args:
            order_id: The order's number, for example "24601".
        """
        order = self._ask("get_order_by_id", ctx, lambda desk: desk.get_order_by_id(order_id))
        return _order(ctx, order)

    def get_customer_orders(self, ctx: tk.ToolContext, customer_id: str) -> Answer:
        """List all orders of one customer, by the customer's id.

        Returns the orders as get_order_by_id does; the list is empty for a customer without orders. The id comes from
        get_user; it is not the username.

        Args:
            customer_id: The id of the customer's account.
        """
        orders = self._ask("get_customer_orders", ctx, lambda desk: desk.get_customer_orders(customer_id))
        return {"orders": [_order(ctx, order) for order in orders]}

    def get_user_info(self, ctx: tk.ToolContext, key: ContactKind, value: str) -> Answer:
        """Find one customer's account by e-mail address, phone number or username, together with all their orders.

        Returns what get_user and get_customer_orders return. Use it when both are needed.

        Args:
            key: What the value is.
            value: The customer's e-mail address, phone number or username.
        """
        customer, orders = self._ask("get_user_info", ctx, lambda desk: desk.get_user_info(key, value))
        return {
            "customer": _customer(ctx, customer, given=(value,)),
            "orders": [_order(ctx, order) for order in orders],
        }

    def cancel_order(self, ctx: tk.ToolContext, order_id: str) -> Answer:
        """Cancel one order. Only an order whose status is Processing can be cancelled; it can't be undone.

        Returns the cancelled order. When the order can't be cancelled, the error says why, and nothing has changed. Use
        it only when the user asked to cancel this very order.

        Args:
            order_id: The order's number, for example "13579".
        """
        order = self._ask("cancel_order", ctx, lambda desk: desk.cancel_order(order_id))
        return {"cancelled": True, "order": _order(ctx, order)}

    def update_contact(
        self, ctx: tk.ToolContext, customer_id: str, email: str | None = None, phone: str | None = None
    ) -> Answer:
        """Change a customer's e-mail address, phone number, or both.

        Returns what was changed, old and new, and the customer as they are now. A value that isn't an address or
        number, or that another customer has, is refused, and then nothing has changed. Use it only when the user asked
        for it.

        Args:
            customer_id: The id of the customer's account, from get_user.
            email: The new e-mail address; leave it out to keep the old one.
            phone: The new phone number; leave it out to keep the old one.
        """
        change = self._ask(
            "update_contact", ctx, lambda desk: desk.update_contact(customer_id, email=email, phone=phone)
        )
        changed = {
            field: {"old": _written(ctx, customer_id, field, old), "new": new}
            for field, (old, new) in change.changed.items()
        }
        given = (email, phone, *(new for _, new in change.changed.values()))
        answer: Answer = {"changed": changed, "customer": _customer(ctx, change.customer, given=given)}
        if not changed:
            answer["note"] = "That is what the account has already; nothing was changed."
        return answer

    def _ask(self, action: Action, ctx: tk.ToolContext, question: Callable[[Repository], T | Refusal]) -> T:
        """Put the question to the repository on the principal's behalf; ToolError for a refusal."""
        who = ctx.principal or self._principal
        actor = Actor.of_call(who, ctx)
        with self._database.transaction(actor, ctx.connection) as repository:
            if actor.kind == "staff":
                answer = question(repository)
            else:
                repository.deny(action)
                answer = Refusal(
                    code="denied", text="This is for TechNova's staff only. Nothing was looked up or changed."
                )
            # a call that timed out or was cancelled must not take effect behind the back of whoever was told so
            ctx.check_cancelled()
        if isinstance(answer, Refusal):
            advice = _ADVICE.get(answer.code)
            # nothing was changed but the audit, whose line stays
            raise tk.ToolError(f"{answer.text} {advice}" if advice else answer.text, keep_writes=True)
        return answer


def _customer(ctx: tk.ToolContext, customer: Customer, *, given: Collection[str | None]) -> Answer:
    answer = {"id": customer.id}
    for field in ("name", "email", "phone", "username", "address"):
        value = getattr(customer, field)
        if value or field != "address":
            answer[field] = value if value in given else _written(ctx, customer.id, field, value)
    return answer


def _written(ctx: tk.ToolContext, customer_id: str, field: str, value: str) -> str:
    """What stands in an account: from outside, unless the desk itself wrote it. No look at the text decides that."""
    return value if wrote(customer_id, field, value) else ctx.untrusted(value)


def _order(ctx: tk.ToolContext, order: Order) -> Answer:
    answer = {
        "id": order.id,
        "customer_id": order.customer_id,
        "product": order.product,
        "quantity": order.quantity,
        "price": str(order.price),
        "total": str(order.total),
        "status": order.status.value,
    }
    return answer | ({"note": ctx.untrusted(order.note)} if order.note else {})
