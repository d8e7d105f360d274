"""Commands as processes of their own, without paying for their imports each time.

Loading the SDK takes a second or more. `Zygote` starts one interpreter that has loaded everything and forks for each
command: the child gets its own descriptors, environment, folder, session and, if wanted, terminal, and runs
`turnkeeper.cli.main` from its beginning. A few tests start the program the plain way.
"""

from __future__ import annotations

import array
import json
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

__all__ = ("PATIENCE", "Command", "Zygote")

PATIENCE = 30.0
"""Seconds after which a command that should have ended is taken for hanging."""


class Command:
    """One running command."""

    def __init__(self, pid: int, connection: socket.socket) -> None:
        self.pid = pid
        self._connection = connection
        self._code: int | None = None

    def interrupt(self) -> None:
        """What Ctrl-C sends."""
        os.kill(self.pid, signal.SIGINT)

    def wait(self) -> int:
        """The exit code once the command has ended; a negative number names the signal that ended it."""
        if self._code is None:
            self._connection.settimeout(PATIENCE)
            self._code = int(self._connection.recv(64))
            self._connection.close()
        return self._code

    def end(self) -> None:
        """End it if it still runs."""
        if self._code is None:
            os.kill(self.pid, signal.SIGKILL)
            self.wait()


class Zygote:
    """The interpreter that forks."""

    def __init__(self, folder: Path) -> None:
        self._path = str(folder / "zygote")
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.cli.zygote", self._path],
            cwd=Path(__file__).parents[2],
            stdin=subprocess.PIPE,  # its end tells the interpreter that nobody needs it any more
            stdout=subprocess.PIPE,
        )
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == b"ready\n"

    def start(self, args: Sequence[str], *, fds: Sequence[int], env: Mapping[str, str], cwd: Path) -> Command:
        """Run a command with these descriptors as its stdin, stdout, stderr. Give -1 for one that is closed."""
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        connection.connect(self._path)
        open_fds = [fd for fd in fds if fd >= 0]
        request = {"args": list(args), "env": dict(env), "cwd": str(cwd), "given": [fd >= 0 for fd in fds]}
        socket.send_fds(connection, [json.dumps(request).encode()], open_fds)
        connection.settimeout(PATIENCE)
        return Command(int(connection.recv(64)), connection)

    def close(self) -> None:
        """End the interpreter."""
        with self._process:
            self._process.kill()


def _serve(path: str) -> None:
    """Fork a guardian for each connection, which forks the command, tells its pid, and later how it ended."""
    import turnkeeper.cli.chatting
    import turnkeeper.cli.desk
    import turnkeeper.cli.examining
    import turnkeeper.cli.simulating
    import turnkeeper.cli.verifying
    import turnkeeper.journal.sql
    import turnkeeper.simulator.practice
    import turnkeeper.testing  # noqa: F401 - everything that a command may load

    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # guardians are not waited for
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listener.bind(path)
    listener.listen()
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    while select.select([listener.fileno(), 0], [], [])[0] == [listener.fileno()]:
        connection, _ = listener.accept()
        if os.fork() == 0:
            listener.close()
            _guard(connection)
        connection.close()


def _guard(connection: socket.socket) -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    message, fds, _, _ = socket.recv_fds(connection, 1_000_000, 3)
    request = json.loads(message)
    pid = os.fork()
    if pid == 0:
        connection.close()
        _become(request, fds)
    for fd in fds:
        os.close(fd)
    connection.send(str(pid).encode())
    _, status = os.waitpid(pid, 0)
    connection.send(str(os.waitstatus_to_exitcode(status)).encode())
    os._exit(0)


def _become(request: dict[str, Any], fds: list[int]) -> None:
    """Be the command."""
    os.setsid()
    os.chdir(str(request["cwd"]))
    os.environ.clear()
    os.environ.update(request["env"])
    sys.path[:] = [entry for entry in sys.path if entry]
    remaining = iter([os.dup(fd) for fd in fds])
    for fd in fds:
        os.close(fd)
    encoding = os.environ.get("PYTHONIOENCODING", "utf-8")
    for number, (name, given) in enumerate(zip(("stdin", "stdout", "stderr"), request["given"], strict=True)):
        if not given:
            os.close(number)
            setattr(sys, name, None)
            continue
        os.dup2(next(remaining), number)
        if number == 0 and os.isatty(0):
            _take_terminal()
        mode = "r" if number == 0 else "w"
        stream = open(number, mode, encoding=encoding, buffering=1 if os.isatty(number) else -1, closefd=False)  # noqa: SIM115
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)
    from turnkeeper.cli.main import main

    code = 70
    try:
        main(request["args"])
    except SystemExit as leaving:
        code = int(leaving.code or 0)
    finally:
        os._exit(code)


def _take_terminal() -> None:
    import fcntl
    import termios

    fcntl.ioctl(0, termios.TIOCSCTTY, array.array("i", [0]))


if __name__ == "__main__":
    _serve(sys.argv[1])
