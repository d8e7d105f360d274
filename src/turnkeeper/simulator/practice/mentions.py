"""What a message names: e-mail addresses, phone numbers, usernames, order and customer numbers.

Every mention keeps where it stands, so that the words around it can say what it is for ("from", "to", "my … is").
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from turnkeeper.simulator.practice.phrasebook import Phrasebook
from turnkeeper.simulator.practice.words import LETTER, folded, normal, spaced

__all__ = ("ORDER_MASK", "Contact", "Message", "read_message")

MOST_ORDERS = 12
"""Order numbers taken from one message; a longer list is no question that a person asks."""

EMAIL = re.compile(
    rf"(?<!{LETTER}){LETTER}(?:{LETTER}|[.+%'&-]){{0,63}}@(?:{LETTER}|-){{1,63}}(?:\.(?:{LETTER}|-){{1,63}}){{1,8}}"
)
DATE = re.compile(r"(?<!\d)\d{4}-\d{2}-\d{2}(?!\d)")
PHONE = re.compile(rf"(?<![\d.])(?<!{LETTER})(?:\+ ?)?\(?\d(?:[ ().\-/]{{0,2}}\d){{6,14}}(?!\d)(?!{LETTER})")
NUMBER = re.compile(rf"(?<![\d.])(?<!{LETTER})(\d{{5,7}})(?!\d|\.\d|,\d{{1,2}}(?!\d))(?!{LETTER})")
HASHED = re.compile(r"#(\d{1,12})(?!\d)")
PLAIN_NAME = re.compile(r"[\s:=\"'(@-]{0,4}([a-z0-9][a-z0-9._-]{2,31})")
NAME_WITH_DIGIT = re.compile(r"[\s:=\"'(@-]{0,4}([a-z][a-z._-]{1,30}\d[a-z0-9._-]{0,20})(?![@\w])")
LABELLED = re.compile(
    rf"[\s:=.#(\"-]{{0,4}}(?:(?:no|nr|n°|#)[\s.:#-]{{0,2}})?(\d{{3,12}})(?!\)?[ .-]?\d|,\d{{1,2}}(?!\d))(?!{LETTER})"
)
ALONE = re.compile(r"@?([A-Za-z][A-Za-z0-9._-]{2,31})")
NEARBY = 60
ORDER_MASK = "\x01"


@dataclass(frozen=True, slots=True)
class Contact:
    """One e-mail address, phone number or username: `use` is `new`, `old`, or empty when the words don't say."""

    kind: str
    value: str
    use: str = ""


@dataclass(frozen=True, slots=True)
class Message:
    """A user's message, read: its text, folded and masked as well and what it names.

    `masked` is the folded text with every mention blanked out, for the patterns of intents (orders with `ORDER_MASK`,
    in the sequence of `numbers`); `orders` are those numbers once each; `alone` is the single word that the message
    consists of, if it does.
    """

    text: str
    folded: str
    masked: str
    contacts: tuple[Contact, ...] = ()
    orders: tuple[str, ...] = ()
    numbers: tuple[str, ...] = ()
    customer: str | None = None
    alone: str | None = None

    @property
    def names_something(self) -> bool:
        """Whether any contact, order or customer is named."""
        return bool(self.contacts or self.orders or self.customer)


Spans = dict[tuple[int, int], Contact]
Numbers = dict[tuple[int, int], str]


def read_message(book: Phrasebook, raw: str) -> Message:
    """Read one message; labels of all languages are known at once, since people mix them."""
    text = normal(raw)
    low = folded(text)
    contacts: Spans = {found.span(): Contact("email", found[0]) for found in EMAIL.finditer(text)}
    customers = _labelled(book, "customer", low, list(contacts))
    orders = _labelled(book, "order", low, [*contacts, *customers])
    _phones(book, text, low, contacts, {**customers, **orders})
    _usernames(book, text, low, contacts)
    _bare_numbers(low, contacts, customers, orders)
    everything = [*contacts, *customers, *orders]
    listed = tuple(
        Contact(contact.kind, contact.value, _use(book, low, start, contacts))
        for (start, _), contact in sorted(contacts.items(), key=lambda item: item[0])
    )
    alone = ALONE.fullmatch(text.strip(" .!\"'"))
    return Message(
        text=text,
        folded=low,
        masked=spaced(_masked(low, {**dict.fromkeys(everything, "\x00"), **dict.fromkeys(orders, ORDER_MASK)})),
        numbers=tuple(orders[span] for span in sorted(orders)),
        contacts=listed,
        orders=_in_order(orders)[:MOST_ORDERS],
        customer=next(iter(_in_order(customers)), None),
        alone=alone[1] if alone and not everything else None,
    )


