"""What goes wrong is one line on stderr, without traces and without secrets."""

from __future__ import annotations

import logging
import stat
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Run, Serve
from turnkeeper.cli.exits import EXIT_FOR, Exit
from turnkeeper.cli.problems import exit_for, line_for, report
from turnkeeper.cli.wording import explain, way_on
from turnkeeper.testing import call, faults, reply
from turnkeeper.types import TurnStatus

KEY = "sk-ant-SENTINEL0123456789"


def test_details_of_a_failing_tool_and_the_key_reach_neither_model_nor_screen(
    run: Run, serve: Serve, tools: str, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Report B16-tool-error-leaks-dsn.

    https://github.com/nstfkc/gemi/issues/446
    """
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    url = serve(reply(call("broken", {"city": "x"})), "sorry", faults.unauthenticated(echo_key=True))
    talk = ["--base-url", url, "-T", tools, "--conversation", "c"]
    first, second = run("ask", *talk, "hello"), run("ask", *talk, "again")
    assert (first.exit_code, second.exit_code) == (0, 1)
    log = (home / ".local/state/turnkeeper/log/turnkeeper.log").read_text()
    requests = [str(record.body) for record in serve.api.requests]
    shown = [first.output, second.output, run("show", "c").output, run("export", "c").output]
    for text in [*requests, *shown, log, *(str(path.read_bytes()) for path in home.rglob("journal.db*"))]:
        assert "S3cr3t-pw" not in text
        assert "SENTINEL" not in text
    [failed] = [line for line in first.stderr.splitlines() if "· broken" in line]
    assert failed.endswith(" failed")
    error_id = first.stderr.rsplit("error ", 1)[-1].split()[0].strip(".()")
    assert error_id in log
    assert "Traceback" in log


def test_the_log_file_is_its_owners_only(run: Run, serve: Serve, tools: str, home: Path) -> None:
    run("ask", "--base-url", serve(reply(call("broken", {"city": "x"})), "sorry"), "-T", tools, "hello")
    path = home / ".local/state/turnkeeper/log/turnkeeper.log"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_bug_is_one_line_unless_debugging(
    run: Run, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def bug(*args: Any) -> int:
        raise KeyError("\x1b[31mодин\ntwo")

    monkeypatch.setattr("turnkeeper.cli.asking.ask", bug)
    done = run("ask", "hello")
    assert done.exit_code == 1
    assert done.stderr == "turnkeeper: unexpected KeyError: '\\x1b[31mодин\\ntwo' (TURNKEEPER_DEBUG=1 shows where)\n"
    monkeypatch.setenv("TURNKEEPER_DEBUG", "1")
    debugged = run("ask", "hello")
    assert "Traceback (most recent call last):" in debugged.stderr
    assert debugged.stderr.splitlines()[-1].startswith("turnkeeper: unexpected KeyError")
    assert capfd.readouterr() == ("", "")


def test_errors_inside_groups_are_told_as_themselves(capsys: pytest.CaptureFixture[str]) -> None:
    inner = PermissionError(13, "Permission denied", "/etc/shadow")
    assert report(ExceptionGroup("tasks", [ExceptionGroup("more", [inner])])) is Exit.ERROR
    assert capsys.readouterr().err == "turnkeeper: /etc/shadow: Permission denied\n"


def test_an_interrupt_leaves_no_handler_behind(run: Run) -> None:
    import signal

    before, handlers = signal.getsignal(signal.SIGINT), list(logging.getLogger().handlers)
    run("ask", "hello")
    assert signal.getsignal(signal.SIGINT) is before
    assert logging.getLogger().handlers == handlers


@pytest.mark.parametrize("secret", [KEY, "postgresql://bot:S3cr3t-pw@db/shop", "password=hunter22"])
def test_lines_hide_what_looks_secret(secret: str) -> None:
    line = line_for(RuntimeError(f"it said {secret} loudly"))
    assert not any(part in line for part in ("SENTINEL", "S3cr3t-pw", "hunter22"))
    assert exit_for(RuntimeError()) is Exit.ERROR


def test_a_home_that_cant_be_written_is_said(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", "/proc/nowhere")
    done = run("ask", "hello")
    assert done.exit_code == 1
    assert "/proc/nowhere/turnkeeper/journal.db can't be opened" in done.stderr
    assert run("ask", "--journal", "memory:", "hello").exit_code == 0


@pytest.mark.parametrize("status", TurnStatus)
def test_every_end_of_a_turn_has_its_exit_code_and_its_sentence(status: TurnStatus) -> None:
    said = explain(status, "", way_on("c-1", None))
    assert (said is None) is (status is TurnStatus.COMPLETED)
    assert (
        EXIT_FOR[status]
        is {
            "completed": Exit.DONE,
            "awaiting_approval": Exit.WAITS_FOR_PERSON,
            "awaiting_resolution": Exit.WAITS_FOR_PERSON,
            "refused": Exit.REFUSED,
            "truncated": Exit.LIMIT_REACHED,
            "limit_reached": Exit.LIMIT_REACHED,
            "cancelled": Exit.INTERRUPTED,
            "failed": Exit.ERROR,
        }[status]
    )


def test_exit_codes_are_what_the_help_says() -> None:
    assert {int(code) for code in Exit} == {0, 1, 2, 3, 4, 5, 130}
