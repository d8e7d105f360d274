"""The desk's SQL: every lookup and change, each with its line in the audit, inside one transaction of the caller's.

A `Repository` works for one actor over one connection. Changes are conditional (`… WHERE status = 'Processing'`), so of
two at once, in any number of processes, one wins and the other is told. Nothing here raises for what people get wrong:
the answer is a `Refusal`, and the audit says so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any, Literal, TypeAlias

import sqlalchemy as sa

from turnkeeper.desk import schema
from turnkeeper.desk.contact import checked_email, checked_phone, contact_key, identifier, masked
from turnkeeper.desk.domain import (
    CANCELLING,
    ContactKind,
    Customer,
    Order,
    OrderStatus,
    Refusal,
    cents,
    refusal_to_cancel,
)
from turnkeeper.desk.record import Action, Actor, AuditEntry, Outcome, storable

__all__ = ("ContactChange", "Repository", "customer_of", "order_of")

Changeable: TypeAlias = Literal["email", "phone"]

_CHECKS: Mapping[Changeable, Callable[[str], str]] = {"email": checked_email, "phone": checked_phone}
_WORDS: Mapping[Changeable, str] = {"email": "e-mail address", "phone": "phone number"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ContactChange:
    """A customer as they are now, and what was changed: field to (old, new). Empty when all was so already."""

    customer: Customer
    changed: Mapping[Changeable, tuple[str, str]]


class Repository:
    """Lookups and changes on behalf of `actor`, over `connection`, whose transaction the caller began and ends."""

    def __init__(self, connection: sa.Connection, actor: Actor, now: datetime) -> None:
        self._connection = connection
        self._actor = actor
        self._now = now

    @property
    def connection(self) -> sa.Connection:
        """What it works over, for the desk's other records in the same transaction."""
        return self._connection

    @property
    def now(self) -> datetime:
        """The time of what is done here."""
        return self._now

    def hold(self, customer_id: str) -> None:
        """Whoever else asks for the same customer waits until this transaction ends. SQLite has one writer anyway."""
        mine = sa.select(schema.customers.c.id).where(schema.customers.c.id == customer_id)
        self._connection.execute(mine.with_for_update())

    def own_order(self, order_id: str, customer_id: str) -> Order | None:
        """That customer's order of that id, without a line in the audit."""
        return self._order(order_id, customer_id)

    def customer(self, customer_id: str) -> Customer | None:
        """The customer of that id, to the letter, without a line in the audit: for ids that sessions and tokens name.

        Who somebody is must never be read as kindly as what a person typed.
        """
        found = self._customer(customer_id)
        return found if found is not None and found.id == customer_id else None

    def find(self, kind: ContactKind, value: str) -> Customer | None:
        """The customer whose contact of that kind is `value`, without a line in the audit."""
        return self._customer_by_contact(kind, value)

    # -- lookups ------------------------------------------------------------------------------------------------

    def get_user(self, kind: ContactKind, value: str) -> Customer | Refusal:
        """The customer whose contact of that kind is `value`."""
        customer = self._customer_by_contact(kind, value)
        if customer is None:
            return self._no_such_contact("get_user", kind, value)
        self.note("get_user", f"customer:{customer.id}", "found", f"by {kind}")
        return customer

    def get_user_info(self, kind: ContactKind, value: str) -> tuple[Customer, tuple[Order, ...]] | Refusal:
        """The customer whose contact of that kind is `value`, and all their orders."""
        customer = self._customer_by_contact(kind, value)
        if customer is None:
            return self._no_such_contact("get_user_info", kind, value)
        orders = self._orders_of(customer.id)
        self.note("get_user_info", f"customer:{customer.id}", "found", f"by {kind}, {len(orders)} orders")
        return customer, orders

    def get_order_by_id(self, order_id: str, *, of: str | None = None) -> Order | Refusal:
        """The order of that id; with `of`, only that customer's: another's is answered as one that isn't there."""
        order = self._order(order_id, of)
        if order is None:
            return self._no_such_order("get_order_by_id", order_id)
        self.note("get_order_by_id", f"order:{order.id}", "found")
        return order

    def order(self, order_id: str) -> Order | None:
        """The order of that id, without a line in the audit: for what the desk decides by itself, and tells nobody."""
        return self._order(order_id)

    def get_customer_orders(self, customer_id: str) -> tuple[Order, ...] | Refusal:
        """All orders of the customer of that id, by order id; a customer without orders has an empty tuple."""
        customer = self._customer(customer_id)
        if customer is None:
            return self._no_such_customer("get_customer_orders", customer_id)
        orders = self._orders_of(customer.id)
        self.note("get_customer_orders", f"customer:{customer.id}", "found", f"{len(orders)} orders")
        return orders

    # -- changes ------------------------------------------------------------------------------------------------

    def cancel_order(self, order_id: str, *, of: str | None = None) -> Order | Refusal:
        """Cancel the order if its status lets it be cancelled; the order as it is afterwards, or why it stays.

        With `of`, only an order of that customer.
        """
        key = identifier(order_id)
        table = schema.orders
        mine = sa.true() if of is None else table.c.customer_id == of
        for status, rule in CANCELLING.items():
            if key is None or rule.becomes is None:
                continue
            # The database decides here, not what was read before: of two at once one finds the status already gone.
            change = sa.update(table).where(table.c.id == key, table.c.status == status, mine)
            if self._connection.execute(change.values(status=rule.becomes.value)).rowcount:
                self.note("cancel_order", f"order:{key}", "cancelled", f"was {status}")
                order = self._order(key)
                assert order is not None  # its row was just changed, in this transaction
                return order
        order = self._order(order_id, of)
        if order is None:
            return self._no_such_order("cancel_order", order_id)
        refusal = refusal_to_cancel(order)
        if refusal is None:
            # it became cancellable between the two statements; asking again would work
            refusal = Refusal(
                code="busy", text=f"Order {order.id} was changed meanwhile. Nothing was changed; try again."
            )
        self.note("cancel_order", f"order:{order.id}", "refused", f"{refusal.code}: {order.status}")
        return refusal

    def update_contact(
        self, customer_id: str, *, email: str | None = None, phone: str | None = None
    ) -> ContactChange | Refusal:
        """Give the customer a new e-mail address, phone number, or both; either all of it is changed or nothing.

        Refused when a value can't be an address or number, or is another customer's.
        """
        customer = self._customer(customer_id)
        if customer is None:
            return self._no_such_customer("update_contact", customer_id)
        wanted: dict[Changeable, str] = {}
        asked: dict[Changeable, str | None] = {"email": email, "phone": phone}
        for field, value in asked.items():
            if value is None:
                continue
            try:
                wanted[field] = _CHECKS[field](value)
            except ValueError as error:
                return self._refuse_change(customer, f"{field}_invalid", str(error))
        if not wanted:
            return self._refuse_change(customer, "nothing_asked", "Give a new e-mail address, phone number, or both.")
        changed = {field: (getattr(customer, field), new) for field, new in wanted.items()}
        changed = {field: pair for field, pair in changed.items() if pair[0] != pair[1]}
        if not changed:
            self.note("update_contact", f"customer:{customer.id}", "unchanged", ", ".join(wanted))
            return ContactChange(customer=customer, changed={})
        taken = self._write_contacts(customer, {field: new for field, (_, new) in changed.items()})
        if taken is not None:
            text = f"That {_WORDS[taken]} belongs to another customer."
            return self._refuse_change(customer, f"{taken}_taken", text)
        detail = ", ".join(
            f"{field} {masked(field, old)} to {masked(field, new)}" for field, (old, new) in changed.items()
        )
        self.note("update_contact", f"customer:{customer.id}", "changed", detail)
        now = self._customer(customer.id)
        assert now is not None  # its row was just changed, in this transaction
        return ContactChange(customer=now, changed=changed)

    def deny(self, action: Action) -> None:
        """Note that the actor asked for what they have no right to."""
        self.note(action, "desk", "denied")

    # -- the audit ----------------------------------------------------------------------------------------------

    def entries(self, *, subject: str | None = None, limit: int = 100) -> tuple[AuditEntry, ...]:
        """The newest lines of the audit, oldest of them first, of one subject such as `order:24601` or of all."""
        table = schema.audit
        query = sa.select(table).order_by(table.c.seq.desc()).limit(limit)
        if subject is not None:
            query = query.where(table.c.subject == storable(subject))
        rows = self._connection.execute(query).mappings().all()
        return tuple(AuditEntry(**row) for row in reversed(rows))

    def note(self, action: Action, subject: str, outcome: Outcome, detail: str = "") -> None:
        """Add a line to the audit; it stands if and when the transaction commits."""
        actor = self._actor
        self._connection.execute(
            sa.insert(schema.audit).values(
                at=self._now,
                principal_kind=storable(actor.kind),
                principal_id=storable(actor.id),
                action=action,
                subject=storable(subject),
                outcome=outcome,
                detail=storable(detail),
                conversation_id=None if actor.conversation_id is None else storable(actor.conversation_id),
                call_id=None if actor.call_id is None else storable(actor.call_id),
            )
        )

    def probe(self) -> None:
        """Write nothing, but fail as writing would: a read-only SQLite file lets every transaction begin."""
        for table in (schema.customers, schema.orders):
            same = {"id": table.c.id}
            self._connection.execute(sa.update(table).where(sa.false()).values(same))

    # -- filling an empty desk ----------------------------------------------------------------------------------

    def is_empty(self) -> bool:
        """Whether there is neither a customer nor an order."""
        some = (sa.exists().select_from(table) for table in (schema.customers, schema.orders))
        return not self._connection.execute(sa.select(sa.or_(*some))).scalar_one()

    def add(self, customers: tuple[Customer, ...], orders: tuple[Order, ...]) -> None:
        """Add records as they are; raises SQLAlchemy's IntegrityError where one contradicts what is there."""
        if customers:
            self._connection.execute(sa.insert(schema.customers), [_customer_row(one) for one in customers])
        if orders:
            self._connection.execute(sa.insert(schema.orders), [_order_row(one) for one in orders])

    # -- inside -------------------------------------------------------------------------------------------------

    def _customer_by_contact(self, kind: ContactKind, value: str) -> Customer | None:
        key = contact_key(kind, value)
        return None if key is None else self._one_customer(schema.customers.c[f"{kind}_key"] == key)

    def _customer(self, customer_id: str) -> Customer | None:
        key = identifier(customer_id)
        return None if key is None else self._one_customer(schema.customers.c.id == key)

    def _one_customer(self, condition: sa.ColumnElement[bool]) -> Customer | None:
        row = self._connection.execute(sa.select(schema.customers).where(condition)).one_or_none()
        if row is None:
            return None
        return customer_of(row)

    def _order(self, order_id: str, of: str | None = None) -> Order | None:
        key = identifier(order_id)
        mine = sa.true() if of is None else schema.orders.c.customer_id == of
        found = () if key is None else self._orders_where((schema.orders.c.id == key) & mine)
        return found[0] if found else None

    def _orders_of(self, customer_id: str) -> tuple[Order, ...]:
        return self._orders_where(schema.orders.c.customer_id == customer_id)

    def _orders_where(self, condition: sa.ColumnElement[bool]) -> tuple[Order, ...]:
        query = sa.select(schema.orders).where(condition).order_by(schema.orders.c.id)
        return tuple(order_of(row) for row in self._connection.execute(query))

    def _write_contacts(self, customer: Customer, new: Mapping[Changeable, str]) -> Changeable | None:
        """Write the new contacts; the field that another customer has, if one does, and then nothing is written."""
        table = schema.customers
        values: dict[str, Any] = {}
        for field, value in new.items():
            owner = self._customer_by_contact(field, value)
            if owner is not None and owner.id != customer.id:
                return field
            values |= {field: value, f"{field}_key": contact_key(field, value)}
        try:
            with self._connection.begin_nested():
                self._connection.execute(sa.update(table).where(table.c.id == customer.id).values(values))
        except sa.exc.IntegrityError as error:
            # somebody else took it since the look above; the constraint's or column's name says which one it was
            return "phone" if "phone_key" in str(error.orig) else "email"
        return None

    def _no_such_contact(self, action: Action, kind: ContactKind, value: str) -> Refusal:
        self.note(action, f"{kind}:{masked(kind, value)}", "not_found")
        return Refusal(code=f"no_such_{kind}", text=f"No customer has that {kind}.")

    def _no_such_customer(self, action: Action, customer_id: str) -> Refusal:
        self.note(action, f"customer:{_shown_id(customer_id)}", "not_found")
        return Refusal(code="no_such_customer", text="No customer has that id.")

    def _no_such_order(self, action: Action, order_id: str) -> Refusal:
        self.note(action, f"order:{_shown_id(order_id)}", "not_found")
        return Refusal(code="no_such_order", text="There is no order with that id.")

    def _refuse_change(self, customer: Customer, code: str, text: str) -> Refusal:
        self.note("update_contact", f"customer:{customer.id}", "refused", code)
        return Refusal(code=code, text=f"{text} Nothing was changed.")


