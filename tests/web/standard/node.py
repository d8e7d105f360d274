"""The front ends' real clients, in a Node process that takes commands."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

__all__ = ("Node", "installed", "running")

FOLDER = Path(__file__).parent / "clients"


def installed() -> Path:
    """A folder with the clients and what they need, as the lock file says; made once, kept in the user's cache."""
    npm = shutil.which("npm")
    if npm is None or shutil.which("node") is None:
        if os.environ.get("CI") == "true":
            pytest.fail("node and npm are missing; .ci/run installs them")
        pytest.skip("needs node and npm")
    lock = (FOLDER / "package-lock.json").read_bytes()
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = cache / "turnkeeper-tests" / f"stream-clients-{hashlib.sha256(lock).hexdigest()[:16]}"
    if not (folder / "complete").exists():
        folder.mkdir(parents=True, exist_ok=True)
        for name in ("package.json", "package-lock.json"):
            shutil.copy(FOLDER / name, folder / name)
        command = [npm, "ci", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300, check=False)
        assert done.returncode == 0, done.stderr
        (folder / "complete").touch()
    return folder


class Node:
    """A client program; `do` gives the result of a command."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def do(self, op: str, **given: Any) -> dict[str, Any]:
        """Carry out one command."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"op": op, **given}) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        assert line, "the client's program ended"
        found: dict[str, Any] = json.loads(line)
        assert "failed" not in found, found["failed"]
        return found


@contextlib.contextmanager
def running(program: str, *arguments: str) -> Iterator[Node]:
    """A client program, for as long as the block runs."""
    folder = installed()
    shutil.copy(FOLDER / program, folder / program)
    process = subprocess.Popen(
        ["node", program, *arguments], cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    watchdog = threading.Timer(240, process.kill)
    watchdog.start()
    try:
        yield Node(process)
    finally:
        watchdog.cancel()
        assert process.stdin is not None
        process.stdin.close()
        process.wait(20)
        assert process.stdout is not None
        process.stdout.close()
