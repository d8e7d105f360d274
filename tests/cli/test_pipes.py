"""Stdout as a pipe, closed pipes, colours."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Run, Serve, Start
from turnkeeper.testing import call, reply


def test_a_reader_that_leaves_ends_the_command_quietly_and_the_turn_in_good_order(
    run: Run, serve: Serve, start: Start
) -> None:
    url = serve("word " * 4_000, "fine")
    process = start("ask", "--base-url", url, "--conversation", "c", "--output-format", "stream-json", "hello")
    process.read_until(b'{"type": "request_started"', process.stdout)
    process.stdout.close()
    assert process.ended() == (0, b"", b"")
    assert "(cancelled; " in run("show", "c").stdout
    assert run("ask", "--base-url", url, "-c", "again").stdout == "fine\n"
    serve.api.assert_all_accepted()


@pytest.mark.parametrize("command", [["models"], ["--help"], ["ask", "hello"]])
def test_a_pipe_that_is_closed_from_the_start_is_no_trouble(start: Start, command: list[str]) -> None:
    read_end, write_end = os.pipe()
    os.close(read_end)
    process = start(*command, stdout=write_end)
    os.close(write_end)
    code, _, errors = process.ended()
    assert code in (0, 1)
    assert b"Traceback" not in errors
    assert b"Exception" not in errors


def test_a_full_disk_is_one_line(start: Start) -> None:
    with Path("/dev/full").open("wb") as full:
        process = start("models", stdout=full.fileno())
        line = b"turnkeeper: the output can't be written: No space left on device\n"
        assert process.ended() == (1, b"", line)


@pytest.mark.parametrize(
    ("variables", "options", "colored"),
    [
        ({}, [], False),
        ({"FORCE_COLOR": "1"}, [], True),
        ({"FORCE_COLOR": "0"}, [], False),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, [], False),
        ({"FORCE_COLOR": "1", "NO_COLOR": ""}, [], True),
        ({"FORCE_COLOR": "1"}, ["--no-color"], False),
        ({"FORCE_COLOR": "1", "TERM": "dumb"}, [], True),
    ],
)
def test_colours_are_there_where_they_are_wanted(
    run: Run,
    serve: Serve,
    tools: str,
    monkeypatch: pytest.MonkeyPatch,
    variables: dict[str, str],
    options: list[str],
    *,
    colored: bool,
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    url = serve(reply(call("weather", {"city": "Rome"})), "Warm.")
    done = run("ask", "--base-url", url, "-T", tools, *options, "hello", color=True)
    assert done.stdout == "Warm.\n", "the answer itself is never coloured"
    assert ("\x1b[2m  · weather" in done.stderr) is colored
    assert ("\x1b[" in run("models", *options, color=True).stdout) is colored


def test_output_that_cant_show_a_letter_shows_something_else(start: Start) -> None:
    code, out, errors = start("ask", "Привет", PYTHONIOENCODING="ascii").ended()
    assert code == 0, errors
    assert b"\\u" in out


def test_help_loads_nothing_heavy() -> None:
    code = (
        "import sys\n"
        "from turnkeeper.cli.main import main\n"
        "main(['--help'], standalone_mode=False)\n"
        "heavy = {'anthropic', 'sqlalchemy', 'rich', 'prompt_toolkit', 'pydantic', 'anyio', 'uvicorn'}\n"
        "sys.exit(', '.join(heavy & set(sys.modules)) or 0)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("Usage: turnkeeper")
