"""What a form for codes shows and offers: tries, where a code went, another one; and what stands on a card."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

import turnkeeper as tk
from tests.desk.test_door import KEY, MEGAN, Mailbox, Time
from turnkeeper import desk
from turnkeeper.desk.changing import Changes
from turnkeeper.desk.record import SYSTEM


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture
def records(tmp_path: Path, time: Time) -> Iterator[desk.Desk]:
    with desk.open_database(f"sqlite:///{tmp_path}/desk.db", clock=time) as opened:
        yield opened


@pytest.fixture
def mail() -> Mailbox:
    return Mailbox()


@pytest.fixture
def door(records: desk.Desk, mail: Mailbox) -> Iterator[desk.Door]:
    with desk.Door(records, {"email": mail, "phone": mail}, key=KEY, at_once=True) as opened:
        yield opened


def proven(door: desk.Door, mail: Mailbox, visitor: tk.Principal) -> None:
    door.start_confirmation(visitor, "c-1", "email", "megana@gmail.com")
    assert door.confirm(visitor, "c-1", mail.code).principal == MEGAN


def other(code: str) -> str:
    return f"{(int(code) + 1) % 10**6:06}"


def test_the_form_says_how_many_tries_are_left_and_to_a_stranger_not_where_it_went(
    door: desk.Door, mail: Mailbox
) -> None:
    for contact in ("megana@gmail.com", "nobody@example.com"):
        visitor = door.enter()
        door.start_confirmation(visitor, "c-1", "email", contact)
        left = []
        while (waiting := door.waiting(visitor, "c-1")) is not None:
            left.append((waiting.tries_left, waiting.sent_to))
            done = door.confirm(visitor, "c-1", other(mail.code))
            assert (done.accepted, done.outcome) == (False, "wrong")
        assert left == [(3, ""), (2, ""), (1, "")]


def test_a_proven_customer_is_told_where_a_code_went(door: desk.Door, mail: Mailbox, records: desk.Desk) -> None:
    visitor = door.enter()
    proven(door, mail, visitor)
    door.start_action(visitor, "c-1", "d1")
    waiting = door.waiting(visitor, "c-1")
    assert waiting is not None
    assert waiting.sent_to == "m…@gmail.com"
    assert mail.notices[-1].to == "megana@gmail.com"
    with records.transaction(SYSTEM) as repository:
        Changes(repository).ask(
            MEGAN.id, conversation_id="c-1", email="new@megan.example", phone=None, proven_by="old_contact"
        )
    door.start_new_contact(visitor, "c-1")
    waiting = door.waiting(visitor, "c-1")
    assert waiting is not None
    assert waiting.sent_to == "n…@megan.example"


def test_another_code_goes_to_the_same_contact_and_the_one_before_is_void(door: desk.Door, mail: Mailbox) -> None:
    visitor = door.enter()
    door.start_confirmation(visitor, "c-1", "phone", "666-777-8888")
    door.start_confirmation(visitor, "c-1", "email", "megana@gmail.com")
    first = mail.code
    again = door.again(visitor, "c-1", client="203.0.113.7")
    assert isinstance(again, desk.CodeSent)
    assert [one.to for one in mail.notices[-2:]] == ["megana@gmail.com"] * 2
    assert mail.code != first, "one in a million"
    assert not door.confirm(visitor, "c-1", first).accepted
    assert door.confirm(visitor, "c-1", mail.code).principal == MEGAN


def test_asking_again_tells_nobody_whether_there_is_an_account_and_has_an_end(door: desk.Door, mail: Mailbox) -> None:
    answers = {}
    for contact in ("megana@gmail.com", "nobody@example.com"):
        visitor = door.enter()
        door.start_confirmation(visitor, "c-1", "email", contact)
        answers[contact] = [door.again(visitor, "c-1") for _ in range(6)]
        sixth = answers[contact][5]
        assert isinstance(sixth, desk.Refusal)
        assert sixth.code == "too_many"
    assert answers["megana@gmail.com"] == answers["nobody@example.com"]
    assert len(mail.notices) == 5, "the account's cap, in silence"


def test_without_a_code_there_is_nothing_to_send_again(door: desk.Door, mail: Mailbox, time: Time) -> None:
    visitor = door.enter()
    refused = door.again(visitor, "c-1")
    assert isinstance(refused, desk.Refusal)
    assert refused.code == "no_code"
    door.start_confirmation(visitor, "c-1", "email", "megana@gmail.com")
    assert isinstance(door.again(visitor, "c-2"), desk.Refusal)
    time.now += timedelta(minutes=61)
    assert door.again(visitor, "c-1") == refused
    door.start_confirmation(visitor, "c-1", "email", "megana@gmail.com")
    door.confirm(visitor, "c-1", mail.code)
    assert door.again(visitor, "c-1") == refused, "that code was right"


def test_a_code_for_an_action_can_be_sent_again_for_that_action(door: desk.Door, mail: Mailbox) -> None:
    visitor = door.enter()
    proven(door, mail, visitor)
    door.start_action(visitor, "c-1", "d1")
    assert isinstance(door.again(visitor, "c-1"), desk.CodeSent)
    done = door.confirm(visitor, "c-1", mail.code)
    assert (done.accepted, done.purpose, done.subject) == (True, "act", "d1")


def test_a_message_that_comes_again_with_a_used_code_is_kept_from_the_model_too(
    door: desk.Door, mail: Mailbox, time: Time
) -> None:
    visitor = door.enter()
    door.start_confirmation(visitor, "c-1", "email", "megana@gmail.com")
    assert door.receive(visitor, "c-1", f"it is {mail.code}").principal == MEGAN
    again = door.receive(visitor, "c-1", f"it is {mail.code}")
    assert again.confirmation is not None
    assert (again.is_for_the_model, again.confirmation.outcome, again.principal) == (False, "wrong", MEGAN)
    time.now += timedelta(minutes=11)
    assert door.receive(visitor, "c-1", f"it was {mail.code}").is_for_the_model


@pytest.mark.parametrize(
    ("tool", "arguments", "expected"),
    [
        (
            "cancel_my_order",
            {"order_id": "#13579"},
            desk.Card(
                action="cancel_order",
                facts=(("order", "13579"), ("product", "2 × Smartphone Case"), ("total", "39.98")),
            ),
        ),
        ("cancel_my_order", {"order_id": "99"}, desk.Card(action="cancel_order", facts=(("order", "99"),))),
        (
            "update_my_contact",
            {"email": "john@new.example"},
            desk.Card(action="change_email", facts=(("old", "j…@gmail.com"), ("new", "john@new.example"))),
        ),
        (
            "update_my_contact",
            {"phone": "+49 151 1234567"},
            desk.Card(action="change_phone", facts=(("old", "…90"), ("new", "+49 151 1234567"))),
        ),
        ("get_my_orders", {}, None),
    ],
)
def test_a_card_says_what_the_records_say(
    door: desk.Door, tool: str, arguments: dict[str, str], expected: desk.Card | None
) -> None:
    assert door.card(tool, arguments, tk.Principal("customer", "1213210", "confirmed")) == expected
