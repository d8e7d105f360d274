"""`turnkeeper`: the group of commands, each loaded when it runs, and the one place where errors become exit codes."""

from __future__ import annotations

import importlib
import io
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

import click

from turnkeeper.cli.exits import Exit

__all__ = ("COMMANDS", "Door", "main")

COMMANDS: dict[str, str] = {
    "ask": "talking",
    "chat": "talking",
    "resume": "talking",
    "extract": "extracting",
    "desk": "desking",
    "research": "researching",
    "serve": "serving",
    "sms": "texting",
    "list": "keeping",
    "show": "keeping",
    "export": "keeping",
    "cost": "spending",
    "replay": "replaying",
    "fork": "replaying",
    "approvals": "deciding",
    "verify": "checking",
    "doctor": "checking",
    "models": "checking",
    "simulate": "simulating",
    "mcp": "exposing",
    "worker": "working",
}
"""Command -> the module of `turnkeeper.cli.commands` that has it."""


class Door(click.Group):
    """The group. Its commands return their exit codes; errors are one line on stderr."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The commands in the order of a conversation."""
        del ctx
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Load one command."""
        del ctx
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"turnkeeper.cli.commands.{COMMANDS[cmd_name]}")
        command: click.Command = getattr(module, f"{cmd_name}_command")
        return command

    def main(  # type: ignore[override]
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        **extra: Any,
    ) -> int:
        """Run a command; exits with its code, or gives it if not `standalone_mode`."""
        code = self._run(args, prog_name or "turnkeeper", complete_var, extra)
        if standalone_mode:
            _leave(code)
        return code

    def _run(self, args: Sequence[str] | None, prog_name: str, complete_var: str | None, extra: dict[str, Any]) -> int:
        from turnkeeper.cli.interrupts import on_interrupt  # noqa: PLC0415 - so that the group loads at once
        from turnkeeper.cli.problems import logged, report  # noqa: PLC0415
        from turnkeeper.cli.terminal import ReaderLeftError  # noqa: PLC0415

        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):  # a letter that the encoding lacks is shown as its escape
                stream.reconfigure(errors="backslashreplace")
        with on_interrupt(), logged():
            try:
                return int(super().main(args, prog_name, complete_var, standalone_mode=False, **extra) or 0)
            except (KeyboardInterrupt, click.Abort):
                return Exit.INTERRUPTED
            except Exception as error:  # noqa: BLE001 - everything ends as one line
                return Exit.DONE if isinstance(error, ReaderLeftError) else report(error)


def _leave(code: int) -> NoReturn:
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError, AttributeError):  # nobody reads it, it is closed, or there is none
            continue
    sys.exit(code)


@click.group(
    "turnkeeper",
    cls=Door,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="""\b
Exit codes:
  0  done                      4  a limit was reached (requests, money, length)
  1  error                     5  the model refused
  2  wrong usage             130  interrupted
  3  waits for a person

With no key (ANTHROPIC_API_KEY) and no --base-url the practice model answers: it follows rules, is no language model,
and needs no network. Errors show their traceback with TURNKEEPER_DEBUG=1.""",
)
@click.version_option(package_name="turnkeeper", message="turnkeeper %(version)s")
def main() -> None:
    """Multi-turn tool conversations with Claude, kept in a journal.

    `turnkeeper ask "…"` runs one turn, `turnkeeper chat` many; -T brings your own Python functions as tools. Every
    turn is written down before it is acted on: Ctrl-C, a crash or a lost connection never spoil a conversation.
    """
