"""`turnkeeper desk` as a customer: who they are is proven beside the conversation, and they see their own orders."""

from __future__ import annotations

import re
import sqlite3
from pathlib import Path

import pytest

from tests.cli.conftest import Open, Run
from tests.cli.screens import Screen
from tests.desk.test_couriers import Smtp, server

__all__ = ("server",)

DATABASE = ".local/share/turnkeeper/desk.db"


def value(home: Path, query: str) -> str:
    connection = sqlite3.connect(home / DATABASE)
    try:
        [(found,)] = connection.execute(query).fetchall()
    finally:
        connection.close()
    return str(found)


def status(home: Path, order: str) -> str:
    return value(home, f"select status from desk_orders where id = '{int(order)}'")


def code_in(shown: str) -> str:
    found: list[str] = re.findall(r"\b(\d{6}) is your TechNova code", " ".join(shown.split()))
    return found[-1]


def holds(text: str, code: str) -> bool:
    """Whether the code is in the text, and not six digits of a longer number or hash."""
    return re.search(rf"(?<![0-9a-f]){code}(?![0-9a-f])", text) is not None


def enter(chat: Screen) -> str:
    """Type the last code that was shown into the form, and wait for the next message's prompt."""
    chat.type(code_in(chat.shown()) + "\r")
    return chat.prompt()


def test_from_stdin_a_stranger_sees_nothing_and_a_code_is_sent(run: Run, home: Path) -> None:
    done = run("desk", input="Can you look up my orders? My email is john@gmail.com")
    assert done.exit_code == 0
    assert "Smartphone" not in done.stdout + done.stderr
    assert "e-mail to john@gmail.com: " in done.stderr
    assert "the code is entered at a terminal: turnkeeper desk" in done.stderr
    assert not holds((home / DATABASE).read_bytes().decode("latin-1"), code_in(done.stderr))


def test_where_there_is_no_account_the_customer_is_told_the_same(run: Run) -> None:
    answers = [
        run("desk", input=f"My email is {name}, what did I order?") for name in ("john@gmail.com", "x@y.example")
    ]
    assert answers[0].stdout == answers[1].stdout
    assert [("✉" in answer.stderr) for answer in answers] == [True, False]


def test_another_order_is_not_cancelled_by_knowing_its_number(run: Run, home: Path) -> None:
    done = run("desk", input="Please cancel order 47652")
    assert (done.exit_code, "e-mail address" in done.stdout) == (0, True)
    assert status(home, "47652") == "Processing"


def test_with_a_mail_server_the_code_is_sent_and_not_shown(
    run: Run, server: Smtp, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TURNKEEPER_SMTP", f"smtp+plain://127.0.0.1:{server.port}?from=desk@technova.example")
    done = run("desk", input="My username is priya123, what did I order?")
    ((sender, to, raw),) = server.taken
    assert (sender, to) == ("desk@technova.example", ["priya@candy.com"])
    assert code_in(raw.decode()) not in done.stdout + done.stderr
    assert "priya@candy.com" not in done.stdout + done.stderr


def test_four_eyes_are_the_staffs(run: Run, home: Path) -> None:
    for option in (["--four-eyes"], ["--approve-above", "5"]):
        done = run("desk", *option, input="hello")
        assert (done.exit_code, "add --as staff" in done.stderr) == (2, True)
    assert run("desk", "--as", "customer", input="x").exit_code == 2
    assert not (home / DATABASE).exists()


def test_the_customers_demo_is_played_with_its_code(run: Run) -> None:
    done = run("desk", "--demo")
    assert done.exit_code == 0
    lines = done.stdout.splitlines()
    assert [line for line in lines if "in the database:" in line] == [
        "order 13579 in the database: 2 x Smartphone Case, 19.99 each, Processing",
        "order 13579 in the database: 2 x Smartphone Case, 19.99 each, Cancelled",
    ]
    assert "(the code, in the form: Thank you, that is confirmed.)" in lines
    asked = [line.split("(")[0] for line in lines if line.startswith("  · ")]
    assert asked == [f"  · {name}" for name in ("send_code", "get_my_orders", *("get_my_order", "cancel_my_order") * 2)]


def test_at_a_terminal_the_code_has_a_prompt_of_its_own_and_the_conversation_goes_on(screen: Open, home: Path) -> None:
    chat = screen("desk", columns=200)
    assert "TechNova Desk: the practice model" in chat.prompt()
    asked = chat.say("Пожалуйста, отмените заказ 13579, моя почта john@gmail.com")
    assert "Code (empty: later):" not in asked
    chat.type("000000\r" if code_in(chat.shown()) != "000000" else "000001\r")
    assert "That code doesn't work." in chat.prompt()
    assert "Thank you, that is confirmed." in enter(chat)
    assert status(home, "13579") == "Cancelled"
    assert "13579" in chat.shown()
    history = (home / ".local/state/turnkeeper/history").read_text() if (home / ".local/state").exists() else ""
    assert code_in(chat.shown()) not in history
    chat.type("\x04")
    assert chat.ended() == 0


def test_a_code_that_is_typed_as_a_message_is_taken_and_kept_from_the_model(screen: Open, home: Path) -> None:
    chat = screen("desk", "--conversation", "c-1", columns=200)
    chat.prompt()
    chat.say("Please cancel order 13579, my email is john@gmail.com")
    chat.type("\r")
    chat.prompt()
    code = code_in(chat.shown())
    shown = chat.say(f"it is {code[:3]} {code[3:]}")
    assert "Thank you, that is confirmed." in shown
    assert status(home, "13579") == "Cancelled"
    kept = value(home, "select group_concat(payload) from turnkeeper_events where conversation_id = 'c-1'")
    assert "✓" in kept
    assert not holds(kept, code)
    assert f"{code[:3]} {code[3:]}" not in kept


def test_a_new_contact_is_confirmed_on_the_old_one_and_verified_on_the_new_one(screen: Open, home: Path) -> None:
    chat = screen("desk", columns=200)
    chat.prompt()
    chat.say("My email is john@gmail.com, show my orders")
    enter(chat)
    card = chat.say("Change my email to new@john.example")
    assert "This is to be confirmed by you:" in card
    assert 'email = "new@john.example"' in card
    assert "e-mail to john@gmail.com" in card
    asked = enter(chat)
    assert "e-mail to new@john.example" in asked
    done = enter(chat)
    assert "the new contact is confirmed and in use" in done
    assert value(home, "select email from desk_customers where id = '1213210'") == "new@john.example"
    chat.type("\x04")
    assert chat.ended() == 0


def test_what_the_customer_does_not_confirm_is_not_done(screen: Open, home: Path) -> None:
    chat = screen("desk", columns=200)
    chat.prompt()
    chat.say("My email is john@gmail.com, show my orders")
    enter(chat)
    chat.say("Change my email to new@john.example")
    chat.type("\r")
    assert "a person refused this call. Reason: the customer did not confirm it" in chat.prompt()
    assert value(home, "select email from desk_customers where id = '1213210'") == "john@gmail.com"


def test_a_customer_whose_call_waits_for_the_staff_is_told_no_command_of_theirs(screen: Open, home: Path) -> None:
    chat = screen("desk", columns=200)
    chat.prompt()
    chat.say("Please cancel order 47652, my email is megana@gmail.com")
    assert "A member of staff decides; /resume goes on then." in enter(chat)
    said = chat.say("hurry up")
    assert "turnkeeper: the message was not sent: a call waits for a decision first; then /resume goes on" in said
    assert not {"approvals", "when_busy"} & set(re.findall(r"\w+", chat.shown()))
    assert status(home, "47652") == "Processing"
