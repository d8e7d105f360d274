"""`turnkeeper approvals`: a call that waits, decided from the terminal."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Open, Run, Serve
from turnkeeper.testing import call, reply


@pytest.fixture
def waiting(run: Run, serve: Serve, tools: Path) -> str:
    """A conversation `c` whose call to `pay` waits; gives the endpoint."""
    url: str = serve(reply(call("pay", {"amount": 500}, id="toolu_1")), "Paid.")
    asked = run("ask", "--base-url", url, "-T", str(tools), "--conversation", "c", "pay 500")
    assert asked.exit_code == 3, asked.stderr
    return url


def listed(run: Run) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(run("approvals", "--output-format", "json").stdout)
    return found


def test_what_waits_is_listed_with_its_exact_arguments(run: Run, waiting: str) -> None:
    shown = run("approvals")
    assert "toolu_1@c" in shown.stdout
    assert 'pay {"amount": 500}' in shown.stdout
    (one,) = listed(run)
    assert (one["kind"], one["tool"], one["input"], one["policy"]) == ("approval", "pay", {"amount": 500}, "always")


def test_an_approved_call_runs_when_the_conversation_goes_on(run: Run, waiting: str, tools: Path) -> None:
    (one,) = listed(run)
    decided = run("approvals", "approve", one["id"], "--by", "ana", "--digest", one["digest"])
    way = "`turnkeeper resume c`, with the same tools (-T) as before"
    assert decided.stdout == f"pay is approved; the conversation goes on with {way}\n"
    assert listed(run) == []
    done = run("resume", "c", "--base-url", waiting, "-T", str(tools))
    assert (done.exit_code, done.stdout) == (0, "Paid.\n")
    again = run("approvals", "approve", one["id"])
    assert (again.exit_code, "is decided already" in again.stderr) == (2, True)


def test_a_denied_call_is_not_run(run: Run, waiting: str, serve: Serve, tools: Path) -> None:
    run("approvals", "deny", "toolu_1@c", "--reason", "слишком много")
    run("resume", "c", "--base-url", waiting, "-T", str(tools))
    (result,) = serve.last["messages"][-1]["content"]
    assert result["content"] == "Not run: a person refused this call. Reason: слишком много"


def test_an_edit_is_checked_against_the_tool(run: Run, waiting: str, tools: Path) -> None:
    bad = run("approvals", "edit", "toolu_1@c", "--input", '{"amount":"viel"}', "-T", str(tools))
    assert (bad.exit_code, "amount" in bad.stderr) == (1, True)
    broken = run("approvals", "edit", "toolu_1@c", "--input", "{", "-T", str(tools))
    assert (broken.exit_code, "--input is not JSON" in broken.stderr) == (2, True)
    good = run("approvals", "edit", "toolu_1@c", "--input", '{"amount":80}', "-T", str(tools))
    assert good.stdout.startswith("pay is approved with other arguments")


def test_what_is_not_there_is_said(run: Run) -> None:
    empty = run("approvals")
    assert (empty.exit_code, empty.stdout, "Nothing waits" in empty.stderr) == (0, "", True)
    unknown = run("approvals", "approve", "toolu_9@nowhere")
    assert (unknown.exit_code, "no approval 'toolu_9@nowhere' waits" in unknown.stderr) == (2, True)
    outcome = run("approvals", "happened", "nowhere", "toolu_9")
    assert (outcome.exit_code, "is not asked for" in outcome.stderr) == (2, True)


def test_a_message_to_a_chat_whose_call_waits_is_answered_with_what_to_do(
    run: Run, screen: Open, waiting: str, tools: Path
) -> None:
    chat = screen("chat", "--base-url", waiting, "-T", str(tools), "--conversation", "c", columns=300)
    assert "The last turn waits for a person's decision" in chat.prompt()
    said = chat.say("hurry up")
    how = "`turnkeeper approvals approve toolu_1@c` lets it run, `deny` in place of `approve` refuses it"
    assert f"turnkeeper: the message was not sent: a call waits for a decision first: {how}; then /resume goes" in said
    assert "when_busy" not in chat.shown()
    run("approvals", "approve", "toolu_1@c")
    assert "Paid." in chat.say("/resume")
    chat.type("\x04")
    assert chat.ended() == 0


def test_outside_of_a_chat_it_names_the_command_that_goes_on(run: Run, waiting: str, tools: Path) -> None:
    options = ("--base-url", waiting, "-T", str(tools), "--conversation", "c")
    again = run("ask", *options, "hurry up")
    assert (again.exit_code, again.stdout) == (3, "")
    assert again.stderr.endswith(f"; then `turnkeeper resume c -T {tools}` goes on\n")
    assert "when_busy" not in again.stderr


def test_of_several_that_wait_it_names_the_list(run: Run, serve: Serve, tools: Path) -> None:
    both = [call("pay", {"amount": amount}, id=f"toolu_{amount}") for amount in (1, 2)]
    options = ("--base-url", serve(reply(*both)), "-T", str(tools), "--conversation", "c")
    assert run("ask", *options, "pay both").exit_code == 3
    again = run("ask", *options, "hurry up")
    said = "calls wait for a person first: `turnkeeper approvals` lists them and says how to decide; then `turnkeeper"
    assert said in again.stderr
