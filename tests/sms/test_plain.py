"""What a phone shows of what a model writes."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from turnkeeper import sms


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("Your order has **shipped**!", "Your order has shipped!"),
        ("# Order 24601\n\n* shipped\n+ paid\n- soon", "Order 24601\n\n- shipped\n- paid\n- soon"),
        ("It is _very_ *nice*, ***really***, __yes__.", "It is very nice, really, yes."),
        ("See [your order](https://shop.example/o/1) now", "See your order: https://shop.example/o/1 now"),
        ("[https://a.example](https://a.example)", "https://a.example"),
        ("![logo](https://a.example/x.png) hi", "logo https://a.example/x.png hi"),
        ("Use `code` and ``a ` b``", "Use code and a ` b"),
        ("```python\nprint(1)\n```\nDone", "print(1)\nDone"),
        ("> quoted\n---\nend", "quoted\n\nend"),
        ("~~old~~ new", "old new"),
        ("5 * 3 * 2 = 30, snake_case_name, 2**10", "5 * 3 * 2 = 30, snake_case_name, 2**10"),
        ("“It’s” – fine…\u00a0ok", '"It\'s" - fine... ok'),
        ("Заказ — «отправлен»…", "Заказ — «отправлен»…"),
        ("订单已发货。**谢谢**", "订单已发货。谢谢"),
        ("a\u202eb\u200b\ufeffc\x1b[31md\x00e", "abc[31mde"),
        ("نعم \u2067שלום\u2069", "نعم שלום"),
        ("👩\u200d👩\u200d👧 می\u200cخواهم", "👩\u200d👩\u200d👧 می\u200cخواهم"),
        ("lone \ud83d here", "lone  here"),
        ("e\u0301", "é"),
        ("a\n\n\n\n\nb  \nc", "a\n\nb\nc"),
        ("\u200b\u2060 \n", ""),
        ("\u200d", ""),
        ("***", ""),
    ],
)
def test_markdown_and_what_is_invisible_are_taken_away(written: str, shown: str) -> None:
    assert sms.plain_text(written) == shown


@given(st.text(max_size=80))
@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_any_text_becomes_one_that_can_be_sent(text: str) -> None:
    shown = sms.plain_text(text)
    shown.encode()
    assert shown == shown.strip()
    assert not any(char in shown for char in "\x00\x1b\u202e\u2066\ufeff")
