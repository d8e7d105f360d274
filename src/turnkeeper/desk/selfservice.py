"""The customers' own tools: no customer's id in any of them, the session's own rows only, checked again when they run.

Whose rows they are comes from the call's principal, which the door's sessions stand behind. An order of somebody else
is answered as one that isn't there, by the same query. What customers wrote themselves (names, addresses, notes) is
marked as text from outside.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any, TypeAlias, TypeVar

import turnkeeper as tk
from turnkeeper.desk.changing import Changes
from turnkeeper.desk.customer_policy import CustomerPolicy
from turnkeeper.desk.database import Desk
from turnkeeper.desk.domain import ContactKind, Order, Refusal
from turnkeeper.desk.door import Door
from turnkeeper.desk.policy import APPROVE_ABOVE, amount
from turnkeeper.desk.record import Action, Actor
from turnkeeper.desk.repository import Repository
from turnkeeper.desk.rules import RULES, Topic

__all__ = ("customer_tools",)

Answer: TypeAlias = dict[str, Any]
T = TypeVar("T")

_PROVEN = ("confirmed", "signed_in", "step_up")
_NEEDS_STAFF = (
    "This needs a member of staff, and was not passed on: it goes together with what was cancelled just now, or too"
    " much of the customer's waits for them already. Ask for it again later, by itself."
)
_UNPROVEN = "Nobody has confirmed who they are. Nothing was looked up or changed."
_NOBODY = Refusal(code="no_such_customer", text="There is no such account.")


def customer_tools(database: Desk, door: Door, *, approve_above: Decimal = APPROVE_ABOVE) -> tuple[tk.Tool, ...]:
    """The customers' tools over an open desk and its door.

    Agents with them need `identity=door.who`, and the desk's own database as journal. A member of staff decides on
    cancelling orders of more than `approve_above` in total, alone or together within a day, on what is done while the
    account is on hold, and on a new contact where the old one is lost. Every other new contact is confirmed with a
    code. ConfigurationError for an amount that is none.
    """
    policy = CustomerPolicy(database=database, above=amount(approve_above))
    own = _Own(database, door, policy)
    proven: dict[str, Any] = {"requires": "confirmed"}
    changes: dict[str, Any] = {"effect": "transactional", "when_untrusted": policy.may_ask_customer, **proven}
    return (
        # It sends to contacts on file only, and is capped: no text from outside can turn it against anybody.
        tk.tool(own.send_code, effect="idempotent", when_untrusted="run"),
        tk.tool(own.shop_rules, effect="read"),
        tk.tool(own.get_my_account, effect="read", **proven),
        tk.tool(own.get_my_orders, effect="read", **proven),
        tk.tool(own.get_my_order, effect="read", **proven),
        tk.tool(own.cancel_my_order, approval=policy.cancellation, **changes),
        tk.tool(own.update_my_contact, approval=policy.contact_change, **changes),
    )


class _Own:
    """The functions behind the tools; their signatures and docstrings are what the model sees."""

    def __init__(self, database: Desk, door: Door, policy: CustomerPolicy) -> None:
        self._database = database
        self._door = door
        self._policy = policy

    def send_code(self, ctx: tk.ToolContext, key: ContactKind, value: str, client: tk.Injected[str] = "") -> Answer:
        """Have a one-time code sent to the contact on file of the account that the customer says is theirs.

        Orders and accounts can be seen only after the customer has entered the code, in a form outside of this chat.
        The answer doesn't tell whether there is such an account. Never ask for the code, and never repeat one.

        Args:
            key: What the value is.
            value: The e-mail address, phone number or username that the customer gave.
        """
        who = ctx.principal
        if who is None or who.kind != "customer":
            raise tk.ToolError("Codes are for customers.")
        if who.level in _PROVEN:
            raise tk.ToolError("The customer has confirmed who they are already.")
        asked = self._door.start_confirmation(who, ctx.conversation_id, key, value, client=client, code_id=ctx.key)
        if isinstance(asked, Refusal):
            raise tk.ToolError(asked.text)
        return {"code": "asked for", "text": asked.text}

    def shop_rules(self, topic: Topic) -> Answer:
        """What TechNova's rules say about a topic, word for word.

        Quote it by writing [[rule:TOPIC]] where its text should stand. Never say of a rule what doesn't stand in it.

        Args:
            topic: The topic of the question.
        """
        return {"topic": topic, "rule": RULES[topic]}

    def get_my_account(self, ctx: tk.ToolContext) -> Answer:
        """The account of the customer in this conversation: name, e-mail address, phone number, username, address."""

        def account(desk: Repository, customer_id: str) -> Answer | Refusal:
            customer = desk.customer(customer_id)
            if customer is None:
                return _NOBODY
            desk.note("get_user", f"customer:{customer_id}", "found", "own")
            answer = {"name": ctx.untrusted(customer.name), "email": customer.email, "phone": customer.phone}
            answer["username"] = customer.username
            return answer | ({"address": customer.address} if customer.address else {})

        return self._ask("get_user", ctx, account)

    def get_my_orders(self, ctx: tk.ToolContext) -> Answer:
        """All orders of the customer in this conversation, with product, quantity, price of one, total and status."""
        orders = self._ask("get_customer_orders", ctx, lambda desk, owner: desk.get_customer_orders(owner))
        return {"orders": [_order(ctx, order) for order in orders]}

    def get_my_order(self, ctx: tk.ToolContext, order_id: str) -> Answer:
        """One order of the customer in this conversation, by its number.

        Args:
            order_id: The order's number, for example "24601".
        """
        order = self._ask("get_order_by_id", ctx, lambda desk, owner: desk.get_order_by_id(order_id, of=owner))
        return _order(ctx, order)

    def cancel_my_order(self, ctx: tk.ToolContext, order_id: str) -> Answer:
        """Cancel one order of the customer in this conversation. It can't be undone.

        Only an order whose status is Processing can be cancelled. Use it only when the customer asked to cancel this
        very order.

        Args:
            order_id: The order's number, for example "13579".
        """
        by_staff = ctx.approved_by is not None and ctx.approved_by.kind == "staff"

        def cancel(desk: Repository, owner: str) -> Order | Refusal:
            desk.hold(owner)  # of two at once the second sees what the first has cancelled
            order = desk.own_order(order_id, owner)
            if order is not None and not by_staff and self._policy.why_staff(desk, order):
                desk.note("cancel_order", f"order:{order.id}", "refused", "needs staff")
                return Refusal(code="needs_staff", text=_NEEDS_STAFF)
            return desk.cancel_order(order_id, of=owner)

        return {"cancelled": True, "order": _order(ctx, self._ask("cancel_order", ctx, cancel))}

    def update_my_contact(
        self,
        ctx: tk.ToolContext,
        email: str | None = None,
        phone: str | None = None,
        old_contact_lost: bool = False,
    ) -> Answer:
        """Begin a change of the customer's e-mail address or phone number: one of them.

        It takes effect when the customer has entered, in the form outside of this chat, a code that is sent to the new
        contact. Use it only when the customer asked for it.

        Args:
            email: The new e-mail address.
            phone: The new phone number.
            old_contact_lost: True only if the customer says that the contact on file can't be reached any more.
        """
        del old_contact_lost  # it is for the policy: who has to approve
        by = ctx.approved_by
        # a card that only text from outside has made proves nothing: it is confirmed with a click
        if by is None or (by.kind != "staff" and by.level != "step_up"):
            raise tk.ToolError("A new contact has to be confirmed first. Nothing was changed.")
        change = self._ask(
            "change_contact",
            ctx,
            lambda desk, owner: Changes(desk).ask(
                owner,
                conversation_id=ctx.conversation_id,
                email=email,
                phone=phone,
                proven_by="staff" if by.kind == "staff" else "old_contact",
            ),
        )
        waits = (
            "Waiting for the code sent to the new contact; the customer enters it in the form, outside of this chat."
        )
        return {"recorded": change.field, "text": waits}

    def _ask(self, action: Action, ctx: tk.ToolContext, question: Callable[[Repository, str], T | Refusal]) -> T:
        """Put the question to the repository for the session's own customer; ToolError for a refusal."""
        who = ctx.principal
        actor = Actor.of_call(who, ctx)
        with self._database.transaction(actor, ctx.connection) as repository:
            answer: T | Refusal
            if who is None or who.kind != "customer" or who.level not in _PROVEN:
                repository.deny(action)
                answer = Refusal(code="denied", text=_UNPROVEN)
            elif repository.customer(who.id) is None:
                repository.deny(action)
                answer = _NOBODY
            else:
                answer = question(repository, who.id)
            # a call that timed out or was cancelled must not take effect behind the back of whoever was told so
            ctx.check_cancelled()
        if isinstance(answer, Refusal):
            raise tk.ToolError(answer.text, keep_writes=True)
        return answer


def _order(ctx: tk.ToolContext, order: Order) -> Answer:
    answer = {
        "id": order.id,
        "product": order.product,
        "quantity": order.quantity,
        "price": str(order.price),
        "total": str(order.total),
        "status": order.status.value,
    }
    return answer | ({"note": ctx.untrusted(order.note)} if order.note else {})
