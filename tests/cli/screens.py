"""A terminal that a test types into and reads from."""

from __future__ import annotations

import codecs
import fcntl
import os
import re
import select
import struct
import termios
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.cli.zygote import PATIENCE, Command, Zygote
from turnkeeper.cli.escapes import clean

__all__ = ("Screen",)

_ERASED = re.compile(r"[^\n]*\r\x1b\[2K")
READY = "\x1b[?2004h"
"""What prompt-toolkit writes when it begins to read: bracketed paste, on."""


class Screen:
    """A command at a terminal of its own. Every wait is for something that must appear, and bounded."""

    def __init__(
        self, zygote: Zygote, args: Sequence[str], *, env: Mapping[str, str], cwd: Path, rows: int, columns: int
    ) -> None:
        self._master, slave = os.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.command: Command = zygote.start(args, fds=[slave] * 3, env=env, cwd=cwd)
        os.close(slave)
        self._dumb = env.get("TERM") == "dumb"
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._looked_at = 0
        self.seen = ""
        """Everything that was shown, as it came."""

    def expect(self, text: str) -> str:
        """Wait for a text; gives what came between the last one and this."""
        while (at := self.seen.find(text, self._looked_at)) < 0:
            assert self._more(), f"ended without {text!r}: {self.seen[self._looked_at :]!r}"
        before = self.seen[self._looked_at : at]
        self._looked_at = at + len(text)
        return before

    def prompt(self) -> str:
        """Wait until a message can be typed; gives what stayed on the screen before, without sequences."""
        return _stayed(self.expect("> " if self._dumb else READY))

    def shown(self) -> str:
        """Everything that stayed on the screen, without sequences."""
        return _stayed(self.seen)

    def type(self, keys: str) -> None:
        """Press keys."""
        os.write(self._master, keys.encode())

    def say(self, text: str) -> str:
        """Type a message, send it, and wait for the next prompt; gives what was shown, without sequences."""
        self.type(text + "\r")
        return self.prompt()

    def ended(self) -> int:
        """The exit code; what was still shown is in `seen`."""
        while self._more():
            pass
        return self.command.wait()

    @property
    def echoes(self) -> bool:
        """Whether the terminal shows what is typed by itself."""
        return bool(termios.tcgetattr(self._master)[3] & termios.ECHO)

    def _more(self) -> bool:
        """Read on; False once the command has closed its end."""
        ready, _, _ = select.select([self._master], [], [], PATIENCE)
        assert ready, f"nothing came for {PATIENCE} seconds after {self.seen[self._looked_at :]!r}"
        try:
            piece = os.read(self._master, 65_536)
        except OSError:  # Linux says so when the other end is closed
            piece = b""
        self.seen += self._decoder.decode(piece)
        return bool(piece)

    def close(self) -> None:
        """End the command if it runs still."""
        self.command.end()
        os.close(self._master)


def _stayed(shown: str) -> str:
    return clean(_ERASED.sub("", shown))
