"""A home of its own for every test, commands run in this process or another, and a simulator to talk to."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import pytest
from click.testing import CliRunner, Result

from tests.cli.screens import Screen
from tests.cli.zygote import Command, Zygote
from turnkeeper.cli.main import main
from turnkeeper.testing import MessagesAPI, script

Run = Callable[..., Result]
Open = Callable[..., Screen]
Start = Callable[..., "Started"]

TOOLS = '''"""Tools for the tests."""

import turnkeeper as tk


@tk.tool
def weather(city: str) -> str:
    """The weather in a city.

    Args:
        city: Its name.
    """
    return f"{city}: 21 degrees"


@tk.tool
def broken(city: str) -> str:
    """Fails.

    Args:
        city: Its name.
    """
    raise RuntimeError("could not connect to postgresql://bot:S3cr3t-pw@db.internal/shop")


@tk.tool(approval="always")
def pay(amount: int) -> str:
    """Pay.

    Args:
        amount: How much.
    """
    return "paid"


def plain(x: int) -> int:
    """A function that is no tool yet."""
    return x


both = [weather, plain]
'''


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The test's folder is home, working folder and everything; nothing of the machine's settings is seen."""
    for name in list(os.environ):
        if name.startswith(("ANTHROPIC_", "TURNKEEPER_", "XDG_")) or name in ("NO_COLOR", "FORCE_COLOR", "COLUMNS"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    return tmp_path


@pytest.fixture
def run() -> Run:
    """Run a command in this process: `run("ask", "hello", input=…)` gives exit_code, stdout, stderr."""

    def run(*args: str, input: str | bytes | None = None, **options: Any) -> Result:  # noqa: A002 - click's word
        return CliRunner().invoke(main, args, input=input, **options)

    return run


class Serve:
    """Serves simulators: `url = serve("first reply", "second reply", **options)`; `api` is the newest."""

    def __init__(self, stack: contextlib.ExitStack) -> None:
        self._stack = stack
        self.api = MessagesAPI()

    def __call__(self, *replies: Any, **options: Any) -> str:
        self.api = MessagesAPI(None if options.get("practice") else script(*replies), **options)
        return self._stack.enter_context(self.api.listen())

    @property
    def last(self) -> dict[str, Any]:
        """The body of the newest request."""
        body = self.api.requests[-1].body
        assert body is not None
        return body


@pytest.fixture
def serve() -> Iterator[Serve]:
    with contextlib.ExitStack() as stack:
        yield Serve(stack)


@pytest.fixture
def tools(home: Path) -> str:
    """A file of tools."""
    path = home / "my_tools.py"
    path.write_text(TOOLS)
    return str(path)


@dataclass
class Started:
    """A command with pipes."""

    command: Command
    stdout: BinaryIO
    stderr: BinaryIO

    def read_until(self, wanted: bytes, stream: BinaryIO) -> None:
        """Read stdout or stderr up to the line that begins so."""
        lines: list[bytes] = []
        while not (line := stream.readline()).startswith(wanted):
            assert line, lines
            lines.append(line)

    def ended(self) -> tuple[int, bytes, bytes]:
        """Exit code, the rest of stdout, all of stderr."""
        out = b"" if self.stdout.closed else self.stdout.read()
        errors = self.stderr.read()
        return self.command.wait(), out, errors


@pytest.fixture(scope="session")
def zygote(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Zygote]:
    made = Zygote(tmp_path_factory.mktemp("zygote"))
    yield made
    made.close()


@pytest.fixture
def start(zygote: Zygote, home: Path) -> Iterator[Start]:
    """Start a command as a process of its own; it is ended with the test."""
    with contextlib.ExitStack() as stack:

        def start(*args: str, stdin: int | None = None, stdout: int | None = None, **env: str) -> Started:
            nothing = os.open(os.devnull, os.O_RDONLY)
            out, out_end = os.pipe()
            err, err_end = os.pipe()
            fds = [nothing if stdin is None else stdin, out_end if stdout is None else stdout, err_end]
            command = zygote.start(args, fds=fds, env={**os.environ, **env}, cwd=home)
            stack.callback(command.end)
            for fd in (nothing, out_end, err_end):
                os.close(fd)
            started = Started(command, os.fdopen(out, "rb"), os.fdopen(err, "rb"))
            stack.callback(started.stdout.close)
            stack.callback(started.stderr.close)
            return started

        yield start


@pytest.fixture
def screen(zygote: Zygote, home: Path) -> Iterator[Callable[..., Screen]]:
    """Start a command at a terminal: `screen("chat", rows=10, columns=40, TERM="dumb")`."""
    with contextlib.ExitStack() as stack:

        def screen(*args: str, rows: int = 24, columns: int = 80, **env: str) -> Screen:
            made = Screen(zygote, args, env={**os.environ, **env}, cwd=home, rows=rows, columns=columns)
            stack.callback(made.close)
            return made

        yield screen
