"""The customers' door: sessions, codes, what they are bound to, and that nothing tells whether an account exists."""

from __future__ import annotations

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import sqlalchemy as sa

import turnkeeper as tk
from turnkeeper import desk
from turnkeeper.desk import schema
from turnkeeper.desk.changing import Changes
from turnkeeper.desk.codes import digits_of
from turnkeeper.desk.domain import ContactKind
from turnkeeper.desk.record import SYSTEM
from turnkeeper.desk.sessions import Ending
from turnkeeper.errors import ConfigurationError

NOON = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
MEGAN = tk.Principal("customer", "8259147", "confirmed")
KEY = b"a key for tests, 32 bytes long.."


class Time:
    def __init__(self) -> None:
        self.now = NOON

    def __call__(self) -> datetime:
        return self.now

    def go_on(self, **by: float) -> None:
        self.now += timedelta(**by)

    def at(self) -> float:
        return self.now.timestamp()


class Mailbox:
    """A courier that keeps what it carries."""

    def __init__(self) -> None:
        self.notices: list[desk.Notice] = []

    def send(self, notice: desk.Notice) -> None:
        self.notices.append(notice)

    @property
    def code(self) -> str:
        """The code in the last message."""
        return str(re.findall(r"\b\d{6}\b", self.notices[-1].text)[0])


