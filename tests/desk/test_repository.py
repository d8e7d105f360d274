"""Every lookup and change, on SQLite and PostgreSQL, and what the audit says of it."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

import pytest

from tests.desk.conftest import NOON
from turnkeeper.desk import Desk
from turnkeeper.desk.domain import ContactKind, Customer, Order, OrderStatus, Refusal
from turnkeeper.desk.record import Actor, AuditEntry
from turnkeeper.desk.repository import ContactChange

PRIYA = Customer(id="2837622", name="Priya Patel", email="priya@candy.com", phone="987-654-3210", username="priya123")
SPEAKER = Order(
    id="97531",
    customer_id="2837622",
    product="Bluetooth Speaker",
    quantity=1,
    price=Decimal("49.99"),
    status=OrderStatus.SHIPPED,
)
HEADPHONES = Order(
    id="28164",
    customer_id="2837622",
    product="Wireless Headphones",
    quantity=2,
    price=Decimal("79.99"),
    status=OrderStatus.PROCESSING,
)
HOSTILE = [
    "'; DROP TABLE desk_orders; --",
    '" OR 1=1 --',
    "%",
    "_",
    "\\",
    "24601' OR 'a'='a",
    "\0",
    "\ud800",
    "x" * 100_000,
]


def last(database: Desk) -> tuple[str, str, str, str]:
    entry = database.audit()[-1]
    return entry.action, entry.subject, entry.outcome, entry.detail


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("email", " PRIYA@candy.com "),
        ("phone", "(987) 654 3210"),
        ("phone", "９８７６５４３２１０"),
        ("username", "Priya123"),
    ],
)
def test_a_customer_is_found_however_the_contact_is_spelt(
    database: Desk, ana: Actor, kind: ContactKind, value: str
) -> None:
    with database.transaction(ana) as repository:
        assert repository.get_user(kind, value) == PRIYA
    assert last(database) == ("get_user", "customer:2837622", "found", f"by {kind}")


def test_the_whole_line_of_the_audit_says_who_asked_and_where(database: Desk, ana: Actor) -> None:
    with database.transaction(ana) as repository:
        repository.get_order_by_id("97531")
    entries = database.audit(subject="order:97531")
    assert entries == (
        AuditEntry(
            seq=2,
            at=entries[0].at,
            principal_kind="staff",
            principal_id="ana",
            action="get_order_by_id",
            subject="order:97531",
            outcome="found",
            detail="",
            conversation_id="c-42",
            call_id="toolu_01",
        ),
    )
    assert entries[0].at > NOON
    assert entries[0].at.utcoffset() is not None


def test_an_order_is_found_by_its_number_and_its_text_price_is_exact(database: Desk, ana: Actor) -> None:
    with database.transaction(ana) as repository:
        order = repository.get_order_by_id(" #97531 ")
    assert order == SPEAKER
    assert isinstance(order, Order)
    assert str(order.total) == "49.99"


def test_the_orders_of_a_customer_come_by_their_number(database: Desk, ana: Actor) -> None:
    with database.transaction(ana) as repository:
        assert repository.get_customer_orders("2837622") == (HEADPHONES, SPEAKER)
    assert last(database) == ("get_customer_orders", "customer:2837622", "found", "2 orders")


def test_a_customer_and_all_their_orders_come_in_one_go(database: Desk, ana: Actor) -> None:
    with database.transaction(ana) as repository:
        assert repository.get_user_info("username", "priya123") == (PRIYA, (HEADPHONES, SPEAKER))
    assert last(database) == ("get_user_info", "customer:2837622", "found", "by username, 2 orders")


def test_a_customer_without_orders_has_none(database: Desk, ana: Actor) -> None:
    newcomer = Customer(id="1", name="Алёна 👩‍🚀 עדן", email="алёна@почта.рф", phone="+7 495 1234567", username="алёна")
    with database.transaction(ana) as repository:
        repository.add((newcomer,), ())
        assert repository.get_user_info("email", "АЛЁНА@ПОЧТА.РФ") == (newcomer, ())
        assert repository.get_customer_orders("1") == ()


@pytest.mark.parametrize(
    ("action", "code", "text", "subject"),
    [
        ("get_user", "no_such_email", "No customer has that email.", "email:n…@example.com"),
        ("get_user_info", "no_such_phone", "No customer has that phone.", "phone:…23 (7 digits)"),
        ("get_order_by_id", "no_such_order", "There is no order with that id.", "order:99999"),
        ("get_customer_orders", "no_such_customer", "No customer has that id.", "customer:99999"),
        ("cancel_order", "no_such_order", "There is no order with that id.", "order:99999"),
        ("update_contact", "no_such_customer", "No customer has that id.", "customer:99999"),
    ],
)
def test_what_is_not_there_is_said_and_noted(
    database: Desk, ana: Actor, action: str, code: str, text: str, subject: str
) -> None:
    with database.transaction(ana) as repository:
        answers: dict[str, Callable[[], object]] = {
            "get_user": lambda: repository.get_user("email", "nobody@example.com"),
            "get_user_info": lambda: repository.get_user_info("phone", "555-0123"),
            "get_order_by_id": lambda: repository.get_order_by_id("99999"),
            "get_customer_orders": lambda: repository.get_customer_orders("99999"),
            "cancel_order": lambda: repository.cancel_order("99999"),
            "update_contact": lambda: repository.update_contact("99999", email="a@b.example"),
        }
        assert answers[action]() == Refusal(code=code, text=text)
    assert last(database) == (action, subject, "not_found", "")


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_text_that_would_be_sql_finds_nothing_and_breaks_nothing(database: Desk, ana: Actor, text: str) -> None:
    hostile = Actor(kind=text[:50], id=text[:50], conversation_id=text, call_id=text)
    with database.transaction(hostile) as repository:
        for answer in (
            repository.get_user("email", text),
            repository.get_user("phone", text.replace("24601", "")),
            repository.get_user_info("username", text),
            repository.get_order_by_id(text),
            repository.get_customer_orders(text),
            repository.cancel_order(text),
            repository.update_contact(text, email="a@b.example"),
            repository.update_contact("2837622", email=text),
        ):
            assert isinstance(answer, Refusal)
            assert text not in answer.text
    with database.transaction(ana) as repository:
        assert repository.get_user_info("username", "priya123") == (PRIYA, (HEADPHONES, SPEAKER))
    assert len(database.audit()) == 1 + 8 + 1


def test_an_order_in_processing_is_cancelled_once(database: Desk, ana: Actor) -> None:
    with database.transaction(ana) as repository:
        order = repository.cancel_order("28164")
        assert isinstance(order, Order)
        assert order.status is OrderStatus.CANCELLED
    assert last(database) == ("cancel_order", "order:28164", "cancelled", "was Processing")
    with database.transaction(ana) as repository:
        again = repository.cancel_order("28164")
    assert again == Refusal(code="not_cancellable", text="Order 28164 is already Cancelled. Nothing was changed.")
    assert last(database) == ("cancel_order", "order:28164", "refused", "not_cancellable: Cancelled")


@pytest.mark.parametrize(("order_id", "status"), [("24601", "Shipped"), ("86420", "Delivered")])
def test_an_order_on_its_way_is_not_cancelled_and_nothing_changes(
    database: Desk, ana: Actor, order_id: str, status: str
) -> None:
    with database.transaction(ana) as repository:
        before = repository.get_order_by_id(order_id)
        refusal = repository.cancel_order(order_id)
        assert repository.get_order_by_id(order_id) == before
    assert refusal == Refusal(
        code="not_cancellable",
        text=f"Order {order_id} is {status}; only orders that are Processing can be cancelled. Nothing was changed.",
    )


def test_what_an_exception_interrupts_is_not_kept(database: Desk, ana: Actor) -> None:
    def interrupted() -> None:
        with database.transaction(ana) as repository:
            repository.cancel_order("28164")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    with database.transaction(ana) as repository:
        assert repository.get_order_by_id("28164") == HEADPHONES
    assert [entry.action for entry in database.audit()] == ["seed", "get_order_by_id"]


def test_new_contacts_replace_the_old_ones_and_find_the_customer(database: Desk, ana: Actor) -> None:
    with database.transaction(ana) as repository:
        change = repository.update_contact("2837622", email=" Priya.Patel@Example.com", phone="+44 20 7946 0018")
    assert isinstance(change, ContactChange)
    assert change.changed == {
        "email": ("priya@candy.com", "Priya.Patel@Example.com"),
        "phone": ("987-654-3210", "+44 20 7946 0018"),
    }
    assert last(database) == (
        *("update_contact", "customer:2837622", "changed"),
        "email p…@candy.com to p…@example.com, phone …10 (10 digits) to …18 (12 digits)",
    )
    with database.transaction(ana) as repository:
        assert repository.get_user("email", "priya.patel@example.com") == change.customer
        assert repository.get_user("phone", "+442079460018") == change.customer
        assert isinstance(repository.get_user("email", "priya@candy.com"), Refusal)


def test_one_contact_can_be_changed_and_the_other_stays(database: Desk, ana: Actor) -> None:
    with database.transaction(ana) as repository:
        change = repository.update_contact("2837622", phone="(987) 654-3210")
    assert isinstance(change, ContactChange)
    assert change.changed == {"phone": ("987-654-3210", "(987) 654-3210")}  # the same number, spelt anew
    assert change.customer.email == "priya@candy.com"


def test_what_is_so_already_is_not_changed(database: Desk, ana: Actor) -> None:
    with database.transaction(ana) as repository:
        change = repository.update_contact("2837622", email="priya@candy.com", phone="987-654-3210")
    assert change == ContactChange(customer=PRIYA, changed={})
    assert last(database) == ("update_contact", "customer:2837622", "unchanged", "email, phone")


@pytest.mark.parametrize(
    ("email", "phone", "code", "text"),
    [
        ("John@Gmail.com", None, "email_taken", "That e-mail address belongs to another customer."),
        ("new@example.com", "123 456 7890", "phone_taken", "That phone number belongs to another customer."),
        ("new@example", None, "email_invalid", "The part of an e-mail address after the @ must be a domain such as"),
        ("new@example.com", "12", "phone_invalid", "A phone number has 7 to 15 digits."),
        (None, None, "nothing_asked", "Give a new e-mail address, phone number, or both."),
    ],
)
def test_a_change_that_cannot_be_is_refused_as_a_whole(
    database: Desk, ana: Actor, email: str | None, phone: str | None, code: str, text: str
) -> None:
    with database.transaction(ana) as repository:
        refusal = repository.update_contact("2837622", email=email, phone=phone)
        assert isinstance(refusal, Refusal)
        assert refusal.code == code
        assert refusal.text.startswith(text)
        assert refusal.text.endswith(" Nothing was changed.")
        assert repository.get_user("username", "priya123") == PRIYA
    entry = database.audit(subject="customer:2837622")[0]
    assert (entry.action, entry.outcome, entry.detail) == ("update_contact", "refused", code)


def test_the_audit_holds_no_whole_contact_and_nothing_of_what_was_typed_in_error(database: Desk, ana: Actor) -> None:
    with database.transaction(ana) as repository:
        repository.get_user("email", "hunter2 is my password")
        repository.get_user("username", "correct horse battery staple")
        repository.get_order_by_id("4111111111111111")
        repository.update_contact("2837622", email="priya@new.example", phone="+1 555 0100 200")
        repository.deny("cancel_order")
    written = repr(database.audit())
    for secret in ("hunter2", "horse", "4111", "priya@", "5550100200", "555 0100", "3210"):
        assert secret not in written
    assert last(database) == ("cancel_order", "desk", "denied", "")


def test_the_audit_gives_the_newest_lines_in_their_order(database: Desk, ana: Actor) -> None:
    with database.transaction(ana) as repository:
        for number in range(5):
            repository.get_order_by_id(f"{number}")
    assert [entry.subject for entry in database.audit(limit=3)] == ["order:2", "order:3", "order:4"]
    assert [entry.seq for entry in database.audit()] == sorted({entry.seq for entry in database.audit()})
