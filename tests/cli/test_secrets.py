"""Keys, logins and escape sequences that come back in errors: neither screen nor journal nor log has them."""

from __future__ import annotations

import dataclasses
import logging
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Run, Serve
from turnkeeper.cli.problems import logged
from turnkeeper.testing import faults

KEY = "gateway7f3aNoPatternOfAKey"
"""No pattern says that it is one."""
ESCAPES = "\x1b]0;owned\x07\x1b[31m\x9b2J\u202eред\r"


@pytest.mark.parametrize("status", [400, 403, 429, 500])
@pytest.mark.parametrize("debug", ["", "1"])
def test_a_key_that_an_endpoint_repeats_is_nowhere(
    run: Run, serve: Serve, monkeypatch: pytest.MonkeyPatch, home: Path, status: int, debug: str
) -> None:
    """An answer of any status may repeat the key, not only a 401."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    monkeypatch.setenv("TURNKEEPER_DEBUG", debug)
    echo = dataclasses.replace(faults.unauthenticated(echo_key=True), status=status, type="invalid_request_error")
    done = run("ask", "--base-url", serve(echo, "ok"), "--conversation", "c", "hello")
    assert done.exit_code == 1
    assert "invalid x-api-key" in done.stderr
    assert ("Traceback" in done.stderr) is bool(debug)
    monkeypatch.delenv("ANTHROPIC_API_KEY")  # what masks the screen must not be needed
    shown = [done.output, run("show", "c").output, run("export", "c").output, run("verify", "c").output]
    kept = [path.read_bytes().decode("utf-8", "replace") for path in home.rglob("*") if path.is_file()]
    for text in [*shown, *kept]:
        assert KEY not in text
    assert any("invalid x-api-key" in text for text in kept)


def test_doctor_shows_no_login_and_no_value_of_an_address(
    run: Run, monkeypatch: pytest.MonkeyPatch, home: Path
) -> None:
    monkeypatch.setenv("TURNKEEPER_JOURNAL", f"sqlite:///{home}/j.db?timeout=5&cached_statements=77")
    address = "http://s3cretUser@gw.example:8443/a?tenant=t3nant&sig=abcDEF0123456789#frag"
    for done in (run("doctor", "--base-url", address), run("doctor", "--base-url", address, "--output-format", "json")):
        assert "http://***@gw.example:8443/a?tenant=***&sig=***" in done.stdout
        assert not [one for one in ("s3cretUser", "t3nant", "abcDEF", "frag", "77") if one in done.stdout]
    assert run("ask", "the first conversation makes the journal").exit_code == 0
    [line] = [line for line in run("doctor").stdout.splitlines() if "journal:" in line]
    assert f"sqlite:///{home}/j.db?timeout=5 opens" in line


def test_a_traceback_and_a_record_of_the_log_move_nothing_on_the_screen(
    run: Run, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def bug(*args: Any) -> int:
        raise RuntimeError(f"{ESCAPES} ещё")

    monkeypatch.setenv("TURNKEEPER_DEBUG", "1")
    monkeypatch.setattr("turnkeeper.cli.asking.ask", bug)
    done = run("ask", "hello")
    assert "RuntimeError: ред\n ещё" in done.stderr
    assert not [one for one in done.stderr if one in "\x1b\x07\x9b\u202e\r"]
    with logged():
        logging.getLogger("turnkeeper.x").error("it said %s\n2030-01-01 00:00:00,000 ERROR turnkeeper: forged", ESCAPES)
    record = capsys.readouterr().err
    assert not [one for one in record if one in "\x1b\x07\x9b\u202e\r"]
    first, *rest = record.splitlines()
    assert first.endswith("ERROR turnkeeper.x: it said ред")
    assert [line[:4] for line in rest] == ["    "]  # what is set in is no record of its own
