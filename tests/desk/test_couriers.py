"""Couriers: an SMTP server on this machine that takes what is sent, SMS by a function, the console; and what fails."""

from __future__ import annotations

import email
import email.policy
import logging
import socketserver
import threading
from collections.abc import Iterator
from email.message import EmailMessage
from typing import Any

import pytest

from turnkeeper import desk
from turnkeeper.desk.couriers import Post
from turnkeeper.errors import ConfigurationError

NOTICE = desk.Notice(
    "email", "megana@gmail.com", "Your TechNova code — 验证码", "314159 is your code. Привет 🙂\n.\nEnd"
)


class Smtp(socketserver.ThreadingTCPServer):
    """As much of RFC 5321 as a client needs to hand over a message; `refuses` is a command answered with 550."""

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Talk)
        self.taken: list[tuple[str, list[str], bytes]] = []
        self.refuses = ""

    @property
    def port(self) -> int:
        return int(self.server_address[1])


class _Talk(socketserver.StreamRequestHandler):
    server: Smtp

    def handle(self) -> None:
        self._say("220 here")
        sender, to = "", list[str]()
        while line := self.rfile.readline():
            word = line.decode().strip()
            name = word.split(":")[0].split(" ")[0].upper()
            if name == self.server.refuses:
                self._say("550 no")
            elif name == "DATA":
                self._say("354 go on")
                lines = iter(self.rfile.readline, b".\r\n")
                self.server.taken.append((sender, to, b"".join(one.removeprefix(b".") for one in lines)))
                self._say("250 taken")
            elif name == "QUIT":
                self._say("221 bye")
                return
            else:
                sender = word.partition("<")[2].partition(">")[0] if name == "MAIL" else sender
                to += [word.partition("<")[2].partition(">")[0]] if name == "RCPT" else []
                self._say("250 fine")

    def _say(self, text: str) -> None:
        self.wfile.write(f"{text}\r\n".encode())


@pytest.fixture
def server() -> Iterator[Smtp]:
    with Smtp() as made:
        thread = threading.Thread(target=made.serve_forever, daemon=True)
        thread.start()
        yield made
        made.shutdown()
        thread.join()


def courier(server: Smtp) -> desk.SMTPCourier:
    return desk.SMTPCourier("127.0.0.1", server.port, sender="desk@technova.example", security="none")


def test_mail_arrives_as_it_was_written(server: Smtp) -> None:
    courier(server).send(NOTICE)
    ((sender, to, raw),) = server.taken
    message: EmailMessage = email.message_from_bytes(raw, policy=email.policy.default)
    assert (sender, to) == ("desk@technova.example", ["megana@gmail.com"])
    assert (message["Subject"], message["To"]) == (NOTICE.subject, NOTICE.to)
    assert message["Auto-Submitted"] == "auto-generated"
    assert message.get_content().replace("\r\n", "\n").strip() == NOTICE.text


@pytest.mark.parametrize("to", ["a@b.example\nBcc: thief@evil.example", "a@b.example\r\n.\r\nMAIL FROM:<x>", "a\x00@b"])
def test_an_address_adds_no_header_and_no_command(server: Smtp, to: str) -> None:
    post = Post({"email": courier(server)}, at_once=True)
    post.send(desk.Notice("email", to, "s", "t"))
    assert not [one for _, recipients, _ in server.taken for one in recipients if "evil" in one]
    assert not [raw for _, _, raw in server.taken if b"thief" in raw.lower()]


@pytest.mark.parametrize("refuses", ["MAIL", "RCPT", "DATA"])
def test_what_can_not_be_sent_is_logged_without_its_text(
    server: Smtp, caplog: pytest.LogCaptureFixture, refuses: str
) -> None:
    server.refuses = refuses
    Post({"email": courier(server)}, at_once=True).send(NOTICE)
    assert server.taken == []
    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    assert "a message to a contact of kind email could not be sent (SMTP" in caplog.text
    assert not [one for one in ("314159", "megana") if one in caplog.text]


def test_a_server_that_isnt_there_and_a_kind_without_courier(caplog: pytest.LogCaptureFixture) -> None:
    gone = desk.SMTPCourier("127.0.0.1", 1, sender="x@y.example", security="none", timeout=1)
    Post({"email": gone}, at_once=True).send(NOTICE, desk.Notice("phone", "666-777-8888", "s", "314159"))
    assert "could not be sent (ConnectionRefusedError)" in caplog.text
    assert "there is no courier for a contact of kind phone" in caplog.text
    assert "314159" not in caplog.text


def test_it_will_not_send_in_the_clear_where_the_connection_is_to_be_encrypted(server: Smtp) -> None:
    server.refuses = "STARTTLS"
    post = Post({"email": desk.SMTPCourier("127.0.0.1", server.port, sender="x@y.example")}, at_once=True)
    post.send(NOTICE)
    assert server.taken == []


@pytest.mark.parametrize(
    ("url", "made"),
    [
        (
            "smtp://bot:S3%40t@mail.example:25?from=d@x.example",
            ("mail.example", 25, "d@x.example", "bot", "S3@t", "starttls"),
        ),
        ("smtps://mail.example?from=d@x.example", ("mail.example", 465, "d@x.example", None, None, "tls")),
        ("smtp+plain://[::1]?from=d@x.example", ("::1", 587, "d@x.example", None, None, "none")),
    ],
)
def test_a_url_names_a_mail_server(url: str, made: tuple[Any, ...]) -> None:
    named = vars(desk.smtp_courier(url))
    assert tuple(named[f"_{name}"] for name in ("host", "port", "sender", "user", "password", "security")) == made


@pytest.mark.parametrize(
    "url",
    ["", "mail.example", "http://h?from=a@b", "smtp://h", "smtp://h:S3cr3t?from=a@b", "smtp://u:S3cr3t@?from=a@b"],
)
def test_a_url_that_names_none_is_refused_without_its_password(url: str) -> None:
    with pytest.raises(ConfigurationError, match=r"^a mail server is smtp://USER:PASSWORD@HOST:PORT") as refused:
        desk.smtp_courier(url)
    assert "S3cr3t" not in str(refused.value)


def test_sms_and_console() -> None:
    sent: list[Any] = []
    desk.SMSCourier(lambda to, text: sent.append((to, text))).send(desk.Notice("phone", "666", "s", "hi"))
    desk.ConsoleCourier(sent.append).send(desk.Notice("phone", "666", "s", "hi"))
    assert sent == [("666", "hi"), "  ✉ SMS to 666: hi\n"]


def test_post_does_not_wait_and_close_does() -> None:
    began, go_on, sent = threading.Event(), threading.Event(), list[desk.Notice]()

    class Slow:
        def send(self, notice: desk.Notice) -> None:
            began.set()
            assert go_on.wait(30)
            sent.append(notice)

    post = Post({"email": Slow()})
    post.send(NOTICE, NOTICE, NOTICE)
    assert began.wait(30)
    assert sent == []
    go_on.set()
    post.close()
    assert sent == [NOTICE] * 3
    assert repr(NOTICE) == "Notice(email)"