def _shown_id(text: str) -> str:
    """An id that nothing has, for the audit: whole if it could be one, else only how long it is."""
    key = identifier(text)
    return key if key is not None and key.isdecimal() and len(key) <= 12 else f"({len(text)} characters)"


def customer_of(row: sa.Row[Any]) -> Customer:
    """The customer of a row of their table."""
    return Customer(
        id=row.id, name=row.name, email=row.email, phone=row.phone, username=row.username, address=row.address
    )


def order_of(row: sa.Row[Any]) -> Order:
    """The order of a row of their table."""
    return Order(
        id=row.id,
        customer_id=row.customer_id,
        product=row.product,
        quantity=row.quantity,
        price=Decimal(row.price_cents).scaleb(-2),
        status=OrderStatus(row.status),
        note=row.note,
    )


def _order_row(order: Order) -> dict[str, Any]:
    return {
        "id": order.id,
        "customer_id": order.customer_id,
        "product": order.product,
        "quantity": order.quantity,
        "price_cents": cents(order.price),
        "status": order.status.value,
        "note": order.note,
    }


def _customer_row(customer: Customer) -> dict[str, Any]:
    row: dict[str, Any] = {"id": customer.id, "name": customer.name, "address": customer.address}
    kinds: tuple[ContactKind, ...] = ("email", "phone", "username")
    for kind in kinds:
        written = getattr(customer, kind)
        key = contact_key(kind, written)
        if key is None:
            raise ValueError(f"customer {customer.id}: {kind} can't be {written!r}")
        row |= {kind: written, f"{kind}_key": key}
    return row
