"""`turnkeeper replay`, `fork`, and the export that tests are made of."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.conftest import Run, Serve
from turnkeeper.testing import call, reply


def ask(run: Run, serve: Serve, tools: str, *options: str) -> None:
    url = serve(reply(call("weather", {"city": "Köln"})), "Sunny 🌞")
    done = run(
        "ask", "--base-url", url, "-m", "claude-haiku-4-5", "-T", tools, "--conversation", "w", *options, "How is it?"
    )
    assert done.exit_code == 0, done.output


def test_replay_tells_that_nothing_differs_or_what_does(run: Run, serve: Serve, tools: str) -> None:
    ask(run, serve, tools, "-s", "Be brief.")
    same = run("replay", "w")
    assert (same.exit_code, same.stdout) == (0, "1 turn replayed, nothing differs\n")
    assert run("replay", "w", "-T", tools).exit_code == 0
    other = run("replay", "w", "-s", "Be long.")
    assert other.exit_code == 1
    assert "-Be brief.\n+Be long.\n" in other.stdout
    assert run("replay", "w", "-s", "Be long.", "--ignore-setup").exit_code == 0
    found = json.loads(run("replay", "w", "-s", "Be long.", "--output-format", "json").stdout)
    assert (found["conversation"], found["divergence"]["turn"], found["divergence"]["seq"]) == ("w", 1, 3)


def test_a_choice_and_a_head_of_results_are_those_that_were_written_down(
    run: Run, serve: Serve, tools: str, home: Path
) -> None:
    ask(run, serve, tools, "--tool-choice", "weather", "--result-head", "200")
    same = run("replay", "w")
    assert (same.exit_code, same.stdout) == (0, "1 turn replayed, nothing differs\n")
    (home / "large.py").write_text(
        "import turnkeeper as tk\n\n\n@tk.tool(effect='read')\ndef weather(city: str) -> str:\n"
        "    return 'Öl 🛢️ ' * 500\n",
        "utf-8",
    )
    url = serve(reply(call("weather", {"city": "Köln"})), "Much")
    done = run("ask", "--base-url", url, "-T", "large.py", "--conversation", "l", "--result-head", "301", "How much?")
    assert done.exit_code == 0, done.output
    assert run("replay", "l").stdout == "1 turn replayed, nothing differs\n"


def test_an_exported_conversation_is_replayed_from_its_file(run: Run, serve: Serve, tools: str, home: Path) -> None:
    ask(run, serve, tools)
    assert run("export", "w", "-f", "journal", "-o", "w.jsonl").exit_code == 0
    assert run("replay", "w.jsonl").stdout == "1 turn replayed, nothing differs\n"
    assert run("export", "w", "-f", "journal", "--redact").exit_code == 2
    path = home / "w.jsonl"
    path.write_text(path.read_text("utf-8").replace("Sunny", "Rainy"), "utf-8")
    broken = run("replay", "w.jsonl")
    assert broken.exit_code == 1
    assert "was changed" in broken.stderr


def test_replay_of_what_is_not_there_and_of_tools_without_tools(run: Run) -> None:
    assert "no conversation 'nobody'" in run("replay", "nobody").stderr
    assert run("replay", "x", "--run", "weather").exit_code == 2
    assert "can't be read" in run("replay", "no.jsonl").stderr


def test_fork_lists_the_events_and_begins_a_conversation_at_one(run: Run, serve: Serve, tools: str) -> None:
    ask(run, serve, tools)
    listed = run("fork", "w")
    assert listed.exit_code == 2
    assert [line.split()[0] for line in listed.stdout.splitlines()[1:3]] == ["1", "2"]
    done = run("fork", "w", "--at", "5", "--to", "w2")
    assert (done.exit_code, done.stdout) == (0, "w2\n")
    shown = json.loads(run("show", "w2", "--output-format", "json").stdout)
    assert [message["role"] for message in shown["messages"]] == ["user", "assistant", "user"]
    assert run("fork", "w", "--at", "5", "--to", "w2").exit_code == 2
    assert "has the events 1 to" in run("fork", "w", "--at", "99").stderr
