"""Keys at the chat's prompt: several lines, paste, Ctrl-C, Ctrl-D, and what is typed too early."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest

from tests.cli.conftest import Open, Run, Serve
from tests.cli.test_interrupts import REFUNDS
from turnkeeper.testing import call, reply

CTRL_C, CTRL_D, CTRL_J = "\x03", "\x04", "\x0a"


def said(serve: Serve) -> str:
    text: str = serve.last["messages"][-1]["content"][-1]["text"]
    return text


def test_a_message_of_several_lines_is_typed_pasted_or_framed(serve: Serve, screen: Open) -> None:
    chat = screen("chat", "--base-url", serve(*["ok"] * 6))
    chat.prompt()
    chat.say(f"one{CTRL_J}two\x1b\rthree")
    assert said(serve) == "one\ntwo\nthree"
    chat.say("\x1b[200~def f():\r\n\treturn 1\r\n\x1b[201~")
    assert said(serve) == "def f():\n\treturn 1\n"
    for line in ("!multi", "dear all", "", "/help is no command here"):
        chat.say(line)
    chat.say("!end")
    assert said(serve) == "dear all\n\n/help is no command here"
    for line in ("!multi ###", "!end", "still inside"):
        chat.say(line)
    chat.say("!end ###")
    assert said(serve) == "!end\nstill inside"
    chat.say(" /help me, please")
    assert said(serve) == " /help me, please"
    chat.say("/etc/passwd is a file?")
    assert said(serve) == "/etc/passwd is a file?"


def test_an_empty_message_is_not_sent(serve: Serve, screen: Open) -> None:
    chat = screen("chat", "--base-url", serve("ok"))
    chat.prompt()
    chat.say("")
    chat.say("   ")
    chat.say("hello")
    assert len(serve.api.requests) == 1


def test_ctrl_c_clears_a_typed_line_and_leaves_when_pressed_twice(serve: Serve, screen: Open) -> None:
    chat = screen("chat", "--base-url", serve("ok"))
    chat.prompt()
    chat.type(f"never sent{CTRL_C}")
    assert "ok" in chat.say("sent")
    assert said(serve) == "sent"
    chat.type(CTRL_C)
    assert "Ctrl-C once more leaves" in chat.prompt()
    chat.type(CTRL_C)
    assert chat.ended() == 130


@pytest.fixture
def refunds(home: Path) -> str:
    (home / "refunds.py").write_text(REFUNDS)
    return "refunds.py"


def test_ctrl_c_cancels_the_running_turn_and_the_next_message_goes_on(
    run: Run, serve: Serve, screen: Open, refunds: str, home: Path
) -> None:
    """Report B12-ctrl-c-then-rerun.

    https://github.com/EvoScientist/EvoScientist/issues/463
    """
    url = serve(reply(*(call("refund", {"id": number}) for number in (1, 2, 3))), "understood")
    chat = screen("chat", "--base-url", url, "-T", refunds, "--conversation", "c")
    chat.prompt()
    chat.type("refund all three\r")
    chat.expect("blocked")
    chat.type(CTRL_C)
    shown = chat.prompt()
    assert "refund(id=2) cancelled" in shown
    assert "refund(id=3) cancelled" in shown
    assert "cancelled; every call has its result" in shown
    assert "understood" in chat.say("what happened?")
    chat.type(CTRL_D)
    assert chat.ended() == 0
    assert (home / "ledger").read_text().split() == ["begin", "1", "end", "1", "begin", "2"]
    results = json.loads(run("export", "c").stdout)["messages"][2]["content"]
    assert [block["type"] for block in results] == ["tool_result"] * 3 + ["text"]
    serve.api.assert_all_accepted()


def test_ctrl_c_twice_in_a_running_turn_leaves(serve: Serve, screen: Open, refunds: str) -> None:
    chat = screen("chat", "--base-url", serve(reply(call("stubborn", {}))), "-T", refunds)
    chat.prompt()
    chat.type("go\r")
    chat.expect("blocked")
    chat.type(CTRL_C)
    chat.expect("cleaning up")
    chat.type(CTRL_C)
    assert chat.ended() == 130


def test_an_interrupt_from_outside_counts_as_ctrl_c_at_the_prompt(screen: Open) -> None:
    chat = screen("chat")
    chat.prompt()
    chat.command.interrupt()
    assert "Ctrl-C once more leaves" in chat.prompt()
    chat.command.interrupt()
    assert chat.ended() == 130


WAITING = '''"""Tools that wait for the other end of a pipe, and for the person at the terminal."""

import pathlib

import turnkeeper as tk


@tk.tool
def wait() -> str:
    """Wait."""
    print("waiting", flush=True)
    return pathlib.Path("gate").read_text()


@tk.tool
def confirm() -> str:
    """Ask the person."""
    return input("Really? ")
'''


@pytest.fixture
def waiting(home: Path) -> str:
    (home / "waiting.py").write_text(WAITING)
    os.mkfifo(home / "gate")
    return "waiting.py"


def test_what_is_typed_while_a_turn_runs_waits_for_the_prompt(
    serve: Serve, screen: Open, waiting: str, home: Path
) -> None:
    chat = screen("chat", "--base-url", serve(reply(call("wait", {})), "done", "second"), "-T", waiting)
    chat.prompt()
    chat.type("first\r")
    chat.expect("waiting")
    chat.type("печатал рано\r" + CTRL_D)
    (home / "gate").write_text("open")
    assert "done" in chat.prompt()
    assert "second" in chat.prompt()
    assert said(serve) == "печатал рано"
    assert chat.ended() == 0


def test_a_tool_may_ask_the_person_at_the_terminal(serve: Serve, screen: Open, waiting: str) -> None:
    chat = screen("chat", "--base-url", serve(reply(call("confirm", {})), "done"), "-T", waiting)
    chat.prompt()
    chat.type("go\r")
    chat.expect("Really? ")
    chat.type("yes\r")
    assert "done" in chat.prompt()
    assert serve.last["messages"][-1]["content"][0]["content"] == "yes"


def test_a_terminal_is_given_back_as_it_was(serve: Serve, screen: Open, waiting: str) -> None:
    chat = screen("chat", "--base-url", serve(reply(call("wait", {}))), "-T", waiting)
    chat.prompt()
    chat.type("go\r")
    chat.expect("waiting")
    assert not chat.echoes
    os.kill(chat.command.pid, signal.SIGTERM)
    assert chat.command.wait() == -signal.SIGTERM
    assert chat.echoes
