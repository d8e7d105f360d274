"""Codes that customers type into the chat, however they are written: none of them is for the model."""

from __future__ import annotations

import pytest

from tests.attacks.conftest import Mailbox, Stage
from turnkeeper import desk
from turnkeeper.desk.codes import windows_of


@pytest.fixture
def door(stage: Stage) -> desk.Door:
    return stage.door


@pytest.fixture
def mail(stage: Stage) -> Mailbox:
    return stage.mail


def wrong(code: str) -> str:
    return f"{(int(code) + 1) % 10**6:06}"


BESIDE = {
    "after a number": "order 24601 {code}",
    "before a number": "{code} 24601",
    "before a word": "code {code} 2 times",
    "after one digit": "1 {code}",
    "before one digit": "{code}-1",
    "run together": "24601{code}",
    "two of six": "my codes: 111111 {code}",
    "the second of two": "111111, {code}",
    "dot": "{code[0]}{code[1]}{code[2]}.{code[3]}{code[4]}{code[5]}",
    "slash": "{code[0]}{code[1]}{code[2]}/{code[3]}{code[4]}{code[5]}",
    "underscores": "{code[0]}_{code[1]}_{code[2]}_{code[3]}_{code[4]}_{code[5]}",
    "keycaps": "{code[0]}\ufe0f\u20e3{code[1]}\ufe0f\u20e3{code[2]}\ufe0f\u20e3{code[3]}{code[4]}{code[5]}",
    "words": "сначала {code[0]}{code[1]}{code[2]}, потом {code[3]}{code[4]}{code[5]} \ud800",
}


@pytest.mark.parametrize("text", BESIDE.values(), ids=list(BESIDE))
def test_a_code_among_other_things_is_not_for_the_model_and_void(door: desk.Door, mail: Mailbox, text: str) -> None:
    visitor = door.enter()
    door.start_confirmation(visitor, "c-1", "email", "megana@gmail.com")
    received = door.receive(visitor, "c-1", text.format(code=mail.code))
    assert not received.is_for_the_model
    assert received.confirmation is not None
    assert not received.confirmation.accepted
    assert received.confirmation.text.startswith("A code can't be used together with other numbers")
    assert not door.confirm(visitor, "c-1", mail.code).accepted
    door.start_confirmation(visitor, "c-1", "email", "megana@gmail.com")
    assert door.receive(visitor, "c-1", f"{mail.code[:3]}  {mail.code[3:]}").principal.level == "confirmed"


def test_a_code_in_another_conversation_of_the_session_is_not_for_the_model_and_void(
    door: desk.Door, mail: Mailbox
) -> None:
    visitor, other = door.enter(), door.enter()
    door.start_confirmation(visitor, "c-1", "email", "megana@gmail.com")
    assert door.receive(visitor, "c-2", f"my code is {wrong(mail.code)}").is_for_the_model, "nothing waits here"
    assert door.receive(other, "c-1", f"my code is {mail.code}").is_for_the_model, "another session has no such code"
    assert not door.receive(visitor, "c-2", f"my code is {mail.code}").is_for_the_model
    assert door.waiting(visitor, "c-1") is None
    assert not door.confirm(visitor, "c-1", mail.code).accepted
    assert not door.receive(visitor, "c-1", f"my code was {mail.code}").is_for_the_model, "still a code"


def test_other_numbers_cost_no_try_and_many_digits_are_no_guess(door: desk.Door, mail: Mailbox) -> None:
    visitor = door.enter()
    door.start_confirmation(visitor, "c-1", "email", "megana@gmail.com")
    bad = wrong(mail.code)
    for text in (
        f"order 24601 {bad}",
        f"{bad} 24601",
        f"1 {bad}",
        f"{bad}-1",
        "on 12.11.26",
        "+49 151 5550199",
        bad * 2,
    ):
        if mail.code not in windows_of(text):
            assert door.receive(visitor, "c-1", text).is_for_the_model, text
    # thousands in one message are no thousand tries: should the code be among them, it is void
    numbers = [" ".join(f"{number:06}" for number in range(at, at + 1000)) for at in range(0, 3000, 1000)]
    numbers.append(f"{bad} {mail.code}")
    kept = [door.intercept(visitor, "c-1", text) for text in numbers]
    assert all(one is None or not one.accepted for one in kept)
    assert door.waiting(visitor, "c-1") is None
    assert not door.confirm(visitor, "c-1", mail.code).accepted
