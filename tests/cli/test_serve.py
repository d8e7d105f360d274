"""`turnkeeper serve`: the desk on the web, from the command line."""

from __future__ import annotations

import os
import re
import signal
import socket
import stat
from pathlib import Path

import httpx2
import pytest

from tests.cli.conftest import Run, Serve, Start, Started
from tests.web.served import Customer
from turnkeeper.testing import call, reply
from turnkeeper.web.staff import hashed


def listening(served: Started) -> str:
    """The URL that a started server says."""
    line = served.stdout.readline().decode()
    assert line.startswith("listening on http://127.0.0.1:"), served.ended()
    return line.split()[-1]


def test_it_serves_the_desk_to_customers_and_ends_in_good_order(start: Start) -> None:
    served = start("serve", "--demo", "--port", "0")
    base = listening(served)
    with Customer(base) as customer:
        page = customer.http.get("/")
        assert page.status_code == 200
        assert "<title>TechNova Desk</title>" in page.text
        conversation = customer.new()
        assert customer.say(conversation, "What is your return policy?").status_code == 202
        with customer.stream(conversation) as stream:
            items = stream.until("ended")
            assert items[-1]["status"] == "completed"
            # a page is open while the server is stopped
            served.command.interrupt()
            code, out, errors = served.ended()
    assert (code, out) == (0, b"")
    assert errors.decode().count("\n") == 1, errors
    assert b"practice model answers" in errors


def test_a_message_with_a_code_is_shown_on_the_terminal_where_no_mail_is_sent(start: Start) -> None:
    served = start("serve", "--demo", "--port", "0")
    with Customer(listening(served)) as john:
        c = john.new()
        john.say(c, "Please cancel order 13579. My email is john@gmail.com")
        served.stderr.readline()
        mail = served.stderr.readline().decode()
        assert "e-mail to john@gmail.com" in mail
        code = re.findall(r"\b\d{6}\b", mail)[0]
        with john.stream(c) as stream:
            stream.until("ended")
            done = john.http.post(f"/api/conversations/{c}/proof/code", json={"code": code}).json()
            assert (done["outcome"], done["proof"]["level"]) == ("right", "confirmed")
        with john.stream(c) as stream:
            stream.until("message", text="✓")
            items = stream.until("ended")
    assert "cancelled" in next(item["text"] for item in items if item["type"] == "reply" and item["text"])


def test_a_customer_is_no_staff_and_sees_nobody_s_orders(start: Start, serve: Serve) -> None:
    url = serve(reply(call("get_my_orders", {})), "Who are you?", practice=False)
    served = start("serve", "--demo", "--port", "0", "--base-url", url)
    with Customer(listening(served)) as customer:
        conversation = customer.new()
        customer.say(conversation, "Where are my orders? I am john@gmail.com")
        with customer.stream(conversation) as stream:
            items = stream.until("ended")
    names = {tool["name"] for tool in serve.api.requests[0].body["tools"]}  # type: ignore[index]
    assert names == {"send_code", "shop_rules"}
    assert [item["state"] for item in items if item["type"] == "call"] == ["failed"]
    assert "24601" not in str(items)


def test_sessions_and_conversations_outlive_the_process(start: Start, home: Path) -> None:
    first = start("serve", "--port", "0")
    with Customer(listening(first)) as customer:
        conversation = customer.new()
        customer.say(conversation, "What is your return policy?")
        with customer.stream(conversation) as stream:
            before = [item for item in stream.until("ended") if "seq" in item]
        cookies = dict(customer.http.cookies)
    os.kill(first.command.pid, signal.SIGKILL)
    first.ended()
    (secret,) = home.rglob("web_secret")
    assert stat.S_IMODE(secret.stat().st_mode) == 0o600
    assert len(secret.read_bytes()) == 32
    second = start("serve", "--port", "0")
    with httpx2.Client(base_url=listening(second), cookies=cookies) as http:
        again = http.get(f"/api/conversations/{conversation}").json()
    assert again["items"] == before


def test_a_port_that_is_taken_is_said(run: Run) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = run("serve", "--demo", "--port", str(port))
    assert (done.exit_code, done.stdout) == (1, "")
    assert f"can't listen on 127.0.0.1 port {port}" in done.stderr
    assert "--port chooses another port" in done.stderr


EVERYWHERE = "0.0.0.0"  # noqa: S104 - to be refused
REAL = "others than this machine's users can reach this service"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--host", EVERYWHERE], REAL),
        (["--host", "192.0.2.7"], REAL),
        (["--host", "::"], REAL),
        (["--public", "help.example.org"], REAL),
        (["--proxy", "127.0.0.1"], REAL),
        (["--host", EVERYWHERE, "--staff-file", "staff.txt"], "give that with --public"),
        (["--staff-file", "nobody.txt"], "nobody.txt can't be read"),
        (["--staff-header", "X-User"], "--proxy"),
        (["--proxy", "10.0.0.300", "--staff-header", "X-User"], "10.0.0.300"),
        (["--journal", "memory:"], "leave --journal out"),
        (["--demo", "--database", "sqlite:///x.db"], "leave --database out"),
        (["--database", "x.db"], "sqlite:///x.db"),
        (["--approve-above", "much"], "--approve-above"),
        (["--port", "70000"], "--port"),
    ],
)
def test_what_can_not_work_is_refused(run: Run, home: Path, arguments: list[str], said: str) -> None:
    (home / "staff.txt").write_text(f"ana:{hashed('correct horse')}\n")
    done = run("serve", *arguments)
    assert (done.exit_code, done.stdout) == (2, "")
    assert said in done.stderr


def test_a_secret_that_is_too_short_is_refused(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TURNKEEPER_WEB_SECRET", "short")
    done = run("serve", "--demo")
    assert done.exit_code == 2
    assert "TURNKEEPER_WEB_SECRET must be at least 16 bytes" in done.stderr


def test_behind_a_proxy_with_staff_who_sign_in_it_starts(start: Start, home: Path) -> None:
    (home / "staff.txt").write_text(f"ana:{hashed('correct horse')}\n")
    options = ("--public", "help.example.org", "--proxy", "127.0.0.1", "--staff-file", "staff.txt")
    base = listening(start("serve", "--demo", "--port", "0", *options))
    seen = {"host": "help.example.org", "x-forwarded-proto": "https", "x-forwarded-for": "203.0.113.7"}
    with httpx2.Client(base_url=base, headers=seen) as http:
        answer = http.get("/")
    assert answer.status_code == 200
    assert answer.headers["set-cookie"].startswith("__Host-turnkeeper_customer=")
