"""Money, statuses, and the table of what can be cancelled."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnkeeper.desk.domain import CANCELLING, Order, OrderStatus, cents, money, refusal_to_cancel
from turnkeeper.desk.seed import lesson


def order(status: OrderStatus) -> Order:
    return Order(
        id="24601",
        customer_id="1213210",
        product="Wireless Headphones",
        quantity=3,
        price=Decimal("79.99"),
        status=status,
    )


def test_every_status_has_its_row_in_the_table_of_cancelling() -> None:
    assert set(CANCELLING) == set(OrderStatus)
    assert {status for status, rule in CANCELLING.items() if rule.becomes} == {OrderStatus.PROCESSING}


@pytest.mark.parametrize(
    ("status", "text"),
    [
        (
            OrderStatus.SHIPPED,
            "Order 24601 is Shipped; only orders that are Processing can be cancelled. Nothing was changed.",
        ),
        (
            OrderStatus.DELIVERED,
            "Order 24601 is Delivered; only orders that are Processing can be cancelled. Nothing was changed.",
        ),
        (OrderStatus.CANCELLED, "Order 24601 is already Cancelled. Nothing was changed."),
    ],
)
def test_a_refusal_names_the_order_and_the_reason(status: OrderStatus, text: str) -> None:
    refusal = refusal_to_cancel(order(status))
    assert refusal is not None
    assert (refusal.code, refusal.text) == ("not_cancellable", text)


def test_an_order_in_processing_is_not_refused() -> None:
    assert refusal_to_cancel(order(OrderStatus.PROCESSING)) is None


def test_a_total_is_exact() -> None:
    assert order(OrderStatus.SHIPPED).total == Decimal("239.97")


@pytest.mark.parametrize(
    ("written", "amount"),
    [
        ("49.99", "49.99"),
        (Decimal("79.9"), "79.90"),
        (5, "5.00"),
        (" 1.5 ", "1.50"),
        ("-0", "0.00"),
        ("４９.９９", "49.99"),
    ],
)
def test_money_is_read_exactly_and_with_two_places(written: object, amount: str) -> None:
    assert str(money(written)) == amount


@pytest.mark.parametrize(
    "written", [49.99, True, None, "", "a lot", "NaN", "Infinity", "-0.01", "0.001", "1e9", "1e999999", [], "49,99"]
)
def test_what_is_no_exact_amount_is_refused(written: object) -> None:
    with pytest.raises(ValueError, match=r"amount of money"):
        money(written)


@given(st.integers(min_value=0, max_value=10**11 - 1))
def test_cents_and_money_are_each_others_inverse(whole: int) -> None:
    amount = Decimal(whole).scaleb(-2)
    assert cents(amount) == whole
    assert money(str(amount)) == amount


def test_the_lesson_has_ten_customers_and_thirteen_orders_of_theirs() -> None:
    customers, orders = lesson()
    assert len(customers) == len({one.id for one in customers}) == 10
    assert len(orders) == len({one.id for one in orders}) == 13
    assert {one.customer_id for one in orders} <= {one.id for one in customers}


def test_the_price_that_the_lesson_has_as_text_is_read_like_the_others() -> None:
    prices = {one.id: one.price for one in lesson()[1]}
    assert prices["97531"] == Decimal("49.99")
    assert sum(prices.values()) == Decimal("1009.87")