def _phones(book: Phrasebook, text: str, low: str, contacts: Spans, numbers: Numbers) -> None:
    labels = [language.labels["phone"] for language in book.languages.values() if "phone" in language.labels]
    labelled = any(label.search(low) for label in labels)
    for found in PHONE.finditer(text):
        if _free(found.span(), [*contacts, *numbers]) and _is_phone(found[0], labelled=labelled):
            contacts[found.span()] = Contact("phone", _phone(found[0]))


def _is_phone(written: str, *, labelled: bool) -> bool:
    groups = re.findall(r"\d+", written)
    digits = sum(map(len, groups))
    if written.startswith("+"):
        return digits >= 8
    if DATE.fullmatch(written) or (len(groups) == 1 and digits < 9):
        return False
    return labelled or not all(len(group) == 5 for group in groups)


def _phone(written: str) -> str:
    """A bare ten-digit number in the usual groups; anything else as it was written."""
    digits = re.sub(r"\D", "", written)
    if len(digits) == 10 and not written.startswith("+"):
        return f"{digits[:3]}-{digits[3:6]}-{digits[6:]}"
    return written.strip()


def _usernames(book: Phrasebook, text: str, low: str, contacts: Spans) -> None:
    """Names after "username", and after "I'm" those that hold a digit, as no word does."""
    plain_words = frozenset[str]().union(*(language.words for language in book.languages.values()))
    for label, shape in (("username", PLAIN_NAME), ("myself", NAME_WITH_DIGIT)):
        for found in _after(book, label, low, shape):
            value = text[slice(*found.span(1))].rstrip(".-_")
            span = (found.start(1), found.start(1) + len(value))
            if folded(value) not in plain_words and _free(span, contacts):
                contacts[span] = Contact("username", value)


def _after(book: Phrasebook, label: str, low: str, shape: re.Pattern[str]) -> Iterable[re.Match[str]]:
    """Every value of that shape right after a label, in any language."""
    for language in book.languages.values():
        pattern = language.labels.get(label)
        for before in pattern.finditer(low) if pattern else ():
            found = shape.match(low, before.end())
            if found:
                yield found


def _labelled(book: Phrasebook, label: str, low: str, taken: Iterable[tuple[int, int]]) -> Numbers:
    taken = tuple(taken)
    return {found.span(1): found[1] for found in _after(book, label, low, LABELLED) if _free(found.span(1), taken)}


def _bare_numbers(low: str, contacts: Spans, customers: Numbers, orders: Numbers) -> None:
    """Numbers that nothing labels: seven digits are a customer's, five, six, or any after `#` are an order's."""
    for number in (*NUMBER.finditer(low), *HASHED.finditer(low)):
        if _free(number.span(1), [*contacts, *customers, *orders]):
            (customers if len(number[1]) == 7 else orders)[number.span(1)] = number[1]


def _use(book: Phrasebook, low: str, start: int, contacts: Spans) -> str:
    """Whether the words right before a value call it the new one or the one on file."""
    earlier = max((end for _, end in contacts if end <= start), default=0)
    before = low[max(earlier, start - NEARBY) : start].rstrip(" :\"'(-=<")
    best, use = 0, ""
    for language in book.languages.values():
        for name in ("old", "new"):
            label = language.labels.get(name)
            for found in label.finditer(before) if label else ():
                if found.end() == len(before) and len(found[0]) > best:
                    best, use = len(found[0]), name
    return use


def _free(span: tuple[int, int], taken: Iterable[tuple[int, int]]) -> bool:
    return all(span[1] <= start or span[0] >= end for start, end in taken)


def _masked(low: str, masks: Mapping[tuple[int, int], str]) -> str:
    chars = list(low)
    for (start, end), mask in masks.items():
        chars[start:end] = mask * (end - start)
    return "".join(chars)


def _in_order(found: Numbers) -> tuple[str, ...]:
    return tuple(dict.fromkeys(found[span] for span in sorted(found)))
