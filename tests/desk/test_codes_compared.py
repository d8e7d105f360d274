"""Digits are compared in constant time, whatever was typed and whether there is an account or not."""

from __future__ import annotations

import hmac
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from turnkeeper import desk
from turnkeeper.desk import codes

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)


class Hash(str):
    """A hash that may be compared by `hmac.compare_digest` and in no other way."""

    __slots__ = ()
    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        raise AssertionError("a hash was compared by ==")

    def __ne__(self, other: object) -> bool:
        raise AssertionError("a hash was compared by !=")


@pytest.fixture
def compared(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """What each comparison in constant time found; and no hash can be compared otherwise."""
    found: list[bool] = []
    digest, seal = hmac.compare_digest, codes.Sealer.of

    def compare(one: Any, other: Any) -> bool:
        found.append(digest(str.__str__(one), str.__str__(other)))
        return found[-1]

    monkeypatch.setattr(hmac, "compare_digest", compare)
    monkeypatch.setattr(codes.Sealer, "of", lambda self, code, digits: Hash(seal(self, code, digits)))
    return found


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[tuple[desk.Door, list[str]]]:
    sent: list[str] = []

    class Mailbox:
        def send(self, notice: desk.Notice) -> None:
            sent.append(next(word for word in notice.text.replace(".", " ").split() if codes.digits_of(word)))

    with (
        desk.open_database(f"sqlite:///{tmp_path}/desk.db", clock=lambda: NOW) as records,
        desk.Door(records, {"email": Mailbox()}, key=b"k" * 32, at_once=True) as door,
    ):
        yield door, sent


def test_right_wrong_and_absent_codes_are_all_compared_in_constant_time(
    stage: tuple[desk.Door, list[str]], compared: list[bool]
) -> None:
    door, sent = stage
    visitor = door.enter()
    door.start_confirmation(visitor, "c", "email", "megana@gmail.com")
    wrong = f"{(int(sent[0]) + 1) % 10**6:06}"
    assert not door.confirm(visitor, "c", wrong).accepted
    assert compared == [False]
    assert door.confirm(visitor, "c", sent[0]).accepted
    assert compared == [False, True]

    compared.clear()
    nobody = door.enter()
    door.start_confirmation(nobody, "c", "email", "nobody@gmail.com")
    assert [door.confirm(nobody, "c", digits).accepted for digits in (wrong, "000000")] == [False, False]
    assert compared == [False, False], "a code that was made for no account is compared all the same"
    assert len(sent) == 1


def test_a_code_in_the_chat_is_found_in_constant_time(stage: tuple[desk.Door, list[str]], compared: list[bool]) -> None:
    door, sent = stage
    visitor = door.enter()
    door.start_confirmation(visitor, "c", "email", "megana@gmail.com")
    assert door.intercept(visitor, "c", f"order 24601 {sent[0]}") is not None
    assert compared.count(True) == 1
    assert len(compared) == len(codes.windows_of(f"24601{sent[0]}"))
