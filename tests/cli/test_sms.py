"""`turnkeeper sms`: a phone at the console, and Twilio's webhook as a server."""

from __future__ import annotations

import contextlib
import sqlite3
import threading
import urllib.parse
import urllib.request
from pathlib import Path

import pytest

from tests.cli.conftest import Open, Run, Serve, Start
from turnkeeper.errors import ConfigurationError
from turnkeeper.sms.store import Store
from turnkeeper.testing import TwilioAPI, call, reply
from turnkeeper.testing.services import Answer, Asked


def test_without_a_key_the_console_is_a_phone_that_is_answered(run: Run) -> None:
    done = run("sms", input="Hello!\nWhere are my orders?\n\n")
    assert done.exit_code == 0, done.stderr
    assert done.stdout.startswith("Hello!")
    assert "practice model" in done.stdout
    assert "24601: Wireless Headphones, status: Shipped" in done.stdout
    assert done.stderr.count("practice model answers") == 1


def test_stop_and_start_are_kept_from_one_run_to_the_next(run: Run) -> None:
    stopped = run("sms", input="STOP\nHello!\n")
    assert stopped.stdout == "You get no more messages from us. Write START to get them again.\n"
    assert "opted out" in stopped.stderr
    still = run("sms", input="Hello!\n")
    assert (still.exit_code, still.stdout) == (0, "")
    other = run("sms", "--number", "+4915112345678", input="Спасибо!\n")
    assert "Пожалуйста" in other.stdout
    again = run("sms", input="yes\nHello!\n")
    assert again.stdout.startswith("You get messages from us again.")
    assert "Hello!" in again.stdout


def test_what_the_model_only_writes_is_printed_nowhere(run: Run, serve: Serve) -> None:
    url = serve(
        reply("Secret thoughts.", call("send_text_to_user", {"text": "**Hi** there"})),
        "The pin is 4711.",
        practice=False,
    )
    done = run("sms", "--base-url", url, input="Hello\n")
    assert (done.exit_code, done.stdout) == (0, "Hi there\n")
    assert "4711" not in done.stderr


def test_a_text_moves_nothing_on_the_screen(run: Run, serve: Serve) -> None:
    url = serve(reply(call("send_text_to_user", {"text": "\x1b]0;owned\x07\x1b[31mпривет\u202e"})), "", practice=False)
    done = run("sms", "--base-url", url, input="Hello\n")
    assert done.stdout.endswith("привет\n")
    assert not set(done.stdout) & set("\x1b\x07\u202e")


def test_at_a_terminal_it_says_who_is_the_phone(screen: Open) -> None:
    phone = screen("sms")
    assert "you are +15550100" in phone.prompt()
    assert "You're welcome!" in phone.say("Thanks")
    phone.type("\x04")
    assert phone.ended() == 0


@pytest.mark.parametrize(
    ("arguments", "env", "said"),
    [
        (["--number", "12"], {}, "E.164"),
        (["--serve"], {}, "needs --public-url"),
        (["--serve", "--public-url", "https://x.example/sms"], {}, "TWILIO_ACCOUNT_SID"),
        (["--serve", "--public-url", "http://x.example/sms"], {"TWILIO_FROM": "+15005550006"}, "use https"),
        (
            ["--serve", "--public-url", "https://x/s", "--journal", "memory:"],
            {"TWILIO_FROM": "+15005550006"},
            "forgets",
        ),
    ],
)
def test_what_can_not_work_is_refused(
    run: Run, monkeypatch: pytest.MonkeyPatch, arguments: list[str], env: dict[str, str], said: str
) -> None:
    for name in ("TWILIO_ACCOUNT_SID", "TWILIO_AUTH_TOKEN", "TWILIO_FROM", "TWILIO_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    if env:
        env = {**env, "TWILIO_ACCOUNT_SID": "AC" + "0" * 32, "TWILIO_AUTH_TOKEN": "s3cret-token"}
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    done = run("sms", *arguments, input="Hi\n")
    assert (done.exit_code, done.stdout) == (2, "")
    assert said in done.stderr
    assert "s3cret" not in done.stderr


@pytest.mark.parametrize("given", ["", "\n  \n"])
def test_with_nothing_to_read_it_says_so(run: Run, given: str) -> None:
    done = run("sms", input=given)
    assert (done.exit_code, done.stdout) == (2, "")
    assert "stdin is empty; pipe the phone's texts to it, one a line" in done.stderr


def test_a_file_in_the_home_folder_is_one_file(run: Run, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Conversations and the bot's tables are in the file that `~` stands for; no folder of that name is made."""
    monkeypatch.setenv("HOME", str(home / "me"))
    (home / "me").mkdir()
    done = run("sms", "--journal", "sqlite:///~/sms.db", input="Thanks\n")
    assert (done.exit_code, done.stdout != "") == (0, True)
    with contextlib.closing(sqlite3.connect(home / "me" / "sms.db")) as connection:
        found = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    assert {"sms_received", "turnkeeper_events"} <= found
    assert not (home / "~").exists()


@pytest.mark.parametrize("url", ["postgresl://ana:s3cret@db/x", "sqllite:///x.db", "s3cret", "mysql://ana:s3cret@db/x"])
def test_a_mistyped_database_is_named_clearly(url: str) -> None:
    with pytest.raises(ConfigurationError, match=r"A file is sqlite:///sms\.db") as caught:
        Store(url)
    assert "s3cret" not in str(caught.value)


class Watched(TwilioAPI):
    """Tells when a message was created."""

    def __init__(self) -> None:
        super().__init__()
        self.created = threading.Event()

    def answer(self, asked: Asked) -> Answer:
        said = super().answer(asked)
        if asked.method == "POST":
            self.created.set()
        return said


def test_as_a_server_it_takes_a_signed_message_and_answers_by_the_api(start: Start, home: Path) -> None:
    twilio = Watched()
    public = "https://bot.example/sms"
    with twilio.listen() as api:
        secrets = {"TWILIO_ACCOUNT_SID": twilio.account_sid, "TWILIO_AUTH_TOKEN": twilio.auth_token}
        sender = {"TWILIO_FROM": "+15005550006", "TWILIO_BASE_URL": api}
        server = start("sms", "--serve", "--public-url", public, "--port", "0", **secrets, **sender)
        line = server.stdout.readline().decode()
        assert line.startswith("listening on http://127.0.0.1:"), server.ended()
        form = twilio.form("+4915112345678", "Thanks")
        request = urllib.request.Request(
            f"{line.split()[-1]}/sms", data=urllib.parse.urlencode(form).encode(), headers=twilio.signed(public, form)
        )
        with urllib.request.urlopen(request, timeout=60) as said:
            assert (said.status, said.read()) == (200, b'<?xml version="1.0" encoding="UTF-8"?><Response/>')
        assert twilio.created.wait(timeout=60)
        [sent] = twilio.messages
        assert (sent["to"], sent["body"].split("\n")[0].startswith("You're welcome!")) == ("+4915112345678", True)
        server.command.end()
    assert twilio.complaints == []
