"""Conversations over several commands: going on, listing, showing, exporting, resuming."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

import anyio
import pytest

import turnkeeper as tk
from tests.cli.conftest import Run, Serve
from turnkeeper.testing import MessagesAPI, call, faults, reply

JOURNAL = ".local/share/turnkeeper/journal.db"


def messages(serve: Serve) -> list[Any]:
    found: list[Any] = serve.last["messages"]
    return found


def listed(run: Run, *options: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(run("list", "--output-format", "json", *options).stdout)
    return found


def test_continue_takes_the_last_conversation_and_a_name_takes_that_one(run: Run, serve: Serve) -> None:
    url = serve("one", "two", "three", "four")
    run("ask", "--base-url", url, "--conversation", "trip", "first")
    run("ask", "--base-url", url, "second")
    run("ask", "--base-url", url, "-c", "third")
    assert [m["role"] for m in messages(serve)] == ["user", "assistant", "user"]
    assert "second" in json.dumps(messages(serve)[0])
    run("ask", "--base-url", url, "--conversation", "trip", "fourth")
    assert "first" in json.dumps(messages(serve)[0])
    assert [(one["title"], one["turns"]) for one in listed(run)] == [("first", 2), ("second", 2)]


def test_the_journal_is_in_the_users_data_folder_and_only_the_users(run: Run, home: Path) -> None:
    run("ask", "hello")
    assert stat.S_IMODE((home / JOURNAL).stat().st_mode) == 0o600
    assert stat.S_IMODE((home / JOURNAL).parent.stat().st_mode) == 0o700


def test_another_journal_is_named_by_option_or_environment(
    run: Run, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("ask", "--journal", "sqlite:///other.db", "in the other")
    monkeypatch.setenv("TURNKEEPER_JOURNAL", "sqlite:///third.db")
    run("ask", "in the third")
    run("ask", "--journal", "memory:", "nowhere")
    assert [one["title"] for one in listed(run, "--journal", "sqlite:///other.db")] == ["in the other"]
    assert [one["title"] for one in listed(run)] == ["in the third"]
    assert not (home / JOURNAL).exists()


def test_an_empty_journal_says_so(run: Run) -> None:
    done = run("list")
    assert (done.exit_code, done.stdout) == (0, "")
    assert done.stderr.startswith("No conversations yet")
    assert run("list", "--output-format", "json").stdout == "[]\n"


def test_continue_without_a_conversation_begins_one(run: Run) -> None:
    done = run("ask", "-c", "hello")
    assert done.exit_code == 0
    assert "there is no conversation to go on with; this is a new one" in done.stderr


def test_list_is_a_table_that_a_pipe_gets_whole(run: Run, serve: Serve) -> None:
    title = "Сколько стоит доставка до Владивостока, если заказ тяжелее двадцати"
    run("ask", "--base-url", serve("ok"), "--conversation", "x" * 60, title)
    head, row = run("list").stdout.splitlines()
    assert head.split() == ["id", "changed", "turns", "status", "title"]
    assert row.startswith("x" * 60)
    assert "completed  Сколько стоит доставка" in row


def test_show_tells_the_conversation_with_its_calls(run: Run, serve: Serve, tools: str) -> None:
    url = serve(reply("I'll look.", call("weather", {"city": "Rome"}), call("nothing", {})), "Warm.", "Bye.")
    run("ask", "--base-url", url, "-T", tools, "--conversation", "c-1", "weather?\nin Rome")
    run("ask", "--base-url", url, "-T", tools, "--conversation", "c-1", "thanks")
    done = run("show", "c-1")
    lines = done.stdout.splitlines()
    assert done.exit_code == 0
    assert lines[0].startswith("Conversation c-1, ")
    assert lines[0].endswith(", 2 turns, completed")
    assert lines[1:6] == ["", "> weather?", "> in Rome", "", "│ I'll look."]
    assert lines[6].startswith('  · weather(city="Rome") ')
    assert lines[6].endswith(" ok")
    assert lines[7] == "    Rome: 21 degrees"
    assert lines[8] == "  · nothing() rejected"
    assert "There is no tool named 'nothing'" in lines[9]
    assert lines[10:16] == ["", "│ Warm.", "", "> thanks", "", "│ Bye."]
    assert lines[-1].startswith("3 requests, ")
    assert json.loads(run("show", "c-1", "--output-format", "json").stdout)["turns"] == 2


def test_export_writes_json_that_verify_takes_and_markdown(run: Run, serve: Serve, tools: str, home: Path) -> None:
    url = serve(reply(call("weather", {"city": "Rome"})), "It's ```warm```.")
    run("ask", "--base-url", url, "-T", tools, "--conversation", "c-1", "weather?")
    found = json.loads(run("export", "c-1").stdout)
    assert [m["role"] for m in found["messages"]] == ["user", "assistant", "user", "assistant"]
    assert (found["id"], found["status"], found["model"]) == ("c-1", "completed", "claude-opus-5-5")
    assert run("export", "c-1", "-o", "out.json").exit_code == 0
    assert json.loads((home / "out.json").read_text()) == found
    assert run("verify", "out.json").stdout == "no faults\n"
    assert run("export", "c-1", "-o", "out.md").exit_code == 0
    markdown = (home / "out.md").read_text()
    assert markdown.startswith("# Conversation c-1\n")
    assert "## User\n\n> weather?\n\n## Assistant\n\nCall of `weather`: succeeded\n\n```json" in markdown
    again = run("export", "c-1", "-o", "out.md")
    assert (again.exit_code, again.stderr) == (1, "turnkeeper: out.md is there already; name another file\n")


@pytest.mark.parametrize("command", ["show", "export", "resume"])
def test_an_unknown_conversation_is_named(run: Run, command: str) -> None:
    done = run(command, "nope")
    assert done.exit_code == 1
    assert "there is no conversation 'nope' in this journal; `turnkeeper list` shows them" in done.stderr


def test_resume_goes_on_with_a_turn_that_failed_or_met_a_limit(run: Run, serve: Serve, tools: str) -> None:
    url = serve(reply(call("weather", {"city": "Rome"})), faults.bad_request("no"), "Warm after all.")
    talk = ["--base-url", url, "-T", tools]
    first = run("ask", *talk, "--max-requests", "1", "--conversation", "c-1", "weather?")
    assert first.exit_code == 4
    assert "`turnkeeper resume c-1 -T " in first.stderr
    assert run("resume", "c-1", *talk).exit_code == 1
    done = run("resume", "c-1", *talk)
    assert (done.exit_code, done.stdout) == (0, "Warm after all.\n")
    nothing = run("resume", "c-1", *talk)
    assert (nothing.exit_code, nothing.stdout) == (2, "")
    assert "nothing to resume" in nothing.stderr
    assert run("verify", "c-1").stdout == "no faults\n"


def test_somebody_elses_conversation_is_not_talked_in(run: Run, home: Path) -> None:
    async def as_customer() -> None:
        agent = tk.Agent(client=MessagesAPI("hello"))
        async with agent.open(f"sqlite:///{home}/{JOURNAL}") as keeper:
            await (await keeper.conversation("c-42", principal=tk.Principal("customer", "1213210"))).send("hi")

    (home / JOURNAL).parent.mkdir(parents=True)
    anyio.run(as_customer)
    for command in (["ask", "--conversation", "c-42", "cancel everything"], ["resume", "c-42"]):
        done = run(*command)
        assert done.exit_code == 1
        assert "conversation 'c-42' belongs to customer 1213210" in done.stderr
    assert "customer 1213210" in run("list").stdout
    run("ask", "-c", "mine")
    assert {one["title"] for one in listed(run)} == {"hi", "mine"}


def test_a_journal_that_cant_be_opened_is_said_in_one_line(run: Run, home: Path) -> None:
    (home / "notes.txt").write_text("not a database, but long enough to be looked at" * 30)
    done = run("list", "--journal", f"sqlite:///{home}/notes.txt")
    assert done.exit_code == 1
    assert "it is not a SQLite database" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    secret = run("list", "--journal", "mysql://bot:S3cr3t-pw@db/shop")
    assert "S3cr3t-pw" not in secret.stderr
    assert "A journal can't be kept in mysql" in secret.stderr
