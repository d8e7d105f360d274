"""Where commands write: the answer to stdout, everything else to stderr, colour only where it is wanted.

A pipe whose reader has left (`turnkeeper ask … | head -1`) is no error: writing raises ReaderLeftError once, and
whatever Python would still write at its end goes nowhere.
"""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal, TextIO

try:
    import termios
except ImportError:  # Windows
    termios = None  # type: ignore[assignment]

from turnkeeper.cli.problems import CommandError

if TYPE_CHECKING:
    from turnkeeper.cli.tables import Column

__all__ = (
    "ReaderLeftError",
    "Style",
    "Terminal",
    "is_dumb",
    "keeps_typing",
    "prints_aside",
    "read_mode",
    "set_mode",
    "typed_early",
    "wants_color",
)

Style = Literal["plain", "dim", "bold", "red", "yellow", "green"]

_CODES: dict[str, str] = {"dim": "2", "bold": "1", "red": "31", "yellow": "33", "green": "32"}
_ERASE_LINE = "\r\x1b[2K"


class ReaderLeftError(Exception):
    """The program that read our stdout has closed it; there is nobody to answer any more."""


class Terminal:
    """Both streams of one command. `color` False switches colours off whatever the environment says.

    `one_stream` writes the chrome to stdout as well, for output that is to be read as a whole.
    """

    def __init__(self, *, color: bool = True, one_stream: bool = False) -> None:
        notes = sys.stdout if one_stream else sys.stderr
        self._answers = sys.stdout
        self._notes = notes
        self._open_line = False  # the answer's last line has no end yet, and more chrome would stick to it
        self._status = False
        self.answers_on_screen = _is_terminal(sys.stdout)
        self.notes_on_screen = _is_terminal(notes)
        self.colored_answers = wants_color(sys.stdout, wanted=color)
        self.colored_notes = wants_color(notes, wanted=color)

    @property
    def width(self) -> int:
        """Columns of the screen; COLUMNS counts where it is set."""
        return max(shutil.get_terminal_size((80, 24)).columns, 20)

    def answer(self, text: str) -> None:
        """Write a piece of the answer, at once. `text` is safe to print. ReaderLeftError if nobody reads it."""
        if not text:
            return
        self.clear_status()
        self._open_line = not text.endswith("\n")
        _write(self._answers, text)

    def end_line(self) -> None:
        """End the line that the answer stands on, if it has no end yet."""
        if self._open_line:
            self.answer("\n")

    def note(self, text: str, style: Style = "dim") -> None:
        """Write a line of chrome. `text` is safe to print. A closed stderr is passed over."""
        self.clear_status()
        if self._open_line and (self.answers_on_screen or self._notes is self._answers):
            self.end_line()
        with contextlib.suppress(ReaderLeftError):
            _write(self._notes, self.styled(text, style, colored=self.colored_notes) + "\n")

    def status(self, text: str) -> None:
        """Show a line that the next output takes the place of; only on a screen that can erase it."""
        if not self.notes_on_screen or not self.answers_on_screen or is_dumb() or self._open_line:
            return
        from rich.cells import set_cell_size  # noqa: PLC0415 - loads when it is used

        line = set_cell_size(text, self.width - 1).rstrip()
        self._status = True
        with contextlib.suppress(ReaderLeftError):
            _write(self._notes, _ERASE_LINE + self.styled(line, "dim", colored=self.colored_notes))

    def clear_status(self) -> None:
        """Take the status line away."""
        if self._status:
            self._status = False
            with contextlib.suppress(ReaderLeftError):
                _write(self._notes, _ERASE_LINE)

    def styled(self, text: str, style: Style, *, colored: bool) -> str:
        """The text in a style, where `colored`."""
        code = _CODES.get(style)
        return f"\x1b[{code}m{text}\x1b[0m" if colored and code else text

    def table(self, columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> None:
        """Print a table to stdout; on a screen it fits the width, elsewhere nothing is cut. Cells are safe to print."""
        from turnkeeper.cli.tables import draw  # noqa: PLC0415 - loads rich

        width = self.width if self.answers_on_screen else None
        self.answer(draw(columns, rows, width=width, colored=self.colored_answers))


def wants_color(stream: TextIO, *, wanted: bool = True) -> bool:
    """Whether to colour what goes there: --no-color, then NO_COLOR, FORCE_COLOR, TERM=dumb, then what it is."""
    if not wanted or os.environ.get("NO_COLOR"):
        return False
    forced = os.environ.get("FORCE_COLOR", "").lower()
    if forced:
        return forced not in ("0", "false", "no")
    return _is_terminal(stream) and not is_dumb()


def is_dumb() -> bool:
    """A terminal that shows text and nothing else."""
    return os.environ.get("TERM", "") in ("dumb", "unknown")


def prints_aside() -> contextlib.AbstractContextManager[object]:
    """While this lasts, what tools `print` goes to stderr; stdout is left to a Terminal that was made before."""
    return contextlib.redirect_stdout(sys.stderr)


@contextlib.contextmanager
def keeps_typing(*, as_keys: bool = False) -> Iterator[None]:
    """While this lasts, what is typed isn't echoed into the answer, and waits for `typed_early`.

    Ctrl-C stays the interrupt, and a tool that asks at the terminal still gets lines, unless `as_keys` says that
    a prompt is about to read, for which Enter has to stay Enter. Nothing changes where stdin is no terminal.
    """
    before = read_mode()
    if before is None:
        yield
        return
    quiet = [*before[:6], list(before[6])]
    if as_keys:
        quiet[0] &= ~termios.ICRNL
    quiet[3] &= ~(termios.ECHO | termios.ICANON)
    try:
        termios.tcsetattr(sys.stdin.fileno(), termios.TCSANOW, quiet)
        yield
    finally:
        set_mode(before)


def typed_early() -> str:
    """What was typed while `keeps_typing` lasted and nobody read, with Enter as a carriage return."""
    if read_mode() is None:
        return ""
    typed = b""
    while select.select([sys.stdin], [], [], 0)[0]:
        piece = os.read(sys.stdin.fileno(), 4_096)
        if not piece:
            break
        typed += piece
    return typed.decode("utf-8", "replace").replace("\n", "\r")


def read_mode() -> list[Any] | None:
    """The mode of the terminal on stdin; None if it is no terminal, or this system has no such thing."""
    if termios is None or not _is_terminal(sys.stdin):
        return None
    try:
        return termios.tcgetattr(sys.stdin.fileno())
    except (OSError, ValueError, termios.error):
        return None


def set_mode(mode: list[Any] | None) -> None:
    """Put the terminal on stdin back into a mode that was read before."""
    if mode is not None:
        with contextlib.suppress(OSError, ValueError, termios.error):
            termios.tcsetattr(sys.stdin.fileno(), termios.TCSANOW, mode)


def _is_terminal(stream: TextIO | None) -> bool:
    try:
        return stream is not None and stream.isatty()
    except ValueError:  # closed
        return False


def _write(stream: TextIO | None, text: str) -> None:
    if stream is None:
        return
    try:
        stream.write(text)
        stream.flush()
    except BrokenPipeError:
        _silence(stream)
        raise ReaderLeftError from None
    except OSError as error:
        _silence(stream)
        raise CommandError(f"the output can't be written: {error.strerror}") from error


def _silence(stream: TextIO) -> None:
    """Let what is still buffered go nowhere, or Python complains about it at its end."""
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
