"""The work of `doctor`: one line for each thing that Turnkeeper needs or uses."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal
from urllib.parse import parse_qsl, urlsplit, urlunsplit

import sqlalchemy as sa

from turnkeeper.cli.conversing import endpoint, has_credentials, practice_api
from turnkeeper.cli.escapes import clean_line, json_text
from turnkeeper.cli.exits import Exit
from turnkeeper.cli.interrupts import in_loop
from turnkeeper.cli.looking import opened_journal
from turnkeeper.cli.places import data_folder, default_journal, journal_url, missing_file
from turnkeeper.cli.problems import line_for, without_secrets
from turnkeeper.cli.terminal import Style, Terminal, is_dumb
from turnkeeper.driver.agent import Agent
from turnkeeper.driver.settings import Settings
from turnkeeper.journal.urls import shown
from turnkeeper.tools.masking import MASK
from turnkeeper.types import TurnStatus

__all__ = ("doctor",)

State = Literal["ok", "note", "fail"]
_STYLES: dict[State, Style] = {"ok": "green", "note": "yellow", "fail": "red"}
_PACKAGES = ("anthropic", "anyio", "pydantic", "sqlalchemy", "click", "prompt-toolkit", "rich", "uvicorn")


@dataclass(frozen=True, slots=True)
class Finding:
    """What was looked at, how it stands, and in words."""

    what: str
    state: State
    text: str


def doctor(*, journal: str | None, base_url: str | None, output_format: str, color: bool) -> int:
    """Look at everything, print it; 1 if something that is needed fails."""
    terminal = Terminal(color=color)
    checks: dict[str, Callable[[], tuple[State, str]]] = {
        "python": _python,
        "turnkeeper": lambda: ("ok", importlib.metadata.version("turnkeeper")),
        "packages": _packages,
        "settings": _settings,
        "endpoint": lambda: _endpoint(base_url),
        "key": lambda: _key(base_url),
        "data folder": _data_folder,
        "journal": lambda: _journal(journal),
        "simulator": _simulator,
        "terminal": lambda: ("ok", _terminal(terminal)),
    }
    findings = [_look(what, check) for what, check in checks.items()]
    broken = any(finding.state == "fail" for finding in findings)
    if output_format == "json":
        rows = [{"what": one.what, "state": one.state, "text": one.text} for one in findings]
        terminal.answer(json_text({"ok": not broken, "findings": rows}, indent=2) + "\n")
    else:
        for one in findings:
            state = terminal.styled(f"{one.state:<4}", _STYLES[one.state], colored=terminal.colored_answers)
            terminal.answer(f"{state}  {one.what}: {one.text}\n")
    return Exit.ERROR if broken else Exit.DONE


def _look(what: str, check: Callable[[], tuple[State, str]]) -> Finding:
    try:
        state, text = check()
    except Exception as error:  # noqa: BLE001 - what breaks a check is its finding
        state, text = "fail", line_for(error)
    return Finding(what, state, clean_line(without_secrets(text)))


def _python() -> tuple[State, str]:
    return "ok", f"{platform.python_implementation()} {platform.python_version()} on {platform.system()}"


def _packages() -> tuple[State, str]:
    found, missing = [], []
    for name in _PACKAGES:
        try:
            found.append(f"{name} {importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            missing.append(name)
    if missing:
        return "fail", f"missing {', '.join(missing)}; pip install 'turnkeeper[cli]' brings them"
    return "ok", ", ".join(found)


def _settings() -> tuple[State, str]:
    model = Settings().find("model")
    return "ok", f"model {model}"


def _endpoint(base_url: str | None) -> tuple[State, str]:
    url = endpoint(base_url)
    return "ok", "https://api.anthropic.com (the default)" if url is None else _address(url)


def _address(url: str) -> str:
    """An address without the login and the values in it: both may be keys."""
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    query = "&".join(f"{name}={MASK}" for name, _ in parse_qsl(parts.query, keep_blank_values=True))
    return urlunsplit((parts.scheme, f"{MASK}@{host}" if host != parts.netloc else host, parts.path, query, ""))


def _key(base_url: str | None) -> tuple[State, str]:
    if has_credentials():
        return "ok", "yes"
    if endpoint(base_url) is not None:
        return "ok", "no; a placeholder is sent to the endpoint"
    return "note", "no; the practice model answers until ANTHROPIC_API_KEY is set"


def _data_folder() -> tuple[State, str]:
    folder = data_folder()
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    with tempfile.TemporaryFile(dir=folder):
        return "ok", f"{folder} can be written"


def _journal(url: str | None) -> tuple[State, str]:
    found: list[str] = []

    async def look() -> int:
        async with opened_journal(url) as journal:
            newest = await journal.conversations(limit=1)
            found.append("has conversations" if newest else "is empty")
        return Exit.DONE

    where = journal_url(url)
    if missing_file(where) == default_journal():
        return "ok", f"{shown(sa.make_url(where))} is not there yet; the first conversation makes it"
    in_loop(look)
    named = where if where == "memory:" else shown(sa.make_url(where))
    return "ok", f"{named} opens, and {''.join(found)}"


def _simulator() -> tuple[State, str]:
    api = practice_api()
    reply = Agent(model="claude-opus-5-5", client=api).run_sync("hello")
    refused = [record.refusal.message for record in api.refusals if record.refusal is not None]
    if reply.status is not TurnStatus.COMPLETED or refused:
        return "fail", f"a turn with the practice model ended {reply.status} {' '.join(refused)}".rstrip()
    return "ok", "a turn with the practice model completes"


def _terminal(terminal: Terminal) -> str:
    parts = [
        f"stdin {'is' if sys.stdin is not None and sys.stdin.isatty() else 'is no'} terminal",
        f"stdout {'is' if terminal.answers_on_screen else 'is no'} terminal",
        f"colours {'on' if terminal.colored_answers else 'off'}",
        f"encoding {getattr(sys.stdout, 'encoding', None) or 'unknown'}",
    ]
    if terminal.answers_on_screen:
        parts.append(f"{terminal.width} columns")
    if is_dumb():
        parts.append(f"TERM={os.environ['TERM']}")
    return ", ".join(parts)
