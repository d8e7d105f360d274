"""`turnkeeper models`, `doctor`, `simulate`, `--help`, and the page made of it."""

from __future__ import annotations

import json
from pathlib import Path

import anthropic
import pytest

from tests.cli.conftest import Open, Run, Start
from turnkeeper.cli.main import COMMANDS
from turnkeeper.models import catalogue

KEY = "sk-ant-SENTINEL0123456789"


def test_models_are_a_table_with_prices(run: Run) -> None:
    done = run("models")
    assert done.exit_code == 0
    head, *rows = done.stdout.splitlines()
    assert head.split() == ["model", "window", "reply", "in", "out", "forced", "choice", "notes"]
    assert [row.split()[0] for row in rows] == [model.id for model in catalogue()]
    [row] = [row.split() for row in rows if row.startswith("claude-haiku-4-5")]
    assert row[:7] == ["claude-haiku-4-5", "200,000", "64,000", "1.00", "5.00", "without", "thinking"]
    found = json.loads(run("models", "--output-format", "json").stdout)
    assert [(one["id"], one["input_price"]) for one in found if one["id"] == "claude-haiku-4-5"] == [
        ("claude-haiku-4-5", "1")
    ]


def test_models_fit_a_narrow_screen_without_cutting_a_number(screen: Open) -> None:
    shown = screen("models", columns=40, NO_COLOR="1")
    assert shown.ended() == 0
    head, *rows = [line.rstrip() for line in shown.seen.splitlines()]
    assert head.split() == ["model", "in", "out"]
    assert "claude-opus-5-5" in [row.split()[0] for row in rows]
    assert all(len(line) <= 40 and "…" not in line for line in [head, *rows[:-1]])


def test_doctor_finds_everything_in_order_and_shows_no_key(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    done = run("doctor", "--base-url", "http://bot:S3cr3t-pw@localhost:11434/v1")
    assert done.exit_code == 0, done.stdout
    states = {line.split()[0] for line in done.stdout.splitlines()}
    assert states == {"ok"}
    assert "ok    key: yes\n" in done.stdout
    assert "@localhost:11434" in done.stdout
    assert "SENTINEL" not in done.output
    assert "S3cr3t-pw" not in done.output


def test_doctor_says_what_is_broken(run: Run, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / "notes.txt").write_text("no database at all, and long enough to see that" * 20)
    monkeypatch.setenv("TURNKEEPER_JOURNAL", f"sqlite:///{home}/notes.txt")
    done = run("doctor", "--output-format", "json")
    found = json.loads(done.stdout)
    assert (done.exit_code, found["ok"]) == (1, False)
    by_name = {one["what"]: one for one in found["findings"]}
    assert [name for name, one in by_name.items() if one["state"] == "fail"] == ["journal"]
    assert "it is not a SQLite database" in by_name["journal"]["text"]
    assert by_name["key"]["state"] == "note"


def test_doctor_names_a_bad_settings_file(run: Run, home: Path) -> None:
    (home / "turnkeeper.toml").write_text("modle = 'x'\n")
    done = run("doctor")
    assert done.exit_code == 1
    assert "unknown setting 'modle'" in done.stdout


def test_simulate_serves_a_script_that_any_client_can_use(start: Start, home: Path) -> None:
    (home / "script.json").write_text('["scripted", {"fault": {"kind": "overloaded"}}]')
    served = start("simulate", "--model", "script.json", "--keep", "5")
    line = served.stdout.readline().decode()
    assert line.startswith("listening on http://127.0.0.1:")
    with anthropic.Anthropic(base_url=line.split()[-1], api_key="any", max_retries=0) as client:
        ask = {"model": "claude-haiku-4-5", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]}
        assert client.messages.create(**ask).content[0].text == "scripted"  # type: ignore[call-overload]
        with pytest.raises(anthropic.APIStatusError, match="overloaded"):
            client.messages.create(**ask)  # type: ignore[call-overload]
        with pytest.raises(anthropic.BadRequestError, match="messages"):
            client.messages.create(**{**ask, "messages": []})  # type: ignore[call-overload]
    served.command.interrupt()
    assert served.ended() == (0, b"", b"")


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        (["--model", "missing.json"], 2, "missing.json: can't be read"),
        (["--imitation", "gpt"], 2, "'gpt' is not one of"),
        (["--port", "70000"], 2, "70000 is not in the range"),
        (["--host", "203.0.113.7"], 1, "can't listen on 203.0.113.7"),
    ],
)
def test_simulate_says_what_it_cant_do(run: Run, options: list[str], code: int, said: str) -> None:
    done = run("simulate", *options)
    assert (done.exit_code, done.stdout) == (code, "")
    assert said in done.stderr


@pytest.mark.parametrize("command", [[], *([name] for name in COMMANDS)])
def test_every_command_explains_itself(run: Run, command: list[str]) -> None:
    for option in ("--help", "-h"):
        done = run(*command, option)
        assert (done.exit_code, done.stderr) == (0, "")
        assert done.stdout.startswith("Usage: turnkeeper")


def test_no_command_at_all_shows_the_help_as_an_error(run: Run) -> None:
    done = run()
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.startswith("Usage: turnkeeper")


def test_an_unknown_command_is_one_line(run: Run) -> None:
    done = run("aks", "hello")
    assert done.exit_code == 2
    assert done.stderr.startswith("turnkeeper: No such command 'aks'")
    assert len(done.stderr.splitlines()) == 1


def test_the_version_is_the_packages(run: Run) -> None:
    from importlib.metadata import version

    assert run("--version").stdout == f"turnkeeper {version('turnkeeper')}\n"
