"""How contacts compare, and what a new one must look like."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnkeeper.desk.contact import checked_email, checked_phone, contact_key, identifier, masked
from turnkeeper.desk.domain import ContactKind


@pytest.mark.parametrize(
    ("kind", "one", "other"),
    [
        ("email", "priya@candy.com", "  PRIYA@Candy.com\n"),
        ("email", "priya@candy.com", "ｐｒｉｙａ＠candy.com"),
        ("email", "priya@candy.com", "priya@candy.com\u200b"),
        ("email", "дарья@почта.рф", "ДАРЬЯ@ПОЧТА.РФ"),
        ("phone", "123-456-7890", "(123) 456 7890"),
        ("phone", "123-456-7890", "１２３４５６７８９０"),
        ("phone", "123-456-7890", "١٢٣-٤٥٦-٧٨٩٠"),
        ("username", "priya123", "Priya123"),
        ("username", "ΣΊΣΥΦΟΣ", "σίσυφος"),
        ("username", "Amélie", "AME\u0301LIE"),
        ("username", "美玲", " 美玲 "),
    ],
)
def test_two_spellings_of_one_contact_have_one_key(kind: ContactKind, one: str, other: str) -> None:
    assert contact_key(kind, one) == contact_key(kind, other) is not None


@pytest.mark.parametrize(
    ("kind", "one", "other"),
    [
        ("email", "john@gmail.com", "john@gmail.co"),
        ("email", "john@gmail.com", "jоhn@gmail.com"),  # a Cyrillic о
        ("phone", "123-456-7890", "+1 123-456-7890"),
        ("username", "johndoe", "john doe"),
    ],
)
def test_different_contacts_have_different_keys(kind: ContactKind, one: str, other: str) -> None:
    assert contact_key(kind, one) != contact_key(kind, other)


@pytest.mark.parametrize("text", ["", "  ", "\ud800", "a\0b", "a\nb", "\u200b"])
def test_what_nobody_could_be_called_has_no_key(text: str) -> None:
    assert contact_key("email", text) is None
    assert contact_key("username", text) is None


def test_a_phone_without_digits_has_no_key() -> None:
    assert contact_key("phone", "call me maybe ☎️") is None


@given(st.text(), st.sampled_from(["email", "phone", "username"]))
def test_a_key_is_its_own_key(text: str, kind: ContactKind) -> None:
    key = contact_key(kind, text)
    assert key is None or contact_key(kind, key) == key


@pytest.mark.parametrize(
    ("written", "key"),
    [
        (" 24601 ", "24601"),
        ("#24601", "24601"),
        ("２４６０１", "24601"),
        ("\u200e24601\u200f", "24601"),
        ("", None),
        ("#", None),
        ("2\0", None),
        ("\ud83d", None),
    ],
)
def test_an_id_is_read_as_people_write_it(written: str, key: str | None) -> None:
    assert identifier(written) == key


@pytest.mark.parametrize(
    "address",
    [
        "john@gmail.com",
        "first.last+tag@mail.example.co.uk",
        "o'brien@example.ie",
        "дарья@почта.рф",
        "用户@例子.广告",
        "अजय@डाटा.भारत",
        "x@a-b.example",
        "a" * 64 + "@example.com",
    ],
)
def test_an_address_in_any_script_is_taken(address: str) -> None:
    assert checked_email(f"  {address} ") == address


@pytest.mark.parametrize(
    "address",
    [
        "",
        "john",
        "@gmail.com",
        "john@",
        "john@gmail",
        "john@@gmail.com",
        "john@gmail..com",
        ".john@gmail.com",
        "john.@gmail.com",
        "jo..hn@gmail.com",
        "john@-gmail.com",
        "john@gmail.com.",
        "john@127.0.0.1",
        "john doe@gmail.com",
        "john@gmail.com, eve@evil.example",
        "John <john@gmail.com>",
        "john@gmail.com\r\nBcc: eve@evil.example",
        "john\u202e@gmail.com",
        "john\u200b@gmail.com",
        "john\0@gmail.com",
        "john\ud800@gmail.com",
        "john@gma_il.com",
        "a" * 65 + "@example.com",
        "a@" + "b" * 64 + ".com",
        "a@" + ".".join(["b" * 60] * 5) + ".com",
    ],
)
def test_what_is_no_address_is_refused_with_a_sentence(address: str) -> None:
    with pytest.raises(
        ValueError, match=r"^[A-Z].+ e-mail address .+\.$|^That e-mail address is too long\.$|^An e-mail"
    ):
        checked_email(address)


@pytest.mark.parametrize(
    ("written", "number"),
    [
        ("555-123-4567", "555-123-4567"),
        ("  +49 (0)30  901820 ", "+49 (0)30 901820"),
        ("030/901820", "030/901820"),
        ("５５５１２３４５６７", "5551234567"),
    ],
)
def test_a_phone_number_is_kept_as_written_but_trimmed(written: str, number: str) -> None:
    assert checked_phone(written) == number


@pytest.mark.parametrize(
    "number",
    [
        "",
        "123456",
        "1" * 16,
        "555-123-4567 ext. 2",
        "++49 30 901820",
        "49+30901820",
        "5551234567\0",
        "1" * 7 + "-" * 60,
    ],
)
def test_what_is_no_phone_number_is_refused(number: str) -> None:
    with pytest.raises(ValueError, match="phone number"):
        checked_phone(number)


def test_a_very_long_text_is_judged_quickly() -> None:
    """A pattern that backtracks would still be at it; this is a matter of milliseconds."""
    long = "a." * 500_000
    for text in (long, f"{long}@example.com", f"a@{long}com"):
        with pytest.raises(ValueError, match="e-mail address"):
            checked_email(text)
    with pytest.raises(ValueError, match="phone number"):
        checked_phone("1 " * 500_000)


@pytest.mark.parametrize(
    ("kind", "written", "shown"),
    [
        ("email", "Priya@candy.com", "p…@candy.com"),
        ("phone", "987-654-3210", "…10 (10 digits)"),
        ("phone", "1234", "(4 digits)"),
        ("username", "priya123", "p… (8 characters)"),
        ("email", "my password is hunter2", "(22 characters)"),
        ("email", "p@ss word", "(9 characters)"),
        ("username", "\ud800", "(1 characters)"),
    ],
)
def test_a_masked_contact_can_be_recognised_but_not_used(kind: ContactKind, written: str, shown: str) -> None:
    assert masked(kind, written) == shown


@given(st.text(min_size=8), st.sampled_from(["email", "phone", "username"]))
def test_a_masked_contact_is_short_and_can_be_stored(text: str, kind: ContactKind) -> None:
    assert len(masked(kind, text)) <= 100