@pytest.fixture
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A SQLite file; what is about two at once, or writes most, is tried on PostgreSQL as well."""
    if getattr(request, "param", "sqlite") == "sqlite":
        return f"sqlite:///{tmp_path}/desk.db"
    return str(request.getfixturevalue("postgres_database"))


BOTH = pytest.mark.parametrize("url", ["sqlite", "postgresql"], indirect=True)


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture
def clock(time: Time) -> Time:
    return time


@pytest.fixture
def mail() -> Mailbox:
    return Mailbox()


@pytest.fixture
def door(database: desk.Desk, mail: Mailbox) -> Iterator[desk.Door]:
    with desk.Door(database, {"email": mail, "phone": mail}, key=KEY, at_once=True) as opened:
        yield opened


def wrong(code: str) -> str:
    return f"{(int(code) + 1) % 10**6:06}"


def test_a_code_to_the_contact_on_file_proves_who_somebody_is(door: desk.Door, mail: Mailbox, time: Time) -> None:
    visitor = door.enter()
    assert door.who(visitor, "c-1", time.at()) == visitor
    asked = door.start_confirmation(visitor, "c-1", "email", " MeganA@gmail.com ")
    assert isinstance(asked, desk.CodeSent)
    assert (asked.purpose, asked.expires_at) == ("identify", NOON + timedelta(minutes=10))
    assert door.who(visitor, "c-1", time.at()) == tk.Principal("customer", visitor.id, "claimed")
    (notice,) = mail.notices
    assert (notice.kind, notice.to) == ("email", "megana@gmail.com")
    assert mail.code not in repr(notice)
    done = door.confirm(visitor, "c-1", f" {mail.code[:3]}-{mail.code[3:]} ")
    assert (done.accepted, done.principal, done.purpose) == (True, MEGAN, "identify")
    assert door.who(visitor, "c-1", time.at()) == MEGAN
    assert door.waiting(visitor, "c-1") is None


@pytest.mark.parametrize(
    ("kind", "value", "to"), [("phone", "+666 777 8888", "666-777-8888"), ("username", "MANDERSON", "")]
)
def test_whichever_contact_is_named_the_code_goes_to_what_is_on_file(
    door: desk.Door, mail: Mailbox, kind: ContactKind, value: str, to: str
) -> None:
    door.start_confirmation(door.enter(), "c-1", kind, value)
    assert mail.notices[-1].to == (to or "megana@gmail.com")


def test_every_answer_is_the_same_where_there_is_no_account(door: desk.Door, mail: Mailbox, time: Time) -> None:
    answers = []
    for value in ("megana@gmail.com", "nobody@gmail.com", "’; DROP TABLE", "\x00\ud800", "我@例子.中国"):
        visitor = door.enter()
        asked = door.start_confirmation(visitor, "c-1", "email", value)
        found: list[object] = [asked, door.waiting(visitor, "c-1"), door.who(visitor, "c-1", time.at()).level]
        for tried in ("000000", "000001", "000002", "000003"):
            done = door.confirm(visitor, "c-1", wrong(mail.code) if tried == mail.code else tried)
            found.append((done.accepted, done.text, done.principal.level, done.purpose, done.subject))
        found.append(door.waiting(visitor, "c-1"))
        answers.append(found)
    assert len(mail.notices) == 1
    assert all(found == answers[0] for found in answers)


@BOTH
def test_three_tries_and_the_right_code_is_worth_nothing(door: desk.Door, mail: Mailbox) -> None:
    visitor = door.enter()
    door.start_confirmation(visitor, "c-1", "email", "megana@gmail.com")
    code = mail.code
    assert not any(door.confirm(visitor, "c-1", wrong(code)).accepted for _ in range(3))
    assert not door.confirm(visitor, "c-1", code).accepted
    door.start_confirmation(visitor, "c-1", "email", "megana@gmail.com")
    assert not door.confirm(visitor, "c-1", wrong(mail.code)).accepted
    assert door.confirm(visitor, "c-1", mail.code).accepted


def test_what_is_no_code_of_six_digits_costs_no_try(door: desk.Door, mail: Mailbox) -> None:
    visitor = door.enter()
    door.start_confirmation(visitor, "c-1", "email", "megana@gmail.com")
    for text in ("", "12345", "1234567", "abcdef", "½23456", "12345６７", "\ud800"):
        assert not door.confirm(visitor, "c-1", text).accepted
    assert door.confirm(visitor, "c-1", mail.code).accepted


@pytest.mark.parametrize(
    ("text", "digits"),
    [
        ("１２３４５６", "123456"),
        ("١٢٣٤٥٦", "123456"),
        ("123 456\n", "123456"),
        ("12\u200b3456", "123456"),
        ("१२३-४५६", "123456"),
    ],
)
def test_a_code_may_be_typed_in_any_digits(text: str, digits: str) -> None:
    assert digits_of(text) == digits


@pytest.mark.parametrize(("minutes", "good"), [(9.99, True), (10, False), (10.02, False)])
def test_a_code_is_good_for_ten_minutes(door: desk.Door, mail: Mailbox, time: Time, minutes: float, good: bool) -> None:
    visitor = door.enter()
    door.start_confirmation(visitor, "c-1", "email", "megana@gmail.com")
    time.go_on(minutes=minutes)
    assert door.confirm(visitor, "c-1", mail.code).accepted is good


def test_a_code_is_for_one_conversation_one_visitor_one_use_and_the_newest_only(door: desk.Door, mail: Mailbox) -> None:
    visitor, other = door.enter(), door.enter()
    door.start_confirmation(visitor, "c-1", "email", "megana@gmail.com")
    first = mail.code
    assert not door.confirm(visitor, "c-2", first).accepted
    assert not door.confirm(other, "c-1", first).accepted
    door.start_confirmation(visitor, "c-1", "email", "megana@gmail.com")
    assert first == mail.code or not door.confirm(visitor, "c-1", first).accepted
    second = mail.code
    assert door.confirm(visitor, "c-1", second).accepted
    assert not door.confirm(visitor, "c-1", second).accepted


@BOTH
def test_of_two_that_enter_a_code_at_once_one_is_accepted(door: desk.Door, mail: Mailbox) -> None:
    visitor = door.enter()
    door.start_confirmation(visitor, "c-1", "email", "megana@gmail.com")
    with ThreadPoolExecutor(4) as pool:
        done = list(pool.map(lambda _: door.confirm(visitor, "c-1", mail.code).accepted, range(4)))
    assert sorted(done) == [False, False, False, True]


@BOTH
def test_codes_are_kept_hashed_with_a_key_and_are_in_no_table(
    database: desk.Desk, door: desk.Door, mail: Mailbox
) -> None:
    visitor = door.enter()
    door.start_confirmation(visitor, "c-1", "email", "megana@gmail.com")
    with database.reading() as repository:
        rows = [
            str(row)
            for table in schema.metadata.sorted_tables
            for row in repository.connection.execute(sa.select(table))
        ]
    assert not [row for row in rows if re.search(rf"(?<![0-9a-f]){mail.code}(?![0-9a-f])", row)]
    with desk.Door(database, {"email": mail}, key=b"another key, also 32 bytes long.", at_once=True) as elsewhere:
        assert not elsewhere.confirm(visitor, "c-1", mail.code).accepted
    assert door.confirm(visitor, "c-1", mail.code).accepted
    with pytest.raises(ConfigurationError, match="at least 16 bytes"):
        desk.Door(database, {}, key=b"short")


@BOTH
def test_there_are_caps_by_contact_by_client_and_by_account(door: desk.Door, mail: Mailbox, time: Time) -> None:
    for value in ("megana@gmail.com", "nobody@gmail.com"):
        asked = [door.start_confirmation(door.enter(), "c", "email", value) for _ in range(6)]
        assert [isinstance(one, desk.CodeSent) for one in asked] == [True] * 5 + [False]
        assert isinstance(asked[-1], desk.Refusal)
        assert asked[-1].code == "too_many"
    assert len(mail.notices) == 5
    assert isinstance(door.start_confirmation(door.enter(), "c", "username", "manderson"), desk.CodeSent)
    assert len(mail.notices) == 5, "the account has had its five, and nobody is told"
    time.go_on(minutes=61)
    door.start_confirmation(door.enter(), "c", "username", "manderson")
    assert len(mail.notices) == 6
    asked = [
        door.start_confirmation(door.enter(), "c", "email", f"{n}@x.example", client="203.0.113.7") for n in range(21)
    ]
    assert [isinstance(one, desk.CodeSent) for one in asked] == [True] * 20 + [False]


def test_an_account_that_is_guessed_at_all_day_is_sent_no_more_codes(
    door: desk.Door, mail: Mailbox, time: Time
) -> None:
    for _ in range(4):
        visitor = door.enter()
        door.start_confirmation(visitor, "c-1", "email", "megana@gmail.com")
        for _ in range(3):
            assert not door.confirm(visitor, "c-1", wrong(mail.code)).accepted
        time.go_on(minutes=61)
    assert len(mail.notices) == 4
    assert isinstance(door.start_confirmation(door.enter(), "c-1", "email", "megana@gmail.com"), desk.CodeSent)
    assert len(mail.notices) == 4
    time.go_on(hours=25)
    door.start_confirmation(door.enter(), "c-1", "email", "megana@gmail.com")
    assert len(mail.notices) == 5


@pytest.mark.parametrize(("minutes", "level"), [(30, "confirmed"), (30.01, "claimed")])
def test_what_was_proven_counts_for_thirty_minutes_of_silence(
    door: desk.Door, mail: Mailbox, time: Time, minutes: float, level: str
) -> None:
    visitor = proven(door, mail)
    time.go_on(minutes=29)
    assert door.seen(visitor) == MEGAN
    time.go_on(minutes=minutes)
    assert door.who(visitor, "c-1", time.at()).level == level
    assert door.seen(visitor).level == level
    assert door.seen(visitor).level == level


def proven(door: desk.Door, mail: Mailbox, conversation_id: str = "c-1") -> tk.Principal:
    visitor = door.enter()
    door.start_confirmation(visitor, conversation_id, "email", "megana@gmail.com")
    assert door.confirm(visitor, conversation_id, mail.code).accepted
    return visitor


@pytest.mark.parametrize("how", ["left", "handed_over", "revoked"])
def test_what_was_proven_does_not_survive_the_sessions_end(
    door: desk.Door, mail: Mailbox, time: Time, how: Ending
) -> None:
    visitor = proven(door, mail)
    door.start_action(visitor, "c-1", "digest")
    door.leave(visitor, how=how)
    assert door.who(visitor, "c-1", time.at()) == visitor
    assert not door.confirm(visitor, "c-1", mail.code).accepted
    asked = door.start_confirmation(visitor, "c-1", "email", "megana@gmail.com")
    assert (isinstance(asked, desk.Refusal), asked.text) == (True, "This session is over. Please begin a new one.")


def test_nobody_becomes_somebody_else_without_leaving(door: desk.Door, mail: Mailbox, time: Time) -> None:
    visitor = proven(door, mail)
    asked = door.start_confirmation(visitor, "c-1", "email", "john@gmail.com")
    assert isinstance(asked, desk.Refusal)
    assert (asked.code, len(mail.notices), door.who(visitor, "c-1", time.at())) == ("already_confirmed", 1, MEGAN)


def test_a_code_for_an_action_gives_a_step_up_for_it_and_no_session(door: desk.Door, mail: Mailbox, time: Time) -> None:
    assert isinstance(door.start_action(door.enter(), "c-1", "d1"), desk.Refusal)
    visitor = proven(door, mail)
    door.start_action(visitor, "c-1", "d1")
    done = door.confirm(visitor, "c-1", mail.code)
    assert (done.purpose, done.subject, done.principal.level) == ("act", "d1", "step_up")
    assert door.who(visitor, "c-1", time.at()) == MEGAN
    door.start_action(visitor, "c-1", "d2")
    time.go_on(minutes=9)
    code = mail.code
    door.leave(visitor)
    assert not door.confirm(visitor, "c-1", code).accepted


@BOTH
def test_a_contact_is_changed_once_the_new_one_is_verified_and_both_are_told(
    database: desk.Desk, door: desk.Door, mail: Mailbox, time: Time
) -> None:
    visitor, elsewhere = proven(door, mail), proven(door, mail, "c-9")
    assert not door.change_waits(visitor, "c-1")
    with database.transaction(SYSTEM) as repository:
        about = {"conversation_id": "c-1", "phone": None}
        Changes(repository).ask("8259147", **about, email="New@Megan.example", proven_by="old_contact")  # type: ignore[arg-type]
    assert door.change_waits(visitor, "c-1")
    assert not door.change_waits(elsewhere, "c-9")
    door.start_new_contact(visitor, "c-1")
    assert mail.notices[-1].to == "New@Megan.example"
    before = door.enter()
    door.start_confirmation(before, "c-2", "email", "megana@gmail.com")
    old_code = mail.code
    door.start_new_contact(visitor, "c-1")
    assert door.confirm(visitor, "c-1", mail.code).accepted
    assert [(one.to, one.subject) for one in mail.notices[-2:]] == [
        ("megana@gmail.com", "Your e-mail address at TechNova was changed"),
        ("New@Megan.example", "Your e-mail address at TechNova"),
    ]
    assert not door.confirm(before, "c-2", old_code).accepted, "a code to the old contact"
    assert door.who(elsewhere, "c-9", time.at()).level == "anonymous", "another session of the account"
    assert door.who(visitor, "c-1", time.at()) == MEGAN
    with database.reading() as repository:
        customer = repository.customer("8259147")
        assert customer is not None
        assert (customer.email, Changes(repository).is_on_hold("8259147")) == ("New@Megan.example", True)
        assert not Changes(repository).is_on_hold("1213210")
    time.go_on(hours=73)
    with database.reading() as repository:
        assert not Changes(repository).is_on_hold("8259147")


def test_a_message_with_the_code_is_a_try_and_not_for_the_model(door: desk.Door, mail: Mailbox) -> None:
    visitor = door.enter()
    assert door.intercept(visitor, "c-1", "123456") is None
    door.start_confirmation(visitor, "c-1", "email", "megana@gmail.com")
    for text in ("hi", "order 47652", "call 555-123-4567", "it costs 1234567", "12345"):
        assert door.intercept(visitor, "c-1", text) is None
    code = mail.code
    tried = door.intercept(visitor, "c-1", f"is it {wrong(code)}?")
    assert tried is not None
    assert not tried.accepted
    done = door.intercept(visitor, "c-1", f"мой код {code[:3]}\u00a0{code[3:]} 🙂")
    assert done is not None
    assert done.accepted


def test_asking_again_with_the_same_id_sends_nothing_again(door: desk.Door, mail: Mailbox) -> None:
    visitor = door.enter()
    asked = [
        door.start_confirmation(visitor, "c-1", "email", "megana@gmail.com", code_id="c-1:toolu_1") for _ in range(2)
    ]
    assert (asked[0] == asked[1], len(mail.notices)) == (True, 1)


@BOTH
def test_what_counts_for_nothing_any_more_is_forgotten(
    database: desk.Desk, door: desk.Door, mail: Mailbox, time: Time
) -> None:
    def rows() -> list[int]:
        with database.reading() as repository:
            counts = [
                sa.select(sa.func.count()).select_from(one) for one in (schema.codes, schema.sends, schema.sessions)
            ]
            return [int(repository.connection.execute(one).scalar_one()) for one in counts]

    visitor = proven(door, mail)
    door.tidy()
    assert rows() == [1, 3, 1]
    time.go_on(days=8)
    door.tidy()
    assert rows() == [0, 0, 1]
    time.go_on(days=23)
    door.seen(door.enter())
    door.tidy()
    assert rows() == [0, 0, 1]
    assert door.who(visitor, "c-1", time.at()) == visitor


def test_the_audit_knows_what_happened_and_no_code(database: desk.Desk, door: desk.Door, mail: Mailbox) -> None:
    visitor = proven(door, mail)
    door.leave(visitor)
    lines = [(line.action, line.subject.partition(":")[0], line.outcome, line.detail) for line in database.audit()[1:]]
    assert lines == [
        ("start_confirmation", "session", "asked", "by email"),
        ("confirm", "customer", "confirmed", "identify"),
        ("leave", "session", "ended", "left"),
    ]
