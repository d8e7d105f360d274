"""From an exception to one line on stderr and an exit code: what, where, what to do; never a secret, never a trace.

TURNKEEPER_DEBUG=1 prints the traceback as well. Without it what is logged goes to a file in the user's log folder.
"""

from __future__ import annotations

import contextlib
import logging
import logging.handlers
import os
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from turnkeeper.cli.escapes import clean, clean_line
from turnkeeper.cli.exits import Exit
from turnkeeper.errors import APIError, ConfigurationError, InputError, TurnkeeperError

if TYPE_CHECKING:
    from io import TextIOWrapper

__all__ = ("CommandError", "debugging", "exit_for", "line_for", "logged", "report", "told", "without_secrets")

LONGEST_LINE = 1_500
_SECRETS = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN")

_RESUME = "`turnkeeper resume`"
_ADVICE: dict[str, str] = {
    "authentication_error": "",  # its text says it
    "permission_error": "the key may not use this; ask who manages it",
    "not_found_error": "check the model (-m, `turnkeeper models`) and the endpoint (--base-url)",
    "rate_limit_error": f"wait, then go on with {_RESUME}",
    "overloaded_error": f"wait, then go on with {_RESUME}",
    "billing_error": "look at the account's billing",
    "request_too_large": "send less at once",
    "connection_error": "check the network and the endpoint (--base-url)",
    "timeout_error": f"go on with {_RESUME}",
    "stream_cut": f"go on with {_RESUME}",
    "malformed_reply": "check that the endpoint (--base-url) speaks the Messages API",
}


class CommandError(TurnkeeperError):
    """A command can't do what it was asked; its text says what, where and what to do."""

    code = "command"

    def __init__(self, message: str, *, exit_code: Exit = Exit.ERROR) -> None:
        super().__init__(message)
        self.exit_code = exit_code


def debugging() -> bool:
    """Whether TURNKEEPER_DEBUG asks for tracebacks."""
    return os.environ.get("TURNKEEPER_DEBUG", "").lower() not in ("", "0", "false", "no")


def report(error: BaseException) -> Exit:
    """Say on stderr what went wrong; gives the exit code."""
    found = _innermost(error)
    if isinstance(found, click.exceptions.NoArgsIsHelpError):
        _say(found.format_message())
        return Exit.USAGE
    if debugging() and not isinstance(found, click.UsageError):
        _say(clean(without_secrets("".join(traceback.format_exception(error)))).rstrip())
    elif not isinstance(found, click.ClickException | TurnkeeperError | OSError):
        logging.getLogger("turnkeeper.cli").error("a command failed", exc_info=error)
    _say(f"turnkeeper: {line_for(found)}")
    return exit_for(found)


def exit_for(error: BaseException) -> Exit:
    """The exit code of a command that ended with this error."""
    if isinstance(error, CommandError):
        return error.exit_code
    if isinstance(error, click.UsageError | InputError | ConfigurationError):
        return Exit.USAGE
    return Exit.ERROR


def line_for(error: BaseException) -> str:
    """The error as one line."""
    if isinstance(error, click.UsageError):
        path = error.ctx.command_path if error.ctx is not None else "turnkeeper"
        text = f"{error.format_message().rstrip('.')} (`{path} --help` explains)"
    elif isinstance(error, click.ClickException):
        text = error.format_message()
    elif isinstance(error, APIError):
        text = _about_the_api(error)
    elif isinstance(error, TurnkeeperError):
        text = str(error) or str(type(error).__doc__)
    elif isinstance(error, OSError) and error.strerror:
        text = f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    else:
        text = f"unexpected {type(error).__name__}: {error} (TURNKEEPER_DEBUG=1 shows where)"
    line = clean_line(without_secrets(text))
    return line if len(line) <= LONGEST_LINE else line[: LONGEST_LINE - 1] + "…"


def without_secrets(text: str) -> str:
    """The text without the keys of the environment and whatever else looks like a key or a password."""
    from turnkeeper.tools.masking import MASK, mask  # noqa: PLC0415 - only a failing command needs it

    for name in _SECRETS:
        secret = os.environ.get(name, "").strip()
        if len(secret) >= 6:
            text = text.replace(secret, MASK)
    return mask(text)


def _about_the_api(error: APIError) -> str:
    status = f" {error.status}" if error.status not in (None, 200) else ""
    advice = _ADVICE.get(error.kind, "").replace(_RESUME, error.__dict__.get("way_on", _RESUME))
    request = f" [{error.request_id}]" if error.request_id else ""
    return f"{error.kind}{status}: {str(error).rstrip('.')}{f'; {advice}' if advice else ''}{request}"


def _innermost(error: BaseException) -> BaseException:
    """The one error inside nested groups of one."""
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error


def _say(text: str) -> None:
    with contextlib.suppress(OSError, ValueError):
        print(text, file=sys.stderr, flush=True)  # noqa: T201 - the last thing a failing command does


@contextlib.contextmanager
def logged() -> Iterator[None]:
    """While a command runs, the log goes to a file, or to stderr under TURNKEEPER_DEBUG; warnings go there as well."""
    root = logging.getLogger()
    handler: logging.Handler
    if debugging():
        handler = logging.StreamHandler()
        handler.setLevel(logging.INFO)
    else:
        handler = _LogFile()
        handler.setLevel(logging.WARNING)
    handler.setFormatter(_Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    root.addHandler(handler)
    logging.captureWarnings(capture=True)
    try:
        yield
    finally:
        logging.captureWarnings(capture=False)
        root.removeHandler(handler)
        handler.close()


@contextlib.contextmanager
def told() -> Iterator[None]:
    """While a server runs, what it logs as a warning or worse goes to stderr too: that is where its keeper looks."""
    if debugging():  # all of it goes there
        yield
        return
    handler = logging.StreamHandler()
    handler.setLevel(logging.WARNING)
    handler.setFormatter(_Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    logging.getLogger().addHandler(handler)
    try:
        yield
    finally:
        logging.getLogger().removeHandler(handler)


class _Formatter(logging.Formatter):
    """Lines without secrets and escape sequences; what a record says on further lines is set in, so that no text of
    others can pass for a record of its own.
    """

    def format(self, record: logging.LogRecord) -> str:
        return clean(without_secrets(super().format(record))).replace("\n", "\n    ")


class _LogFile(logging.handlers.RotatingFileHandler):
    """`turnkeeper.log` in the user's log folder, readable for its owner only, made when there is something to say."""

    def __init__(self) -> None:
        super().__init__(_log_file(), maxBytes=1_000_000, backupCount=1, encoding="utf-8", errors="replace", delay=True)

    def _open(self) -> TextIOWrapper:
        path = Path(self.baseFilename)
        path.parent.mkdir(parents=True, exist_ok=True)
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600))
        return super()._open()

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - the library's name
        """A log that can't be written is no reason to disturb the command."""


def _log_file() -> Path:
    from turnkeeper.cli.places import log_file  # noqa: PLC0415 - loads platformdirs

    return log_file()
